// A cell without grants: whatever the host keeps in files stays out of reach, and what the cell
// shows of the system cannot be changed.
#include <future>
#include <sstream>

#include "containment/host_files.h"

namespace sallyport::test {
namespace {

class HostFiles : public CellTest {};

// A file in a place that exists on every host; gone after the test.
class PlantedFile {
 public:
  PlantedFile(const std::string& directory, As owner)
      : path_(directory + "/sallyport-canary." + std::to_string(::getpid())) {
    write_file(path_, kCanary, owner);
  }
  ~PlantedFile() { ::unlink(path_.c_str()); }
  PlantedFile(const PlantedFile&) = delete;
  PlantedFile& operator=(const PlantedFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST_P(HostFiles, TheHostsOwnPlacesAreNotShown) {
  for (const char* place : {"/tmp", "/var/tmp", "/run", "/dev/shm", "/root", "/home", "/srv",
                            "/opt", "/mnt", "/var/lib", "/etc"}) {
    const PlantedFile canary(place, GetParam());
    const Words attack = {"read-file", canary.path(), kCanary};
    EXPECT_TRUE(attack_worked(probe_outside(attack)));
    EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), attack)));
  }
}

TEST_P(HostFiles, TheHostsUsersAndTheirPasswordsAreNotShown) {
  for (const char* file : {"/etc/shadow", "/etc/gshadow", "/etc/subuid", "/etc/fstab"}) {
    const std::string content = read_file(file);
    if (content.empty()) continue;  // not every host has them all; shadow is checked below
    const Words attack = {"read-file", file, content.substr(0, content.find('\n'))};
    EXPECT_TRUE(attack_worked(probe_outside(attack)));
    EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), attack)));
  }
  EXPECT_FALSE(read_file("/etc/shadow").empty());

  const Ran users = shell_in_cell(GetParam(), {}, "cut -d: -f1 /etc/passwd /etc/group");
  EXPECT_EQ(users.out, "root\nagent\nnobody\nroot\nagent\nnogroup\n");
}

// "..", absolute paths, "//" noise, and the magic links of /proc.
TEST_P(HostFiles, NoSpellingOfAPathLeadsToThem) {
  const Canary canary(GetParam());
  for (const char* prefix :
       {"", "/..", "/../../../../../..", "/usr/..", "/usr/../../..", "/./", "//", "/proc/self/root",
        "/proc/thread-self/root", "/proc/1/root", "/proc/self/root/..",
        "/proc/self/cwd/../../../../../../..", "/proc/1/cwd/../../..", "/proc/self/task/../root",
        "/proc/self/fd/../root", "/dev/fd/../root", "/proc/self/map_files/../root",
        "/proc/self/ns/../root/proc/self/root"}) {
    const Words attack = {"read-file", prefix + canary.path(), kCanary};
    // The twin has a PID 1 of its own as well: a host's may be guarded even against root.
    EXPECT_TRUE(attack_worked(run(Words{"unshare", "--pid", "--fork", "--mount-proc", "sh", "-c",
                                        "\"$@\"; exit $?", "sh", probe_path()} +
                                  attack)))
        << prefix;
    EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), attack))) << prefix;
  }
}

TEST_P(HostFiles, NoProcessOfTheCellHasARootOrDirectoryThatLeadsToThem) {
  const Canary canary(GetParam());
  const Words attack = {"read-through-processes", canary.path(), kCanary};
  EXPECT_TRUE(attack_worked(probe_outside(attack)));
  EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), attack)));
}

TEST_P(HostFiles, ASymlinkOrHardLinkOfTheToolsMakingLeadsNowhere) {
  const Canary canary(GetParam());
  for (const char* kind : {"read-through-symlink", "read-through-hard-link"}) {
    const OpenDir outside(GetParam());
    EXPECT_TRUE(
        attack_worked(probe_outside({kind, outside.path(), canary.path(), kCanary}, GetParam())));
    for (const char* place : {"/workspace", "/tmp", "/dev/shm"})
      EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {kind, place, canary.path(), kCanary})));
  }
}

// "Shocker" open_by_handle_at.
TEST_P(HostFiles, AFileHandleOpensNothing) {
  // On the file system that /usr is on, as the attack needs a mount of it.
  const std::string file = "/usr/lib/os-release";
  const std::string line = read_file(file).substr(0, 10);
  ASSERT_EQ(line.size(), 10U);
  EXPECT_TRUE(attack_worked(probe_outside({"read-by-handle", file, line})));
  EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"read-by-handle", file, line})));
}

