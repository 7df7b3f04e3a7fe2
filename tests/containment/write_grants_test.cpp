// Writable grants: who owns what is written, and what a tool cannot leave behind for the host to
// stumble over.
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "containment/host_files.h"

namespace sallyport::test {
namespace {

class WriteGrant : public CellTest {
 protected:
  const OpenDir host{GetParam()};
  [[nodiscard]] FileOwner self() const { return identity_of(GetParam()); }
  [[nodiscard]] Words grant(const std::string& name, const std::string& place = "/work") const {
    return {"--write", (host / name) + ":" + place};
  }
  void make_work() const { make_directory(host / "work", self()); }
};

constexpr const char* kWriteAll =
    "cd /work && echo new >file && mkdir -p dir/deep && echo deep >dir/deep/file && ln -s file "
    "link "
    "&& mkfifo fifo && echo changed >>there && ln file hard && mv there moved";

void expect_all_owned_by(const std::string& directory, FileOwner owner) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    EXPECT_EQ(owner_of(entry.path()), owner) << entry.path();
}

// ---- owners

TEST(WriteGrantOfRoot, WhatIsWrittenBelongsToTheDirectorysOwner) {
  for (const FileOwner owner : {FileOwner{1234, 1234}, FileOwner{1234, 5678}, FileOwner{0, 0},
                                FileOwner{kUserUid, kUserGid}, FileOwner{0, 1234},
                                FileOwner{65534, 65534}, FileOwner{0x70000001, 0x70000001}}) {
    const OpenDir host;
    make_directory(host / "work", owner);
    write_file(host / "work/there", "old");
    ASSERT_EQ(::chown((host / "work/there").c_str(), owner.uid, owner.gid), 0);
    const Ran ran = shell_in_cell(As::root, {"--write", (host / "work") + ":/work"}, kWriteAll);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(names_in(host / "work"), (Words{"dir", "fifo", "file", "hard", "link", "moved"}));
    expect_all_owned_by(host / "work", owner);
    EXPECT_EQ(read_file(host / "work/moved"), "oldchanged\n");
  }
}

TEST(WriteGrantOfRoot, AFileCanBeGrantedAloneAndKeepsItsOwner) {
  const OpenDir host;
  write_file(host / "file", "old");
  ASSERT_EQ(::chown((host / "file").c_str(), 1234, 5678), 0);
  const Ran ran =
      shell_in_cell(As::root, {"--write", (host / "file") + ":/work/file"}, "echo new >/work/file");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(read_file(host / "file"), "new\n");
  EXPECT_EQ(owner_of(host / "file"), (FileOwner{1234, 5678}));
}

// The root launcher lends the owner's rights, not its own.
TEST(WriteGrantOfRoot, WhatBelongsToOthersInTheDirectoryStaysTheirs) {
  const OpenDir host;
  make_directory(host / "work", {1234, 1234});
  write_file(host / "work/secret", kCanary, As::root, 0600);
  write_file(host / "work/public", kCanary, As::root, 0644);
  make_directory(host / "work/closed", {0, 0}, 0700);
  write_file(host / "work/closed/canary", kCanary);
  const Ran ran = shell_in_cell(
      As::root, {"--write", (host / "work") + ":/work"},
      "cd /work; cat secret closed/canary; sh -c 'echo x >>public'; chmod 777 public; "
      "chown 1000 public; touch closed/new; cat public");
  EXPECT_EQ(ran.out, kCanary) << ran.err;
  EXPECT_EQ(read_file(host / "work/public"), kCanary);
  EXPECT_EQ(owner_of(host / "work/public"), (FileOwner{0, 0}));
  EXPECT_EQ(mode_of(host / "work/public") & 07777, 0644U);
  EXPECT_EQ(names_in(host / "work/closed"), Words{"canary"});
}

TEST(WriteGrantOfUser, WhatIsWrittenBelongsToThatUser) {
  const OpenDir host(As::user);
  make_directory(host / "work", {kUserUid, kUserGid});
  write_file(host / "work/there", "old", As::user);
  const Ran ran = shell_in_cell(As::user, {"--write", (host / "work") + ":/work"}, kWriteAll);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  expect_all_owned_by(host / "work", {kUserUid, kUserGid});
}

TEST(WriteGrantOfUser, ADirectoryOfSomebodyElseIsRefused) {
  const OpenDir host;
  for (const FileOwner owner :
       {FileOwner{0, 0}, FileOwner{1234, 1234}, FileOwner{1234, kUserGid}}) {
    const std::string work = host / ("work-" + std::to_string(owner.uid + owner.gid));
    make_directory(work, owner, 0777);
    const Ran ran =
        shell_in_cell(As::user, {"--write", work + ":/work"}, "echo ran; : >/work/file");
    EXPECT_EQ(ran.exit_code, 125);
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find("belongs to another user"), std::string::npos) << ran.err;
    EXPECT_EQ(names_in(work), Words{});
    // Reading what everybody may read is another matter.
    EXPECT_EQ(shell_in_cell(As::user, {"--read", work + ":/work"}, "exit 3").exit_code, 3);
  }
}

