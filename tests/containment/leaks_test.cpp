// What a tool could inherit from whoever started it, what /proc tells of the host, and what stays
// on the host when the cell is gone.
#include "base/fd.h"
#include "containment/host_files.h"

namespace sallyport::test {
namespace {

class Leaks : public CellTest {};

// ---- descriptors

// CVE-2024-21626: file, directory and socket that the launcher's own parent left open.
TEST_P(Leaks, NoDescriptorOfTheCallerReachesTheTool) {
  const Canary canary(GetParam());
  const Words holding = {probe_path(), "with-descriptors", canary.directory(), "canary"};
  const Words in_cell =
      Words{sallyport_path(), "run"} + probe_grant() + Words{"--", probe_inside()};
  const RunOptions as{.as = GetParam()};
  for (const Words& attack :
       {Words{"find-descriptors"}, Words{"read-through-descriptors", "canary", kCanary},
        Words{"read-through-processes", "/canary", kCanary}}) {
    EXPECT_TRUE(attack_worked(run(holding + Words{probe_path()} + attack, as))) << attack[0];
    EXPECT_TRUE(attack_refused(run(holding + in_cell + attack, as))) << attack[0];
  }
}

// Init lives as long as the tool and has the same uid: what it holds is one bug away.
TEST_P(Leaks, NoDescriptorOfTheCallerStaysOpenInInit) {
  const Canary canary(GetParam());
  const OpenDir signals(GetParam());
  // The script is the caller: while the cell runs it looks at the launcher's child, as root can.
  const std::string script =
      "\"$@\" & launcher=$!; i=0;"
      "while [ ! -e \"$SIGNALS/ready\" ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i+1)); done;"
      "init=$(cat /proc/$launcher/task/$launcher/children | cut -d' ' -f1);"
      // Init lets go of the tool's streams just after it has started it.
      "while readlink /proc/$init/fd/* | grep -q pipe: && [ $i -lt 600 ]; do sleep 0.05; "
      "i=$((i+1)); done;"
      "readlink /proc/$init/fd/* | sort -u; touch \"$SIGNALS/seen\"; wait $launcher";
  const std::string become =
      GetParam() == As::root ? "" : "setpriv --reuid=43210 --regid=43210 --clear-groups -- ";
  const std::string set = "set -- " + become + "\"$@\"; ";
  const std::string wait =
      "touch /signals/ready; i=0; while [ ! -e /signals/seen ] && [ $i -lt 600 ]; do sleep 0.05; "
      "i=$((i+1)); done";
  const Ran ran =
      run(Words{probe_path(), "with-descriptors", canary.directory(), "canary", "/bin/sh", "-c",
                set + script, "sh", sallyport_path(), "run", "--timeout", "60s", "--write",
                signals.path() + ":/signals", "--", "sh", "-c", wait},
          RunOptions{.environment = {"SIGNALS=" + signals.path()}});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("socket:"), std::string::npos) << ran.out;  // to its supervisor
  EXPECT_EQ(ran.out.find(canary.directory()), std::string::npos) << ran.out;
  for (const std::string& line : lines_of(ran.out))
    EXPECT_TRUE(line.starts_with("socket:[") || line.starts_with("anon_inode:[signalfd]") ||
                line == "/run/sallyport/uids" || line.starts_with("/sys/fs/cgroup/"))
        << "init holds " << line;
}

TEST_P(Leaks, AToolThatWasNotGivenStdinReadsNothingOfIt) {
  const RunOptions with_input{.as = GetParam(), .input = kCanary};
  EXPECT_EQ(run_cell({"--", "cat"}, with_input).out, "");
  EXPECT_EQ(run_cell({"--stdin", "--", "cat"}, with_input).out, kCanary);
}

// A program that was started with a stream closed finds its first open file in that stream's place.
TEST_P(Leaks, AToolIsNotStartedWithAStandardStreamClosed) {
  for (const char* close : {"<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"})
    for (const char* more : {"", "--stdin "}) {
      const OpenDir work(GetParam());
      const Ran ran = shell_outside(std::string("\"$1\" run ") + more +
                                        "--write \"$2\":/work -- sh -c 'touch /work/ran' " + close,
                                    {sallyport_path(), work.path()}, GetParam());
      EXPECT_EQ(ran.exit_code, 125) << close << ran.err;
      EXPECT_EQ(names_in(work.path()), Words{}) << close;
    }
}

// ---- environment and arguments

// "/proc/1/environ of the in-sandbox init keeps the launcher's environment".
TEST_P(Leaks, TheCallersEnvironmentIsNotInAnyProcessOfTheCell) {
  const std::string half = "canary-of-", other = "the-environment";
  const RunOptions secret{.as = GetParam(), .environment = {"SECRET_TOKEN=" + half + other}};
  const Words attack = {"find-in-processes", half, other};
  EXPECT_TRUE(attack_worked(run(Words{probe_path()} + attack, secret)));
  EXPECT_TRUE(
      attack_refused(run_cell(probe_grant() + Words{"--", probe_inside()} + attack, secret)));
  const Ran env = run_cell({"--env", "MINE=1", "--", "env"}, secret);
  EXPECT_EQ(env.out,
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
            "HOME=/workspace\nLANG=C.UTF-8\nMINE=1\n");
}

// The kernel keeps arguments and environment side by side on the stack: a short command line before
// a long environment, and the other way round.
TEST_P(Leaks, ALargeEnvironmentIsHiddenToItsEnd) {
  const std::string half = "canary-of-", other = "the-environment";
  RunOptions secret{.as = GetParam()};
  for (int i = 0; i < 500; ++i)
    secret.environment.push_back("FILLER_" + std::to_string(i) + "=" + std::string(100, 'f'));
  secret.environment.push_back("SECRET_TOKEN=" + half + other);
  const Words attack = {"find-in-processes", half, other};
  EXPECT_TRUE(attack_worked(run(Words{probe_path()} + attack, secret)));
  EXPECT_TRUE(
      attack_refused(run_cell(probe_grant() + Words{"--", probe_inside()} + attack, secret)));
}

TEST_P(Leaks, TheLaunchersArgumentsAreNotInAnyProcessOfTheCell) {
  const OpenDir results(GetParam());
  const std::string half = "canary-of-", other = "the-arguments";
  const Words find = {"find-in-processes", half, other};
  const std::string file = results / (half + other);
  const Ran ran =
      run_cell(probe_grant() + Words{"--result-file", file, "--", probe_inside()} + find,
               RunOptions{.as = GetParam()});
  EXPECT_TRUE(attack_refused(ran));
  EXPECT_TRUE(std::filesystem::exists(file));
  // Outside, the same argument is there for everybody to read.
  EXPECT_TRUE(attack_worked(shell_outside("\"$2\" find-in-processes \"$3\" \"$4\"",
                                          {file, probe_path(), half, other}, GetParam())));
}

TEST_P(Leaks, TheHostsNameIsNotShown) {
  char name[256] = {};
  ASSERT_EQ(::gethostname(name, sizeof(name) - 1), 0);
  const Ran ran = shell_in_cell(
      GetParam(), {}, "uname -n; cat /etc/hostname /proc/sys/kernel/hostname; cat /etc/hosts");
  EXPECT_TRUE(ran.out.starts_with("sallyport\nsallyport\nsallyport\n")) << ran.out;
  EXPECT_EQ((" " + ran.out).find(" " + std::string(name) + "\n"), std::string::npos) << ran.out;
}

// ---- keys

// "Session keyring inherited from the launcher".
TEST_P(Leaks, TheCallersSessionKeysCannotBeRead) {
  const Words with_key = {probe_path(), "with-session-key", kCanary};
  const Words attack = {"read-session-key", kCanary};
  const RunOptions as{.as = GetParam()};
  EXPECT_TRUE(attack_worked(run(with_key + Words{probe_path()} + attack, as)));
  EXPECT_TRUE(attack_refused(run(with_key + Words{sallyport_path(), "run"} + probe_grant() +
                                     Words{"--", probe_inside()} + attack,
                                 as)));
}

// The filter refuses keyctl; behind it the session is a new one, as the key's counter shows
// outside.
TEST_P(Leaks, TheCallersSessionKeysAreNotListed) {
  const Words with_key = {probe_path(), "with-session-key", kCanary};
  const RunOptions as{.as = GetParam()};
  const Ran twin = run(with_key + Words{"/bin/cat", "/proc/keys"}, as);
  EXPECT_NE(twin.out.find("probe"), std::string::npos) << twin.out;
  const Ran inside = run(
      with_key + Words{sallyport_path(), "run", "--", "cat", "/proc/keys", "/proc/key-users"}, as);
  EXPECT_EQ(inside.out, "");
  EXPECT_EQ(inside.exit_code, 0) << inside.err;
}

// ---- what /proc tells

TEST_P(Leaks, WhatDescribesTheHostInProcIsEmpty) {
  for (const char* file : {"/proc/cmdline", "/proc/key-users", "/proc/kallsyms", "/proc/partitions",
                           "/proc/timer_list", "/proc/diskstats", "/proc/interrupts"}) {
    EXPECT_TRUE(attack_worked(probe_outside({"read-file", file, "\n"}))) << file;
    EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"read-file", file, "\n"}))) << file;
  }
  // Not every kernel has these, or anything in them.
  for (const char* file :
       {"/proc/modules", "/proc/sched_debug", "/proc/kcore", "/proc/latency_stats"})
    EXPECT_EQ(shell_in_cell(GetParam(), {}, std::string("cat ") + file + " 2>/dev/null").out, "")
        << file;
  for (const char* directory : {"/proc/acpi", "/proc/asound", "/proc/bus", "/proc/driver",
                                "/proc/fs", "/proc/irq", "/proc/scsi"})
    EXPECT_EQ(shell_in_cell(GetParam(), {}, std::string("ls -A ") + directory + " 2>/dev/null").out,
              "")
        << directory;
  EXPECT_FALSE(names_in("/proc/irq").empty());
}