// "chroot breakout (fchdir/chdir ..)".
TEST_P(HostFiles, TheRootCannotBeLeftByWayOfAChroot) {
  const Canary canary(GetParam());
  const OpenDir jail;
  EXPECT_TRUE(
      attack_worked(probe_outside({"break-out-of-chroot", jail.path(), canary.path(), kCanary})));
  for (const char* place : {"/", "/workspace", "/tmp"})
    EXPECT_TRUE(attack_refused(
        probe_in_cell(GetParam(), {"break-out-of-chroot", place, canary.path(), kCanary})));
}

// CVE-2024-21626: the launcher's own directory, or one that it holds open, becomes the tool's.
TEST_P(HostFiles, TheDirectoryThatTheLauncherStandsInIsNotReachable) {
  const Canary canary(GetParam());
  const RunOptions there{.as = GetParam(), .cwd = canary.directory()};
  for (const char* name : {"canary", "./canary", "/proc/self/cwd/canary"}) {
    const Words attack = {"read-file", name, kCanary};
    EXPECT_TRUE(attack_worked(run(Words{probe_path()} + attack, there)));
    EXPECT_TRUE(
        attack_refused(run_cell(probe_grant() + Words{"--", probe_inside()} + attack, there)));
  }
  const Ran where = run_cell({"--", "sh", "-c", "pwd -P; readlink /proc/self/cwd"}, there);
  EXPECT_EQ(where.out, "/workspace\n/workspace\n");
}

TEST_P(HostFiles, AWorkingDirectoryCannotBeADescriptorOrAProcess) {
  const Canary canary(GetParam());
  const Words holding = {probe_path(), "with-descriptors", canary.directory(), "canary"};
  // 6 of every 12 descriptors hold the directory, a file in it and a socket, in turn.
  const Ran twin = run(holding + Words{"/bin/sh", "-c", "cd /proc/self/fd/12 && cat canary"},
                       RunOptions{.as = GetParam()});
  EXPECT_EQ(twin.out, kCanary);
  Words places = {"/proc/self/root", "/proc/1/root", "/proc/1/cwd", "/proc/self/cwd",
                  "/proc/2/cwd"};
  for (int fd = 3; fd <= 40; ++fd)
    places.push_back("/proc/self/fd/" + std::to_string(fd));
  for (const std::string& place : places) {
    const Ran ran = run(holding + Words{sallyport_path(), "run", "--cwd", place, "--", "/bin/sh",
                                        "-c", "cat canary; cat ." + canary.path()},
                        RunOptions{.as = GetParam()});
    EXPECT_EQ(ran.out, "") << place;
    EXPECT_NE(ran.exit_code, 0) << place;
  }
}

// A process that stands in a directory while somebody moves it out of the mount would walk up from
// there and past the mount's root (the CVE-2015-2925 class).
TEST_P(HostFiles, ADirectoryMovedOutOfAGrantDoesNotLeadOut) {
  const Canary canary(GetParam());
  const OpenDir host(GetParam());
  make_directory(host / "granted", identity_of(GetParam()), 0777);
  make_directory(host / "granted/deep", identity_of(GetParam()), 0777);
  const std::string climb =
      "cd \"$1/deep\" && : >\"$1/ready\" && i=0;"
      "while [ ! -e \"$1/moved\" ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i+1)); done;"
      "cat ../../../../../../../.." +
      canary.path() + "; cat ../secret";
  const auto move = [&] {
    for (int i = 0; i < 600 && ::access((host / "granted/ready").c_str(), F_OK) != 0; ++i)
      ::usleep(50'000);
    write_file(host / "secret", kCanary, GetParam());
    EXPECT_EQ(::rename((host / "granted/deep").c_str(), (host / "deep").c_str()), 0);
    write_file(host / "granted/moved", "");
  };

  auto mover = std::async(std::launch::async, move);
  const Ran twin = shell_outside(climb, {host / "granted"}, GetParam());
  mover.get();
  EXPECT_NE(twin.out.find(kCanary), std::string::npos) << twin.err;

  ASSERT_EQ(::rename((host / "deep").c_str(), (host / "granted/deep").c_str()), 0);
  for (const char* name : {"granted/ready", "granted/moved", "secret"})
    ASSERT_EQ(::unlink((host / name).c_str()), 0);
  mover = std::async(std::launch::async, move);
  const Ran inside = run_cell(GetParam(), {"--write", (host / "granted") + ":/granted", "--timeout",
                                           "60s", "--", "sh", "-c", climb, "sh", "/granted"});
  mover.get();
  EXPECT_EQ(inside.out, "") << inside.err;
}

// ---- what the cell shows of the system

TEST_P(HostFiles, TheSystemCannotBeWritten) {
  // A program that nobody runs meanwhile: one that runs cannot be opened for writing by anyone.
  for (const char* file : {"/usr/bin/factor", "/usr/lib/os-release", "/etc/passwd", "/etc/hosts",
                           "/etc/ld.so.cache"}) {
    EXPECT_TRUE(attack_worked(probe_outside({"open-for-writing", file})));
    EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"open-for-writing", file})));
  }
  for (const char* directory :
       {"/", "/usr", "/usr/bin", "/usr/lib", "/etc", "/var", "/run", "/dev"}) {
    EXPECT_TRUE(attack_worked(probe_outside({"create-in", directory})));
    EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"create-in", directory})));
  }
  // And where a tool is meant to write, it can: the refusals above are not those of a broken probe.
  for (const char* directory : {"/workspace", "/tmp", "/dev/shm"})
    EXPECT_TRUE(attack_worked(probe_in_cell(GetParam(), {"create-in", directory})));
}

