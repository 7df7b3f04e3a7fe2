// Read-only grants: what is granted can be read and nothing more, and nothing beside it can be
// reached through it.
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include <cstring>

#include "base/fd.h"
#include "containment/host_files.h"

namespace sallyport::test {
namespace {

class ReadGrant : public CellTest {
 protected:
  const OpenDir host{GetParam()};
  [[nodiscard]] FileOwner self() const { return identity_of(GetParam()); }

  // `name` below the host directory, shown at /granted.
  [[nodiscard]] Words grant(const std::string& name) const {
    return {"--read", (host / name) + ":/granted"};
  }
  void make_granted() const { make_directory(host / "granted", self()); }
  void expect_refused_to_start(const Words& options, const std::string& says) const {
    const Ran ran = run_cell(GetParam(), options + Words{"--", "sh", "-c", "echo ran"});
    EXPECT_EQ(ran.exit_code, 125) << ran.out << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find(says), std::string::npos) << ran.err;
  }
};

// Where a grant may lie: in the cell's read-only root, and in a place where the tool may write.
constexpr const char* kPlaces[] = {"/granted", "/workspace/granted"};

// "submounts under a ro bind stay rw"; here every call that could change a file.
TEST_P(ReadGrant, CannotBeChangedByAnyCall) {
  make_granted();
  const Words changes = lines_of(probe_outside({"change-file", "--list"}).out);
  ASSERT_GE(changes.size(), 15U);
  for (const std::string& change : changes) {
    make_directory(host / "twin", self());
    write_file(host / "twin/file", "content", GetParam());
    EXPECT_TRUE(
        attack_worked(probe_outside({"change-file", change, host / "twin/file"}, GetParam())));
    std::filesystem::remove_all(host / "twin");

    write_file(host / "granted/file", "content", GetParam());
    struct stat before{}, after{};
    ASSERT_EQ(::lstat((host / "granted/file").c_str(), &before), 0);
    for (const char* granted : {"granted", "granted/file"})
      EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"change-file", change, "/granted/file"},
                                               {"--read", (host / granted) + ":/" + granted})));
    const std::string in_workspace = "/workspace/granted";
    EXPECT_TRUE(
        attack_refused(probe_in_cell(GetParam(), {"change-file", change, in_workspace + "/file"},
                                     {"--read", (host / "granted:") + in_workspace})))
        << "in a writable place";
    ASSERT_EQ(::lstat((host / "granted/file").c_str(), &after), 0);
    EXPECT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec) << change;
    EXPECT_EQ(after.st_ctim.tv_nsec, before.st_ctim.tv_nsec) << change;
    EXPECT_EQ(read_file(host / "granted/file"), "content") << change;
    EXPECT_EQ(names_in(host / "granted"), Words{"file"}) << change;
  }
}

// A FIFO takes writes on a read-only mount as well: the mount guards its directory, not its reader.
TEST_P(ReadGrant, AFifoInItCannotBeWritten) {
  make_granted();
  const std::string fifo = host / "granted/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0666), 0);
  ASSERT_EQ(::chmod(fifo.c_str(), 0666), 0);
  const Fd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_TRUE(attack_worked(probe_outside({"write-to-fifo", fifo}, GetParam())));
  char byte = 0;
  ASSERT_EQ(::read(reader.get(), &byte, 1), 1);
  EXPECT_TRUE(attack_refused(
      probe_in_cell(GetParam(), {"write-to-fifo", "/granted/fifo"}, grant("granted"))));
  EXPECT_LE(::read(reader.get(), &byte, 1), 0);
}

// The same grant in a place that lies below a writable one.
TEST_P(ReadGrant, AFifoInItCannotBeWrittenBelowTheWorkspace) {
  make_granted();
  const std::string fifo = host / "granted/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0666), 0);
  ASSERT_EQ(::chmod(fifo.c_str(), 0666), 0);
  const Fd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  for (const char* place : {"/workspace/granted", "/tmp/granted"})
    EXPECT_TRUE(
        attack_refused(probe_in_cell(GetParam(), {"write-to-fifo", place + std::string("/fifo")},
                                     {"--read", (host / "granted:") + place})))
        << place;
  char byte = 0;
  EXPECT_LE(::read(reader.get(), &byte, 1), 0);
}

// ---- what lies in a grant has no power of its own