// ---- what is left behind

// "setuid / device / file-capability drop into the shared workspace".
TEST_P(WriteGrant, NoSetIdBitCanBeLeftBehind) {
  make_work();
  const Words ways = lines_of(probe_outside({"leave-set-id", "--list"}).out);
  ASSERT_GE(ways.size(), 12U);
  for (const std::string& way : ways) {
    // The kernel drops the group's bit for whoever is not in that group; outside, root is.
    const OpenDir twin(GetParam());
    EXPECT_TRUE(attack_worked(probe_outside({"leave-set-id", way, twin / "file"}, GetParam())))
        << way;
    EXPECT_TRUE(attack_refused(
        probe_in_cell(GetParam(), {"leave-set-id", way, "/work/file-" + way}, grant("work"))))
        << way;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(host / "work"))
    EXPECT_EQ(mode_of(entry.path()) & 06000, 0U) << entry.path();
}

TEST_P(WriteGrant, NoCapabilityCanBeLeftOnAFile) {
  make_work();
  write_file(host / "work/file", "", GetParam());
  write_file(host / "twin", "");
  EXPECT_TRUE(attack_worked(probe_outside({"leave-capability", host / "twin"})));
  EXPECT_TRUE(
      attack_refused(probe_in_cell(GetParam(), {"leave-capability", "/work/file"}, grant("work"))));
}

TEST_P(WriteGrant, NoDeviceCanBeLeftBehind) {
  make_work();
  for (const char* kind : {"null", "block", "overlay", "whiteout"}) {
    const OpenDir twin;
    EXPECT_TRUE(attack_worked(probe_outside({"leave-device", kind, twin / "node"}))) << kind;
    EXPECT_TRUE(attack_refused(probe_in_cell(
        GetParam(), {"leave-device", kind, std::string("/work/") + kind}, grant("work"))))
        << kind;
  }
  for (const std::string& name : names_in(host / "work"))
    EXPECT_TRUE(S_ISREG(mode_of((host / "work/") + name))) << name;
}

// "submounts under a ro bind stay rw"; a production volume below a project.
TEST_P(WriteGrant, AFileSystemMountedBelowItStaysReadOnly) {
  make_work();
  make_directory(host / "work/prod", self());
  const std::string mount = "mount -t tmpfs -o mode=0777 none " + (host / "work/prod") +
                            "; echo data >" + (host / "work/prod/data") + "; chmod 0666 " +
                            (host / "work/prod/data");
  const std::string destroy =
      "rm -rf \"$1\"/prod/* || echo refused; touch \"$1\"/prod/new || echo refused;"
      "cat \"$1\"/prod/data; echo kept >\"$1\"/file; cat \"$1\"/file";
  const Ran twin =
      in_mount_namespace(GetParam(), mount, {"sh", "-c", destroy, "sh", host / "work"});
  EXPECT_EQ(twin.out, "kept\n") << twin.err;
  const Ran inside = in_mount_namespace(GetParam(), mount,
                                        Words{sallyport_path(), "run"} + grant("work") +
                                            Words{"--", "sh", "-c", destroy, "sh", "/work"});
  EXPECT_EQ(inside.out, "refused\nrefused\ndata\nkept\n") << inside.err;
}