// CVE-2025-31133, CVE-2025-52881: these files run programs as the host's root or reboot it.
TEST_P(HostFiles, TheKernelsSwitchesCannotBeOpenedForWriting) {
  for (const char* file :
       {"/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/kernel/modprobe",
        "/proc/sys/vm/drop_caches", "/proc/sys/fs/suid_dumpable", "/proc/self/oom_score_adj",
        "/proc/self/uid_map", "/proc/self/timerslack_ns", "/proc/self/coredump_filter"}) {
    if (::access(file, F_OK) == 0)
      EXPECT_TRUE(attack_worked(probe_outside({"open-for-writing", file}))) << file;
    EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"open-for-writing", file}))) << file;
  }
  ASSERT_EQ(::access("/proc/sys/kernel/core_pattern", F_OK), 0);
}

// The twin runs in a mount namespace of the test's own, on a mount made there: on the host itself
// it would unmount what others use.
TEST_P(HostFiles, MountsCannotBeChangedOrTakenAway) {
  const OpenDir place;
  for (const char* way : {"remount", "setattr", "unmount", "cover", "share", "clone", "new-root"}) {
    EXPECT_TRUE(
        attack_worked(in_mount_namespace(As::root, "mount -t tmpfs -o ro none " + place.path(),
                                         {probe_path(), "lift-read-only", way, place.path()})))
        << way;
    for (const char* mount : {"/", "/usr", "/proc", "/proc/keys", "/workspace", "/dev/null"})
      EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"lift-read-only", way, mount})))
          << way << " " << mount;
  }
}

struct MountLine {
  std::string place, options, type;
  [[nodiscard]] bool has(const std::string& option) const {
    return ("," + options + ",").find("," + option + ",") != std::string::npos;
  }
};

std::vector<MountLine> parse_mounts(const std::string& mountinfo) {
  std::vector<MountLine> mounts;
  for (const std::string& line : lines_of(mountinfo)) {
    std::istringstream words(line);
    std::string id, parent, device, root, word;
    MountLine mount;
    words >> id >> parent >> device >> root >> mount.place >> mount.options;
    while (words >> word && word != "-") {
    }
    words >> mount.type;
    mounts.push_back(mount);
  }
  return mounts;
}

// "Mount propagation / nested bind shows more than intended".
TEST_P(HostFiles, EveryMountOfTheCellIsKnownAndHeldDown) {
  const auto mounts = parse_mounts(run_cell(GetParam(), {"--", "cat", "/proc/self/mountinfo"}).out);
  ASSERT_GT(mounts.size(), 10U);
  for (const MountLine& mount : mounts) {
    const bool scratch =
        mount.place == "/workspace" || mount.place == "/tmp" || mount.place == "/dev/shm";
    const bool device = mount.type == "devtmpfs" || mount.place.starts_with("/dev/");
    EXPECT_TRUE(mount.has("nosuid")) << mount.place;
    EXPECT_EQ(mount.has("ro"), !scratch) << mount.place;
    if (!device || scratch) EXPECT_TRUE(mount.has("nodev")) << mount.place;
    if (device && !scratch) EXPECT_TRUE(mount.has("noexec")) << mount.place;
    for (const char* kind : {"sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "debugfs", "tracefs",
                             "securityfs", "bpf", "fuse", "nsfs", "overlay"})
      EXPECT_NE(mount.type, kind) << mount.place;
  }
  EXPECT_EQ(shell_in_cell(GetParam(), {}, "ls -A /sys /run 2>/dev/null; ls /dev").out,
            "/run:\nfd\nfull\nnull\nrandom\nshm\nstderr\nstdin\nstdout\nurandom\nzero\n");
}