// Advisory locks of others: their inodes, and the uids of the other cells, which are locked bytes.
TEST_P(Leaks, LocksOfTheHostAndOfOtherCellsAreNotListed) {
  const OpenDir place;
  write_file(place / "locked", "");
  const Fd file(::open((place / "locked").c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_start = 987654321;
  lock.l_len = 1;
  ASSERT_EQ(::fcntl(file.get(), F_OFD_SETLK, &lock), 0);
  EXPECT_TRUE(attack_worked(probe_outside({"read-file", "/proc/locks", "987654321"})));
  EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"read-file", "/proc/locks", "987654321"})));
}

TEST_P(Leaks, NoProcessOfTheHostIsListed) {
  const Ran ran = shell_in_cell(GetParam(), {}, "echo /proc/[0-9]*; cat /proc/[0-9]*/comm");
  // Init and the shell; echo is the shell itself, cat may be a third.
  EXPECT_TRUE(ran.out.starts_with("/proc/1 /proc/2\nsallyport-init\n")) << ran.out;
  EXPECT_EQ(ran.out.find("containment_te"), std::string::npos);
  const Ran twin = shell_outside("cat /proc/[0-9]*/comm", {}, GetParam());
  EXPECT_NE(twin.out.find("containment_te"), std::string::npos);
}