TEST_P(WriteGrant, WhatTheHostMountedReadOnlyStaysReadOnly) {
  make_work();
  const std::string mount = "mount --bind -o ro " + (host / "work") + " " + (host / "work");
  const Ran ran = in_mount_namespace(
      GetParam(), mount,
      Words{sallyport_path(), "run"} + grant("work") + Words{"--", "sh", "-c", ": >/work/file"});
  EXPECT_EQ(ran.exit_code, 125) << ran.err;
  EXPECT_NE(ran.err.find("read-only"), std::string::npos) << ran.err;
  EXPECT_EQ(names_in(host / "work"), Words{});
}

// ---- handing a workspace back

// Git on the host runs what .git/config and .git/hooks say. A tool that may write them can plant a
// program; a read-only grant on top takes that away, also where the file is not there yet.
TEST_P(WriteGrant, AReadOnlyGrantOnTopGuardsGitsHooksAndConfiguration) {
  make_work();
  const Ran made = run({"git", "-c", "init.defaultBranch=main", "init", "-q", host / "work"},
                       RunOptions{.as = GetParam(), .environment = {"HOME=/nonexistent"}});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string plant =
      "cd \"$1\"; git config core.fsmonitor \"touch $2; false\"; mkdir -p .git/hooks;"
      "echo '[include]' >>.git/config; printf '#!/bin/sh\\n' >.git/hooks/pre-commit;"
      "mkdir -p .git/info && echo x >.git/info/attributes; mv .git .moved; rm -rf .git; : >done";
  const auto guarded = [&] {
    return read_file(host / "work/.git/config") + "|" +
           (std::filesystem::exists(host / "work/.git/hooks/pre-commit") ? "planted" : "") +
           (std::filesystem::exists(host / "work/.git/info/attributes") ? "planted" : "");
  };
  const std::string before = guarded();
  const Ran ran =
      run_cell(GetParam(), grant("work") + Words{"--read", (host / "work/.git") + ":/work/.git",
                                                 "--env", "HOME=/tmp", "--", "sh", "-c", plant,
                                                 "sh", "/work", "/tmp/x"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(guarded(), before);
  EXPECT_TRUE(std::filesystem::exists(host / "work/done"));
  // Without it, what is there is guarded all the same: see ProtectedNames.
  const Ran alone =
      run_cell(GetParam(), grant("work") + Words{"--env", "HOME=/tmp", "--", "sh", "-c", plant,
                                                 "sh", "/work", "/tmp/x"});
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_EQ(guarded(), before);
  // Outside, the same words do their work.
  const Ran twin = run({"sh", "-c", plant, "sh", host / "work", "/tmp/x"},
                       RunOptions{.as = GetParam(), .environment = {"HOME=/nonexistent"}});
  EXPECT_EQ(twin.exit_code, 0) << twin.err;
  EXPECT_FALSE(std::filesystem::exists(host / "work/.git/config"));
}

// Deep trees and odd names. Nothing of ours walks a direct grant, and the answer
// comes as always.
TEST_P(WriteGrant, ADeepTreeAndOddNamesDoNotDisturbTheEndOfTheCall) {
  make_work();
  const Ran ran =
      run_cell(GetParam(),
               grant("work") + Words{"--json", "--", "/usr/bin/python3", "-c",
                                     "import os\nos.chdir('/work')\n"
                                     "for i in range(300): os.mkdir('d'*20); os.chdir('d'*20)\n"
                                     "os.chdir('/work')\n"
                                     "for n in (b'-rf', b'new\\nline', b'\\xff\\xfe', b'x'*255):\n"
                                     "  open(n, 'w').close()\n"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_EQ(ran.json().at("status").as_string(), "success");
  EXPECT_EQ(names_in(host / "work").size(), 5U);
  EXPECT_EQ(shell_outside("rm -rf -- " + (host / "work/d") + "*").exit_code, 0);
}

// CVE-2025-59532: where a tool starts says nothing about what it may write.
TEST_P(WriteGrant, AWorkingDirectoryIsNotAGrant) {
  make_work();
  for (const char* place : {"/usr", "/etc", "/work", "/"}) {
    const Ran ran = shell_in_cell(
        GetParam(), Words{"--read", (host / "work") + ":/work", "--cwd", place}, ": >file");
    EXPECT_NE(ran.exit_code, 0) << place;
  }
  EXPECT_EQ(names_in(host / "work"), Words{});
  for (const char* place : {"../..", "work", "/work/../..", "/missing", "/work/./x"})
    EXPECT_EQ(shell_in_cell(GetParam(), {"--cwd", place}, "true").exit_code, 125) << place;
}

// ---- mount points

// CVE-2026-87766 (bubblewrap): making a mount point below a writable directory followed a symlink
// that an earlier run had planted, and wrote outside.
TEST_P(WriteGrant, AMountPointIsNotMadeThroughASymlinkOfAnEarlierRun) {
  const Canary canary(GetParam());
  make_work();
  make_directory(host / "work/sub", self());
  make_directory(host / "other", self());
  write_file(host / "other/file", "other", GetParam());
  const Ran plant = shell_in_cell(GetParam(), grant("work"),
                                  "rmdir /work/sub && ln -s " + canary.directory() + " /work/sub");
  ASSERT_EQ(plant.exit_code, 0) << plant.err;
  ASSERT_TRUE(std::filesystem::is_symlink(host / "work/sub"));
  for (const std::string source : {"other", "other/file"})
    for (const std::string place : {"/work/sub/x", "/work/sub", "/work/sub/canary"}) {
      const Ran ran = shell_in_cell(
          GetParam(), grant("work") + Words{"--read", (host / source) + ":" + place}, "echo ran");
      EXPECT_EQ(ran.exit_code, 125) << source << " " << place;
      EXPECT_EQ(ran.out, "");
      EXPECT_TRUE(canary.untouched()) << source << " " << place;
    }
}

TEST_P(WriteGrant, AMountPointIsNeverMadeInATreeOfTheHost) {
  make_work();
  make_directory(host / "other", self());
  const Ran ran =
      shell_in_cell(GetParam(), grant("work") + grant("other", "/work/new/place"), "echo ran");
  EXPECT_EQ(ran.exit_code, 125);
  EXPECT_EQ(names_in(host / "work"), Words{});
  // Where the place is there already, it serves.
  make_directory(host / "work/place", self());
  const Ran nested = shell_in_cell(GetParam(), grant("work") + grant("other", "/work/place"),
                                   ": >/work/place/file");
  EXPECT_EQ(nested.exit_code, 0) << nested.err;
  EXPECT_EQ(names_in(host / "other"), Words{"file"});
  EXPECT_EQ(names_in(host / "work/place"), Words{});
}

// CVE-2024-28185 (judge0): the launcher writes, as itself, a file whose name the tool
// could have taken before.
TEST_P(WriteGrant, AResultFileIsNotWrittenThroughASymlinkOfAnEarlierRun) {
  const Canary canary(GetParam());
  make_work();
  const Ran plant =
      shell_in_cell(GetParam(), grant("work"), "ln -s " + canary.path() + " /work/result.json");
  ASSERT_EQ(plant.exit_code, 0) << plant.err;
  const Ran ran = shell_in_cell(
      GetParam(), grant("work") + Words{"--result-file", host / "work/result.json"}, "echo ran");
  EXPECT_TRUE(canary.untouched());
  EXPECT_EQ(ran.exit_code, 125) << ran.err;
  EXPECT_EQ(ran.out, "");
}

TEST_P(WriteGrant, AFifoInThePlaceOfTheResultFileDoesNotHoldTheLauncherUp) {
  make_work();
  ASSERT_EQ(shell_in_cell(GetParam(), grant("work"), "mkfifo /work/result.json").exit_code, 0);
  const Ran ran = run_cell(
      grant("work") + Words{"--result-file", host / "work/result.json", "--", "echo", "ran"},
      RunOptions{.as = GetParam(), .patience = std::chrono::seconds(20)});
  EXPECT_EQ(ran.exit_code, 125) << ran.err;
}

SALLYPORT_FOR_ROOT_AND_USER(WriteGrant);

}  // namespace
}  // namespace sallyport::test