TEST_P(ReadGrant, ASetUidProgramInItDoesNotRaise) {
  make_granted();
  const std::string copy = host / "granted/raise";
  std::filesystem::copy_file(probe_path(), copy);
  ASSERT_EQ(::chown(copy.c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(copy.c_str(), 06755), 0);
  EXPECT_TRUE(attack_worked(run({copy, "gain-root"}, RunOptions{.as = As::user})));
  for (const std::string place : kPlaces)
    EXPECT_TRUE(attack_refused(run_cell(
        GetParam(), {"--read", (host / "granted:") + place, "--", place + "/raise", "gain-root"})));
}

TEST_P(ReadGrant, AProgramWithCapabilitiesInItDoesNotRaise) {
  make_granted();
  const std::string copy = host / "granted/raise";
  std::filesystem::copy_file(probe_path(), copy);
  ASSERT_EQ(::chmod(copy.c_str(), 0755), 0);
  // In the grant too, so that only the file's mode stands in the way.
  write_file(host / "granted/secret", kCanary, As::root, 0600);
  ASSERT_EQ(::chown((host / "granted/secret").c_str(), 4242, 4242), 0);
  const Words attack = {"read-file", host / "granted/secret", kCanary};
  EXPECT_TRUE(attack_refused(run(Words{copy} + attack, RunOptions{.as = As::user})));
  ASSERT_TRUE(attack_worked(probe_outside({"leave-capability", copy})));
  EXPECT_TRUE(attack_worked(run(Words{copy} + attack, RunOptions{.as = As::user})));
  for (const std::string place : kPlaces)
    EXPECT_TRUE(attack_refused(
        run_cell(GetParam(), {"--read", (host / "granted:") + place, "--", place + "/raise",
                              "read-file", place + "/secret", kCanary})));
}

TEST_P(ReadGrant, ADeviceInItCannotBeOpened) {
  make_granted();
  const std::string device = host / "granted/null";
  ASSERT_EQ(::mknod(device.c_str(), S_IFCHR | 0666, ::makedev(1, 3)), 0);
  ASSERT_EQ(::chmod(device.c_str(), 0666), 0);
  EXPECT_TRUE(attack_worked(probe_outside({"open-for-writing", device}, GetParam())));
  EXPECT_TRUE(attack_worked(probe_outside({"read-file", device, ""}, GetParam())));
  for (const std::string place : kPlaces) {
    const Words grant_there = {"--read", (host / "granted:") + place};
    EXPECT_TRUE(attack_refused(
        probe_in_cell(GetParam(), {"open-for-writing", place + "/null"}, grant_there)));
    EXPECT_TRUE(
        attack_refused(probe_in_cell(GetParam(), {"read-file", place + "/null", ""}, grant_there)));
  }
}

class ListeningSocket {
 public:
  ListeningSocket(const std::string& path, int type)
      : fd_(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    EXPECT_LT(path.size(), sizeof(address.sun_path));
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    if (type != SOCK_DGRAM) EXPECT_EQ(::listen(fd_.get(), 16), 0);
    EXPECT_EQ(::chmod(path.c_str(), 0777), 0);
  }

 private:
  Fd fd_;
};

// Path sockets (docker.sock, dbus, agents) work on read-only mounts.
TEST_P(ReadGrant, ASocketInItCannotBeReached) {
  make_granted();
  const ListeningSocket stream(host / "granted/stream", SOCK_STREAM);
  const ListeningSocket datagram(host / "granted/datagram", SOCK_DGRAM);
  const ListeningSocket seqpacket(host / "granted/seqpacket", SOCK_SEQPACKET);
  struct Way {
    const char *way, *name;
  };
  for (const Way& way :
       {Way{"stream", "stream"}, Way{"datagram", "datagram"}, Way{"datagram-send", "datagram"},
        Way{"seqpacket", "seqpacket"}, Way{"pair-connect", "datagram"},
        Way{"pair-send", "datagram"}, Way{"pair-raw", "datagram"}}) {
    const std::string name = way.name;
    EXPECT_TRUE(attack_worked(
        probe_outside({"connect-to-path", way.way, (host / "granted/") + name}, GetParam())));
    for (const char* access : {"--read", "--write"})
      EXPECT_TRUE(
          attack_refused(probe_in_cell(GetParam(), {"connect-to-path", way.way, "/granted/" + name},
                                       {access, (host / "granted") + ":/granted"})))
          << way.way << " " << access;
  }
}

// ---- nothing beside a grant

// CVE-2025-53110, CVE-2025-54794: /data is not a prefix of /data-secret.
TEST_P(ReadGrant, APathThatOnlyBeginsTheSameIsNotGranted) {
  make_directory(host / "data", self());
  make_directory(host / "data-secret", self());
  write_file(host / "data-secret/canary", kCanary, GetParam());
  for (const std::string name : {"data-secret/canary", "data/../data-secret/canary"}) {
    EXPECT_TRUE(attack_worked(probe_outside({"read-file", host / name, kCanary}, GetParam())));
    for (const char* access : {"--read", "--write"})
      EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"read-file", "/host/" + name, kCanary},
                                               {access, (host / "data") + ":/host/data"})));
  }
}