// The cell's namespace starts as a copy of the host's, with the host's shared mounts in it.
TEST_P(HostFiles, AMountMadeOnTheHostDuringACallDoesNotAppearInTheCell) {
  const OpenDir host(GetParam());
  make_directory(host / "late", identity_of(GetParam()));
  const std::string look =
      ": >\"$1/ready\"; i=0;"
      "while [ ! -e \"$1/go\" ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i+1)); done; ls \"$1/late\"";
  // All in a namespace of the test's own, made shared as a host's usually is.
  const std::string mount_later =
      "mount --make-rshared /\n"
      "cd " +
      host.path() +
      "\n"
      "( i=0; while [ ! -e ready ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i+1)); done\n"
      "  mount -t tmpfs none late; : >late/canary; : >go ) &\n";
  const auto look_through = [&](const Words& argv) {
    for (const char* name : {"ready", "go"})
      ::unlink((host / name).c_str());
    return in_mount_namespace(GetParam(), mount_later, argv);
  };
  const Ran twin = look_through({"sh", "-c", look, "sh", host.path()});
  EXPECT_EQ(twin.out, "canary\n") << twin.err;
  const Ran inside = look_through({sallyport_path(), "run", "--write", host.path() + ":/host",
                                   "--timeout", "60s", "--", "sh", "-c", look, "sh", "/host"});
  EXPECT_EQ(inside.exit_code, 0) << inside.err;
  EXPECT_EQ(inside.out, "");
}

// ---- the programs that make the cell

// CVE-2019-5736.
TEST_P(HostFiles, TheLauncherAndInitCannotBeOverwritten) {
  // Outside, a program that somebody runs is only kept by being busy.
  const OpenDir place(GetParam());
  const std::string victim = place / "victim";
  std::filesystem::copy_file("/bin/sleep", victim);
  ASSERT_EQ(::chown(victim.c_str(), identity_of(GetParam()).uid, identity_of(GetParam()).gid), 0);
  const Ran twin = shell_outside(
      "\"$1\" 60 & exe=/proc/$!/exe;"
      "while [ \"$(readlink $exe)\" != \"$1\" ]; do :; done;"
      "\"$2\" overwrite-program $exe; code=$?; kill $!; exit $code",
      {victim, probe_path()}, GetParam());
  EXPECT_TRUE(attack_worked(twin));

  // The launcher is its user's own file here, as after a build.
  const std::string launcher = place / "sallyport";
  std::filesystem::copy_file(sallyport_path(), launcher);
  ASSERT_EQ(::chown(launcher.c_str(), identity_of(GetParam()).uid, identity_of(GetParam()).gid), 0);
  const Words in_cell = Words{launcher, "run"} + probe_grant() + Words{"--", "sh", "-c"};
  for (const char* exe : {"/proc/1/exe", "/proc/$$/exe"})  // $$: a parent other than init
    EXPECT_TRUE(attack_refused(
        run(in_cell + Words{std::string("/probe/probe overwrite-program ") + exe + " || exit 1"},
            RunOptions{.as = GetParam()})))
        << exe;
}

TEST_P(HostFiles, AProgramInAReadOnlyGrantCannotOverwriteItself) {
  const OpenDir place(GetParam());
  const std::string copy = place / "probe";
  std::filesystem::copy_file(probe_path(), copy);
  ASSERT_EQ(::chown(copy.c_str(), identity_of(GetParam()).uid, identity_of(GetParam()).gid), 0);
  const std::string before = read_file(copy);
  EXPECT_TRUE(attack_worked(run({copy, "overwrite-own-program"}, RunOptions{.as = GetParam()})));
  EXPECT_TRUE(attack_refused(run_cell(GetParam(), {"--read", place.path() + ":/own", "--",
                                                   "/own/probe", "overwrite-own-program"})));
  EXPECT_TRUE(read_file(copy) == before);
}

SALLYPORT_FOR_ROOT_AND_USER(HostFiles);

}  // namespace
}  // namespace sallyport::test