// A path of the host in the mount table is the name of a person or a project.
TEST_P(Leaks, TheMountTableNamesNothingThatWasNotGranted) {
  const OpenDir place;
  make_directory(place / "canary-mount", {0, 0});
  const std::string mount = "mount -t tmpfs none " + (place / "canary-mount");
  const Ran twin = in_mount_namespace(GetParam(), mount, {"cat", "/proc/self/mountinfo"});
  EXPECT_NE(twin.out.find("canary-mount"), std::string::npos);
  for (const char* table : {"mountinfo", "mounts", "mountstats"}) {
    const Ran inside = in_mount_namespace(
        GetParam(), mount,
        {sallyport_path(), "run", "--", "cat", std::string("/proc/self/") + table});
    EXPECT_EQ(inside.exit_code, 0) << inside.err;
    EXPECT_EQ(inside.out.find("canary-mount"), std::string::npos) << inside.out;
  }
}

// ---- what stays

// In a mount namespace of the test's own, so that /tmp, /run and /dev/shm are nobody else's.
TEST_P(Leaks, NothingIsLeftOnTheHostAfterACall) {
  const OpenDir work(GetParam());
  write_file(work / "input", "x", GetParam());
  const std::string setup =
      "for d in /tmp /run /dev/shm; do mount -t tmpfs -o mode=1777 none $d; done";
  // Every feature that touches files, a call that is killed and one that cannot start.
  const std::string script =
      "cd \"$2\"; look() { find /tmp /run /dev/shm \"$PWD\" | sort; cat /proc/self/mountinfo; }; "
      "look >before; "
      "use() { \"$SALLYPORT\" run --timeout 1s --in input --out out --write \"$PWD:/work\" \"$@\" "
      ">/dev/null 2>&1; }; SALLYPORT=$1; "
      "use -- sh -c 'echo x >out; echo x >/tmp/x; mkdir -p /dev/shm/x/y; mkfifo /tmp/f'; echo $?; "
      "use --write-mode copy -- sh -c 'echo x >out; echo x >/work/out'; echo $?; "
      "use --write-mode copy -- sh -c 'echo x >/work/never; sleep 60'; echo $?; "
      "use --cwd /missing -- true; echo $?; "
      "use --read /missing -- true; echo $?; "
      "use --root /usr -- /bin/true; echo $?; "
      "rm -f out; look >after; diff before after";
  const Ran ran = in_mount_namespace(GetParam(), setup,
                                     {"sh", "-c", script, "sh", sallyport_path(), work.path()});
  Words codes, changes;
  for (const std::string& line : lines_of(ran.out)) {
    if (line.find_first_not_of("0123456789") == std::string::npos)
      codes.push_back(line);
    else if (line.starts_with("> ") || line.starts_with("< "))
      changes.push_back(line);
  }
  EXPECT_EQ(codes, (Words{"0", "0", "124", "125", "125", "0"})) << ran.out << ran.err;
  Words expected = {"> " + (work / "after")};
  if (GetParam() == As::root)
    expected = {"> /run/sallyport", "> /run/sallyport/uids", "> " + (work / "after")};
  EXPECT_EQ(changes, expected) << ran.out << ran.err;
}

SALLYPORT_FOR_ROOT_AND_USER(Leaks);

}  // namespace
}  // namespace sallyport::test