// CVE-2025-53109.
TEST_P(ReadGrant, ASymlinkInItDoesNotLeadOut) {
  make_granted();
  make_directory(host / "secret", self());
  write_file(host / "secret/canary", kCanary, GetParam());
  ASSERT_EQ(::symlink((host / "secret/canary").c_str(), (host / "granted/file").c_str()), 0);
  ASSERT_EQ(::symlink((host / "secret").c_str(), (host / "granted/directory").c_str()), 0);
  ASSERT_EQ(::symlink("../secret", (host / "granted/relative").c_str()), 0);
  ASSERT_EQ(::symlink("/proc/self/root", (host / "granted/magic").c_str()), 0);
  for (const std::string name :
       {"granted/file", "granted/directory/canary", "granted/relative/canary"}) {
    EXPECT_TRUE(attack_worked(probe_outside({"read-file", host / name, kCanary}, GetParam())));
    EXPECT_TRUE(attack_refused(
        probe_in_cell(GetParam(), {"read-file", "/" + name, kCanary}, grant("granted"))));
    // Also where the directory above it has a place in the cell.
    EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"read-file", "/host/" + name, kCanary},
                                             {"--read", (host / "granted") + ":/host/granted"})));
  }
  const std::string magic = "granted/magic" + (host / "secret/canary");
  EXPECT_TRUE(attack_worked(probe_outside({"read-file", host / magic, kCanary}, GetParam())));
  EXPECT_TRUE(attack_refused(
      probe_in_cell(GetParam(), {"read-file", "/" + magic, kCanary}, grant("granted"))));
}

TEST_P(ReadGrant, AHardLinkFromItIntoAWritablePlaceCannotBeMade) {
  make_granted();
  make_directory(host / "work", self());
  write_file(host / "granted/file", kCanary, GetParam());
  EXPECT_TRUE(attack_worked(probe_outside(
      {"read-through-hard-link", host / "work", host / "granted/file", kCanary}, GetParam())));
  ASSERT_EQ(::unlink((host / "work/link").c_str()), 0);
  EXPECT_TRUE(attack_refused(
      probe_in_cell(GetParam(), {"read-through-hard-link", "/work", "/granted/file", kCanary},
                    grant("granted") + Words{"--write", (host / "work") + ":/work"})));
  EXPECT_EQ(names_in(host / "work"), Words{});
}

TEST_P(ReadGrant, ADeeperGrantDoesNotShowWhatLiesAboveIt) {
  make_directory(host / "a", self());
  make_directory(host / "a/b", self());
  write_file(host / "a/canary", kCanary, GetParam());
  const Ran ran =
      shell_in_cell(GetParam(), {"--read", (host / "a/b") + ":/x/a/b"}, "ls -A /x /x/a /x/a/b");
  EXPECT_EQ(ran.out, "/x:\na\n\n/x/a:\nb\n\n/x/a/b:\n") << ran.err;
}

TEST_P(ReadGrant, WithoutAPlaceInsideItKeepsItsOwnPath) {
  make_granted();
  write_file(host / "granted/file", "content", GetParam());
  const Ran ran =
      run_cell(GetParam(), {"--read", host / "granted", "--", "cat", host / "granted/file"});
  EXPECT_EQ(ran.out, "content") << ran.err;
}

// ---- what cannot be granted

TEST_P(ReadGrant, APathThroughASymlinkIsRefusedAndTheRealOneIsNamed) {
  make_granted();
  write_file(host / "granted/file", "content", GetParam());
  ASSERT_EQ(::symlink("granted", (host / "link").c_str()), 0);
  ASSERT_EQ(::symlink("granted/file", (host / "leaf").c_str()), 0);
  for (const char* access : {"--read", "--write"}) {
    expect_refused_to_start({access, (host / "link") + ":/x"}, host / "granted");
    expect_refused_to_start({access, (host / "link/file") + ":/x"}, host / "granted/file");
    expect_refused_to_start({access, (host / "leaf") + ":/x"}, host / "granted/file");
    for (const std::string magic : {"/proc/self/cwd", "/proc/self/root", "/proc/self/fd/0"})
      expect_refused_to_start({access, magic + ":/x"}, magic);
  }
}

