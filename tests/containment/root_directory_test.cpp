// --root DIR: a root filesystem that somebody else put together, perhaps with care.
#include <sys/sysmacros.h>

#include "containment/host_files.h"

namespace sallyport::test {
namespace {

class RootDirectory : public CellTest {
 protected:
  RootDirectory() {
    make_directory(root, identity_of(GetParam()));
    make_directory(root + "/bin", identity_of(GetParam()));
    std::filesystem::copy_file(probe_path(), root + "/bin/probe");
    EXPECT_EQ(::chmod((root + "/bin/probe").c_str(), 0755), 0);
  }

  const OpenDir host{GetParam()};
  const std::string root = host / "root";
  const Canary canary{GetParam()};

  [[nodiscard]] Ran probe_in_root(const Words& attack, const Words& options = {}) const {
    return run_cell(GetParam(),
                    Words{"--root", root} + options + Words{"--", "/bin/probe"} + attack);
  }
  void expect_refused_to_start(const Ran& ran, const std::string& says) const {
    EXPECT_EQ(ran.exit_code, 125) << ran.out << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find(says), std::string::npos) << ran.err;
    EXPECT_TRUE(canary.untouched());
  }
};

// "Helper binary/filter hidden": no file of ours has to be in the root.
TEST_P(RootDirectory, ATreeWithOneStaticProgramIsEnough) {
  write_file(root + "/data", kCanary, GetParam());
  EXPECT_TRUE(attack_worked(probe_in_root({"read-file", "/data", kCanary})));
  EXPECT_TRUE(attack_worked(probe_in_root({"create-in", "/workspace"})));
  EXPECT_TRUE(attack_worked(probe_in_root({"create-in", "/tmp"})));
  EXPECT_TRUE(attack_worked(probe_in_root({"read-file", "/proc/self/status", "Seccomp:\t2"})));
  EXPECT_TRUE(attack_worked(probe_in_root({"read-file", "/proc/self/status", "NoNewPrivs:\t1"})));
  EXPECT_TRUE(attack_worked(
      probe_in_root({"read-file", "/proc/self/status", "CapBnd:\t0000000000000000"})));
}

TEST_P(RootDirectory, NothingOfTheHostsSystemIsThere) {
  const Words attack = {"read-file", "/usr/lib/os-release", ""};
  EXPECT_TRUE(attack_worked(probe_in_cell(GetParam(), attack)));
  EXPECT_TRUE(attack_refused(probe_in_root(attack)));
  EXPECT_TRUE(attack_refused(probe_in_root({"read-file", canary.path(), kCanary})));
  EXPECT_TRUE(attack_refused(probe_in_root({"read-file", "/../../.." + canary.path(), kCanary})));
}

TEST_P(RootDirectory, ItCannotBeWritten) {
  write_file(root + "/data", "data", GetParam());
  EXPECT_TRUE(attack_refused(probe_in_root({"change-file", "write", "/data"})));
  EXPECT_TRUE(attack_refused(probe_in_root({"create-in", "/"})));
  EXPECT_TRUE(attack_refused(probe_in_root({"create-in", "/bin"})));
  EXPECT_EQ(names_in(root), (Words{"bin", "data"}));
}

TEST_P(RootDirectory, TheCellsOwnPlacesMustBeDirectories) {
  for (const std::string name : {"dev", "proc", "sys", "tmp", "workspace", "run"}) {
    const std::string place = root + "/" + name;
    ASSERT_EQ(::symlink(canary.directory().c_str(), place.c_str()), 0);
    expect_refused_to_start(probe_in_root({"create-in", "/workspace"}), "/" + name);
    ASSERT_EQ(::unlink(place.c_str()), 0);
    write_file(place, "a file", GetParam());
    expect_refused_to_start(probe_in_root({"create-in", "/workspace"}), "/" + name);
    ASSERT_EQ(::unlink(place.c_str()), 0);
    ASSERT_EQ(::symlink("missing", place.c_str()), 0);
    expect_refused_to_start(probe_in_root({"create-in", "/workspace"}), "/" + name);
    ASSERT_EQ(::unlink(place.c_str()), 0);
    // What the root has in a directory of that name does not show.
    make_directory(place, identity_of(GetParam()));
    write_file(place + "/theirs", kCanary, GetParam());
    EXPECT_TRUE(attack_refused(probe_in_root({"read-file", "/" + name + "/theirs", kCanary})));
    EXPECT_EQ(names_in(place), Words{"theirs"});
    std::filesystem::remove_all(place);
  }
}

// CVE-2025-31133: a /dev/null in the image that is a symlink; what is mounted over /proc files must
// be the real one.
TEST_P(RootDirectory, ItsOwnDevicesAreNotUsed) {
  make_directory(root + "/dev", identity_of(GetParam()));
  ASSERT_EQ(::symlink(canary.path().c_str(), (root + "/dev/null").c_str()), 0);
  EXPECT_TRUE(attack_worked(probe_in_root({"open-for-writing", "/dev/null"})));
  EXPECT_TRUE(attack_refused(probe_in_root({"read-file", "/dev/null", kCanary})));
  EXPECT_TRUE(attack_refused(probe_in_root({"read-file", "/proc/keys", kCanary})));
  EXPECT_TRUE(canary.untouched());
}

TEST_P(RootDirectory, ADeviceOrSetUidProgramInItHasNoPower) {
  ASSERT_EQ(::mknod((root + "/null").c_str(), S_IFCHR | 0666, ::makedev(1, 3)), 0);
  make_directory(root + "/nodes", identity_of(GetParam()));
  ASSERT_EQ(::mknod((root + "/nodes/null").c_str(), S_IFCHR | 0666, ::makedev(1, 3)), 0);
  ASSERT_EQ(::chmod((root + "/nodes/null").c_str(), 0666), 0);
  EXPECT_TRUE(attack_worked(probe_outside({"open-for-writing", root + "/nodes/null"}, GetParam())));
  EXPECT_TRUE(attack_refused(probe_in_root({"open-for-writing", "/nodes/null"})));
  EXPECT_TRUE(attack_refused(probe_in_root({"open-for-writing", "/null"})));

  const std::string raise = root + "/bin/raise";
  std::filesystem::copy_file(probe_path(), raise);
  ASSERT_EQ(::chmod(raise.c_str(), 06755), 0);
  EXPECT_TRUE(attack_worked(run({raise, "gain-root"}, RunOptions{.as = As::user})));
  EXPECT_TRUE(
      attack_refused(run_cell(GetParam(), {"--root", root, "--", "/bin/raise", "gain-root"})));
}

// A symlink elsewhere is followed inside the cell only, by the tool or by its loader.
TEST_P(RootDirectory, ASymlinkForEtcOrUsrStaysASymlinkInside) {
  make_directory(root + "/real", identity_of(GetParam()));
  write_file(root + "/real/passwd", "theirs", GetParam());
  ASSERT_EQ(::symlink("real", (root + "/etc").c_str()), 0);
  ASSERT_EQ(::symlink(canary.directory().c_str(), (root + "/usr").c_str()), 0);
  EXPECT_TRUE(
      attack_worked(probe_outside({"read-file", root + "/usr/canary", kCanary}, GetParam())));
  EXPECT_TRUE(attack_worked(probe_in_root({"read-file", "/etc/passwd", "theirs"})));
  EXPECT_TRUE(attack_refused(probe_in_root({"read-file", "/usr/canary", kCanary})));
}

TEST_P(RootDirectory, AGrantIsNotPlacedThroughItsSymlinks) {
  make_directory(host / "data", identity_of(GetParam()));
  ASSERT_EQ(::symlink(canary.directory().c_str(), (root + "/srv").c_str()), 0);
  ASSERT_EQ(::symlink("/proc", (root + "/p").c_str()), 0);
  ASSERT_EQ(::symlink("/dev/null", (root + "/n").c_str()), 0);
  for (const char* place : {"/srv", "/srv/x", "/p", "/p/self", "/p/sys", "/n"})
    expect_refused_to_start(
        probe_in_root({"create-in", "/tmp"}, {"--read", (host / "data:") + place}), "cell");
  // In a tree of the host nothing is made; beside it there is room.
  expect_refused_to_start(
      probe_in_root({"create-in", "/tmp"}, {"--read", (host / "data") + ":/bin/new"}), "no place");
  EXPECT_EQ(names_in(root + "/bin"), Words{"probe"});
  EXPECT_TRUE(attack_worked(
      probe_in_root({"create-in", "/work"}, {"--write", (host / "data") + ":/work"})));
}

TEST_P(RootDirectory, APlaceThatCannotBeARootIsRefused) {
  write_file(host / "file", "", GetParam());
  ASSERT_EQ(::symlink(root.c_str(), (host / "link").c_str()), 0);
  ASSERT_EQ(::mkfifo((host / "fifo").c_str(), 0666), 0);
  const auto with = [&](const std::string& path) {
    return run_cell(GetParam(), {"--root", path, "--", "/bin/probe", "create-in", "/tmp"});
  };
  expect_refused_to_start(with(host / "missing"), "missing");
  expect_refused_to_start(with(host / "file"), "not a directory");
  expect_refused_to_start(with(host / "fifo"), "not a directory");
  expect_refused_to_start(with(host / "link"), root);  // names the real path
  expect_refused_to_start(with((host / "link") + "/bin"), "symlink");
  expect_refused_to_start(with("/proc/self/root"), "symlink");
  expect_refused_to_start(with(host / "root/../missing"), "missing");
}

TEST_P(RootDirectory, AnEmptyRootRunsNothing) {
  make_directory(host / "empty", identity_of(GetParam()));
  const Ran ran =
      run_cell(GetParam(), {"--root", host / "empty", "--", "/bin/sh", "-c", "echo ran"});
  EXPECT_EQ(ran.exit_code, 127) << ran.err;
  EXPECT_EQ(ran.out, "");
}

TEST(RootDirectoryOfUser, ARootThatTheUserCannotReadIsRefused) {
  const OpenDir host;
  make_directory(host / "closed", {0, 0}, 0700);
  make_directory(host / "closed/root", {0, 0});
  for (const char* name : {"closed", "closed/root"}) {
    const Ran ran = run_cell(As::user, {"--root", host / name, "--", "/bin/sh"});
    EXPECT_EQ(ran.exit_code, 125);
    EXPECT_NE(ran.err.find("Permission denied"), std::string::npos) << ran.err;
  }
}

// Thousands of names, or very odd ones, at the top of a root.
TEST_P(RootDirectory, ManyAndOddNamesAtTheTopAreShownOrRefusedButDoNoHarm) {
  for (const std::string name :
       {"-rf", "new\nline", "\xff\xfe", "with space", ".hidden", ".scratch"})
    make_directory(root + "/" + name, identity_of(GetParam()));
  const Ran odd = probe_in_root({"create-in", "/tmp"});
  EXPECT_TRUE(attack_worked(odd));
  for (int i = 0; i < 2000; ++i)
    write_file(root + "/file" + std::to_string(i), "", GetParam());
  const Ran many = probe_in_root({"create-in", "/tmp"});
  EXPECT_TRUE(many.exit_code == 0 || many.exit_code == 125) << many.err;
  EXPECT_TRUE(canary.untouched());
}

// CVE-2025-31133 from the host's side. In a mount namespace of the test's own, as /dev/null is
// everybody's.
TEST_P(RootDirectory, AHostWhoseDevNullIsSomethingElseIsRefused) {
  const Ran ran =
      in_mount_namespace(GetParam(), "mount --bind " + canary.path() + " /dev/null",
                         {sallyport_path(), "run", "--stdin", "--", "sh", "-c", "echo ran"});
  expect_refused_to_start(ran, "/dev/null");
}

SALLYPORT_FOR_ROOT_AND_USER(RootDirectory);

}  // namespace
}  // namespace sallyport::test