TEST_P(ReadGrant, OnlyFilesAndDirectoriesCanBeGranted) {
  make_granted();
  ASSERT_EQ(::mkfifo((host / "fifo").c_str(), 0666), 0);
  const ListeningSocket socket(host / "socket", SOCK_STREAM);
  ASSERT_EQ(::mknod((host / "device").c_str(), S_IFCHR | 0666, ::makedev(1, 3)), 0);
  for (const char* access : {"--read", "--write"}) {
    for (const char* name : {"fifo", "socket", "device"})
      expect_refused_to_start({access, (host / name) + ":/x"}, "neither a file nor a directory");
    expect_refused_to_start({access, "/dev/null:/x"}, "neither a file nor a directory");
    expect_refused_to_start({access, (host / "missing") + ":/x"}, "missing");
    expect_refused_to_start({access, (host / "granted/") + std::string(300, 'n') + ":/x"}, "nnn");
  }
}

TEST_P(ReadGrant, NothingCanTakeThePlaceOfTheCellsOwnParts) {
  make_granted();
  for (const char* access : {"--read", "--write"})
    for (const char* place : {"/", "/proc", "/proc/self", "/dev", "/dev/null", "/dev/shm", "/sys",
                              "/sys/fs/cgroup", "/usr", "/etc", "/bin", "/lib", "/lib64"})
      expect_refused_to_start({access, (host / "granted:") + place}, "nothing can be placed at");
}

// Root shows a tree with its owner's rights, and not with its own; an ordinary user has no others.
TEST_P(ReadGrant, WhatTheOwnerOfTheTreeCannotReadIsNotShown) {
  const FileOwner owner = GetParam() == As::root ? FileOwner{4242, 4242} : self();
  make_directory(host / "granted", owner, 0700);
  for (const char* name : {"own", "others"})
    write_file((host / "granted/") + name, kCanary, As::root, 0600);
  ASSERT_EQ(::chown((host / "granted/own").c_str(), owner.uid, owner.gid), 0);
  ASSERT_EQ(::chown((host / "granted/others").c_str(), 4343, 4343), 0);
  make_directory(host / "granted/closed", {4343, 4343}, 0700);
  write_file(host / "granted/closed/file", kCanary);
  for (const std::string place : kPlaces) {
    const Words there = {"--read", (host / "granted:") + place};
    const auto read = [&](const std::string& name) {
      return probe_in_cell(GetParam(), {"read-file", place + "/" + name, kCanary}, there);
    };
    EXPECT_TRUE(attack_worked(read("own")));
    EXPECT_TRUE(attack_refused(read("others")));
    EXPECT_TRUE(attack_refused(read("closed/file")));
  }
}

TEST(ReadGrantOfUser, WhatTheUserCannotReachIsRefused) {
  const OpenDir other;
  make_directory(other / "closed", {4242, 4242}, 0700);
  write_file(other / "closed/canary", kCanary);
  const Ran ran =
      run_cell(As::user, {"--read", (other / "closed/canary") + ":/x", "--", "cat", "/x"});
  EXPECT_EQ(ran.exit_code, 125);
  EXPECT_EQ(ran.out, "");
}

// ---- names

TEST_P(ReadGrant, OddNamesAreTakenAsTheyAre) {
  for (const std::string name : {"with space", "-rf", "--", "new\nline", "co:lon", "quo'te\"",
                                 "\xff\xfe not utf-8", "$HOME", "*", "~", "%2e%2e", "back\\slash",
                                 "\xe2\x80\xae"
                                 "bidi"}) {
    make_directory(host / name, self());
    write_file((host / name) + "/file", name, GetParam());
    const Ran ran =
        shell_in_cell(GetParam(), {"--read", (host / name) + ":/granted"}, "cat /granted/file");
    EXPECT_EQ(ran.out, name) << ran.err;
    const Ran own = run_cell(GetParam(), {"--read", (host / name) + ":/granted/" + name, "--", "sh",
                                          "-c", "cat \"/granted/$1/file\"", "sh", name});
    EXPECT_EQ(own.out, name) << own.err;
  }
}

// ---- what a read-only grant does not keep apart

// Advisory locks belong to the file and not to the mount. A tool can hold one on what it can read
// and no longer than it lives.
TEST_P(ReadGrant, ALockOnAFileIsSharedWithTheHostAndEndsWithTheCell) {
  make_granted();
  const std::string file = host / "granted/file";
  write_file(file, "content", GetParam());
  const Fd lock(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  const Ran ran =
      shell_in_cell(GetParam(), grant("granted"),
                    "flock --nonblock /granted/file sh -c '! flock --nonblock /granted/file true'");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  const Ran held =
      shell_in_cell(GetParam(), grant("granted"), "flock --nonblock /granted/file true");
  EXPECT_EQ(held.exit_code, 1) << held.err;
}

SALLYPORT_FOR_ROOT_AND_USER(ReadGrant);

}  // namespace
}  // namespace sallyport::test
