// --write-mode copy: the tool works on a copy in the scratch, and what it changed is done to the
// host's directory when it has ended well.
#include <sys/wait.h>
#include <sys/xattr.h>

#include <algorithm>
#include <atomic>
#include <future>

#include "containment/host_files.h"

namespace sallyport::test {
namespace {

class CopyMode : public CellTest {
 protected:
  // Of the root launcher the directory belongs to somebody else, as it usually does.
  CopyMode() {
    make_directory(work, owner);
    add_file("kept", "kept");
    add_file("changed", "old");
    add_file("deleted", "old");
    make_directory(work + "/dir", owner);
    add_file("dir/inner", "old");
    make_directory(work + "/gone", owner);
    add_file("gone/inner", "old");
  }

  const FileOwner owner =
      GetParam() == As::root ? FileOwner{1234, 5678} : FileOwner{kUserUid, kUserGid};
  const OpenDir host{GetParam()};
  const Canary canary{GetParam()};
  const std::string work = host / "work";

  void add_file(const std::string& name, const std::string& content) const {
    write_file(work + "/" + name, content);
    EXPECT_EQ(::chown((work + "/" + name).c_str(), owner.uid, owner.gid), 0);
  }
  [[nodiscard]] Words options() const {
    return {"--write-mode", "copy", "--write", work + ":/work", "--json"};
  }
  [[nodiscard]] Ran change(const std::string& script, const Words& more = {}) const {
    return run_cell(GetParam(),
                    options() + more + Words{"--", "sh", "-c", "cd /work && " + script});
  }

  // Names, types, modes, owners and contents of the whole tree.
  [[nodiscard]] std::string picture() const {
    Words lines;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(work)) {
      const std::string path = entry.path();
      const FileOwner who = owner_of(path);
      const mode_t mode = mode_of(path);
      lines.push_back(path + " " + std::to_string(mode) + " " + std::to_string(who.uid) + " " +
                      std::to_string(who.gid) + " " + (S_ISREG(mode) ? read_file(path) : ""));
    }
    std::ranges::sort(lines);
    std::string text;
    for (const std::string& line : lines)
      text += line + "\n";
    return text;
  }
};

constexpr const char* kChangeAll =
    "echo new >changed; rm deleted; rm -r gone; echo new >dir/added; mkdir -p made/deep; "
    "echo new >made/deep/file; ln -s changed link; chmod 755 changed";

TEST_P(CopyMode, ChangesComeBackAndBelongToTheDirectorysOwner) {
  const Ran ran = change(kChangeAll);
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_EQ(names_in(work), (Words{"changed", "dir", "kept", "link", "made"}));
  EXPECT_EQ(names_in(work + "/dir"), (Words{"added", "inner"}));
  EXPECT_EQ(read_file(work + "/kept"), "kept");
  EXPECT_EQ(read_file(work + "/changed"), "new\n");
  EXPECT_EQ(mode_of(work + "/changed") & 07777, 0755U);
  EXPECT_EQ(read_file(work + "/made/deep/file"), "new\n");
  EXPECT_EQ(std::filesystem::read_symlink(work + "/link"), "changed");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(work))
    EXPECT_EQ(owner_of(entry.path()), owner) << entry.path();
  EXPECT_TRUE(ran.json().at("findings").as_array().empty()) << ran.out;
  EXPECT_EQ(ran.json().at("isolation").at("layers").at("disk").as_string(), "bounded");
}

TEST_P(CopyMode, TheHostSeesNothingWhileTheToolRuns) {
  const std::string before = picture();
  const std::string command =
      (GetParam() == As::root ? "" : "setpriv --reuid=43210 --regid=43210 --clear-groups -- ") +
      sallyport_path() + " run --timeout 60s --stdin --write-mode copy --write " + work +
      ":/work -- sh -c 'cd /work; " + kChangeAll + "; cat changed >&2; read line' 2>&1";
  int to_tool[2], from_tool[2];
  ASSERT_EQ(::pipe2(to_tool, O_CLOEXEC) | ::pipe2(from_tool, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(to_tool[0], 0);
    ::dup2(from_tool[1], 1);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(98);
  }
  ::close(to_tool[0]);
  ::close(from_tool[1]);
  char text[256] = {};
  EXPECT_GT(::read(from_tool[0], text, sizeof(text) - 1), 0);
  EXPECT_EQ(std::string(text), "new\n");
  EXPECT_EQ(picture(), before);
  ::close(to_tool[1]);
  ::close(from_tool[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_NE(picture(), before);
}

TEST_P(CopyMode, AKilledCallChangesNothing) {
  const std::string before = picture();
  const Ran timeout = change(std::string(kChangeAll) + "; sleep 60", {"--timeout", "1s"});
  EXPECT_EQ(timeout.exit_code, 124) << timeout.out;
  EXPECT_EQ(picture(), before);
  const Ran output = change(std::string(kChangeAll) + "; yes", {"--max-output-hard", "100kB"});
  EXPECT_EQ(output.exit_code, 137) << output.out;
  EXPECT_EQ(picture(), before);
}

TEST_P(CopyMode, ACallThatCouldNotStartChangesNothing) {
  const std::string before = picture();
  const Ran ran = run_cell(GetParam(), options() + Words{"--", "/missing/program"});
  EXPECT_EQ(ran.exit_code, 127) << ran.out;
  EXPECT_EQ(run_cell(GetParam(), options() + Words{"--cwd", "/missing", "--", "true"}).exit_code,
            125);
  EXPECT_EQ(picture(), before);
}

TEST_P(CopyMode, TheDiskLimitBoundsTheChanges) {
  const Ran ran =
      change("for i in 1 2 3 4 5; do head -c 1000000 /dev/zero >big$i; done", {"--disk", "2MiB"});
  EXPECT_NE(ran.exit_code, 0);
  std::uintmax_t bytes = 0;
  for (const std::string& name : names_in(work))
    if (name.starts_with("big")) bytes += std::filesystem::file_size(work + "/" + name);
  EXPECT_LE(bytes, 2U << 20);
  // In direct mode nothing bounds them, and the result says so.
  const Ran direct = run_cell(
      GetParam(), {"--write", work + ":/work", "--json", "--disk", "2MiB", "--", "sh", "-c",
                   "cd /work; for i in 1 2 3 4 5; do head -c 1000000 /dev/zero >big$i; done"});
  EXPECT_EQ(direct.exit_code, 0) << direct.out;
  EXPECT_EQ(direct.json().at("isolation").at("layers").at("disk").as_string(), "unbounded");
}

TEST_P(CopyMode, ManyHardLinksToOneFileDoNotMultiplyIt) {
  const Ran ran =
      change("head -c 1000000 /dev/zero >one; for i in $(seq 50); do ln one link$i; done",
             {"--disk", "2MiB"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  std::uintmax_t bytes = 0;
  for (const std::string& name : names_in(work))
    if (std::filesystem::is_regular_file(work + "/" + name))
      bytes += std::filesystem::file_size(work + "/" + name);
  EXPECT_LE(bytes, (2U << 20) + 100);
  EXPECT_FALSE(ran.json().at("findings").as_array().empty());
}

// What the host would trip over later.
TEST_P(CopyMode, ASymlinkThatLeadsOutIsNotCopiedBack) {
  const Ran ran =
      change("ln -s " + canary.path() + " absolute; ln -s ../../.." + canary.path() +
             " relative; ln -s ../secret up; ln -s dir/../../x sly; ln -s dir/inner good; "
             "mkdir sub; ln -s ../changed sub/good");
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  for (const char* name : {"absolute", "relative", "up", "sly"}) {
    EXPECT_FALSE(std::filesystem::is_symlink(work + "/" + name)) << name;
    EXPECT_TRUE(has_finding(ran.json(), "not_copied_back", name)) << name << ran.out;
  }
  EXPECT_TRUE(std::filesystem::is_symlink(work + "/good"));
  EXPECT_TRUE(std::filesystem::is_symlink(work + "/sub/good"));
}

TEST_P(CopyMode, OtherKindsOfFilesAreNotCopiedBack) {
  const Ran ran = run_cell(
      GetParam(),
      {"--write-mode", "copy", "--write", work + ":/work", "--json", "--", "sh", "-c",
       "cd /work; mkfifo fifo; rm changed; mkfifo changed; echo x >file; chmod 4755 file"});
  for (const char* name : {"fifo", "changed"})
    EXPECT_TRUE(has_finding(ran.json(), "not_copied_back", name)) << name << ran.out;
  EXPECT_FALSE(std::filesystem::exists(work + "/fifo"));
  EXPECT_EQ(read_file(work + "/changed"), "old");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(work))
    EXPECT_EQ(mode_of(entry.path()) & 06000, 0U) << entry.path();
}

// The copy is made of marks in extended attributes; forged ones would delete or reveal.
TEST_P(CopyMode, ForgedMarksDoNothing) {
  const std::string before_kept = read_file(work + "/kept");
  const Ran ran =
      run_cell(GetParam(),
               options() + Words{"--", "/usr/bin/python3", "-c",
                                 "import os\n"
                                 "os.chdir('/work')\n"
                                 "def forge(path, name, value):\n"
                                 "  try: os.setxattr(path, name, value); print('set', path, name)\n"
                                 "  except OSError: pass\n"
                                 "open('new', 'w').write('x')\n"
                                 "os.mkdir('newdir')\n"
                                 "for space in ('trusted', 'user'):\n"
                                 "  for path in ('dir', 'newdir', 'kept', 'new', '.'):\n"
                                 "    forge(path, space + '.overlay.opaque', b'y')\n"
                                 "    forge(path, space + '.overlay.whiteout', b'y')\n"
                                 "    forge(path, space + '.overlay.metacopy', b'')\n"
                                 "    forge(path, space + '.overlay.redirect', b'/etc')\n"
                                 "open('empty', 'w').close()\n"
                                 "forge('empty', 'user.overlay.whiteout', b'y')\n"
                                 "forge('empty', 'user.overlay.overlay.whiteout', b'y')\n"
                                 "open('dir/touch', 'w').close()\n"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_EQ(read_file(work + "/kept"), before_kept);
  EXPECT_EQ(names_in(work + "/dir"), (Words{"inner", "touch"}));
  EXPECT_EQ(names_in(work + "/newdir"), Words{});
  EXPECT_EQ(names_in(work + "/gone"), Words{"inner"});
  for (const char* name : {"changed", "deleted"})
    EXPECT_EQ(read_file(work + "/" + name), "old") << name;
  // The marks do not reach the host's files either, where a later overlay would believe them.
  for (const auto& entry : std::filesystem::recursive_directory_iterator(work)) {
    char names[4096];
    const ssize_t size = ::llistxattr(entry.path().c_str(), names, sizeof(names));
    EXPECT_EQ(std::string_view(names, static_cast<std::size_t>(std::max<ssize_t>(size, 0)))
                  .find("overlay"),
              std::string_view::npos)
        << entry.path();
  }
}

// A device 0:0 is the other kind of mark.
TEST_P(CopyMode, AForgedWhiteoutDeletesNothing) {
  const std::string before = picture();
  for (const char* kind : {"overlay", "whiteout"}) {
    const Ran ran =
        run_cell(GetParam(), options() + probe_grant() +
                                 Words{"--", probe_inside(), "leave-device", kind, "/work/kept2"});
    EXPECT_EQ(ran.exit_code, 1) << ran.out;
  }
  std::filesystem::remove(work + "/kept2");
  EXPECT_EQ(picture(), before);
}

TEST_P(CopyMode, AFileSystemMountedBelowIsNotChanged) {
  make_directory(work + "/prod", owner);
  const std::string prod = work + "/prod";
  const std::string mount = "mount -t tmpfs -o mode=0777 none " + prod + "; echo data >" + prod +
                            "/data; chmod 0666 " + prod + "/data";
  const Ran ran = in_mount_namespace(
      GetParam(), mount,
      {"sh", "-c",
       "\"$1\" run --write-mode copy --write \"$2\":/work -- sh -c 'cd /work; rm -rf prod; mkdir "
       "prod; "
       "echo planted >prod/data; echo planted >prod/new'; cat \"$2\"/prod/data; ls \"$2\"/prod",
       "sh", sallyport_path(), work});
  EXPECT_EQ(ran.out, "data\ndata\n") << ran.err;
}

// The owner, perhaps as an accomplice of the tool, swaps a directory for a symlink while the
// changes are copied back.
TEST_P(CopyMode, AnotherWriterOfTheHostDirectoryDoesNotLeadTheCopyAstray) {
  for (int i = 0; i < 200; ++i)
    add_file("dir/file" + std::to_string(i), "old");
  ASSERT_EQ(::symlink(canary.directory().c_str(), (work + "/evil").c_str()), 0);
  std::atomic<bool> stop = false;
  auto swapper = std::async(std::launch::async, [&] {
    while (!stop)
      ::renameat2(AT_FDCWD, (work + "/dir").c_str(), AT_FDCWD, (work + "/evil").c_str(),
                  RENAME_EXCHANGE);
  });
  for (int round = 0; round < 5; ++round) {
    const Ran ran = change(
        "for d in dir evil; do for i in $(seq 0 199); do echo new >$d/file$i; "
        "done; done; echo new >dir/canary; true 2>/dev/null");
    EXPECT_TRUE(canary.untouched()) << ran.out;
  }
  stop = true;
  swapper.get();
}

TEST_P(CopyMode, CallsAtTheSameTimeDoNotDisturbEachOther) {
  std::vector<std::future<Ran>> calls;
  for (int i = 0; i < 6; ++i)
    calls.push_back(std::async(std::launch::async, [&, i] {
      const std::string number = std::to_string(i);
      return change("mkdir own" + number + "; for n in $(seq 20); do echo " + number + " >own" +
                    number + "/$n; done; echo " + number + number + number + " >shared");
    }));
  for (auto& call : calls) {
    const Ran ran = call.get();
    EXPECT_EQ(ran.exit_code, 0) << ran.out;
  }
  for (int i = 0; i < 6; ++i) {
    const std::string own = work + "/own" + std::to_string(i);
    EXPECT_EQ(names_in(own).size(), 20U);
    EXPECT_EQ(read_file(own + "/20"), std::to_string(i) + "\n");
  }
  // One of them, whole.
  const std::string shared = read_file(work + "/shared");
  EXPECT_EQ(shared.size(), 4U);
  EXPECT_EQ(shared.substr(0, 1), shared.substr(1, 1));
  EXPECT_EQ(read_file(work + "/kept"), "kept");
}

// "Deep tree / huge dir / odd names break host cleanup".
TEST_P(CopyMode, DeepTreesAndOddNamesEndInFindingsAtWorst) {
  const Ran ran = run_cell(
      GetParam(), options() + Words{"--", "/usr/bin/python3", "-c",
                                    "import os\n"
                                    "os.chdir('/work')\n"
                                    "for n in (b'-rf', b'new\\nline', b'\\xff\\xfe', b'x' * 255):\n"
                                    "  open(n, 'w').close()\n"
                                    "for i in range(300): os.mkdir('d'); os.chdir('d')\n"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  for (const std::string& name : {std::string("-rf"), std::string("new\nline"),
                                  std::string("\xff\xfe"), std::string(255, 'x')})
    EXPECT_TRUE(std::filesystem::exists(work + "/" + name)) << name;
  EXPECT_FALSE(ran.json().at("findings").as_array().empty());
}

TEST_P(CopyMode, AFileCannotBeGrantedAlone) {
  const Ran ran = run_cell(GetParam(), {"--write-mode", "copy", "--write", work + "/kept:/kept",
                                        "--", "sh", "-c", "echo ran"});
  EXPECT_EQ(ran.exit_code, 125);
  EXPECT_EQ(ran.out, "");
}

SALLYPORT_FOR_ROOT_AND_USER(CopyMode);

// The tool has the rights of the directory's owner, also when the changes are applied by root.
TEST(CopyModeOfRoot, WhatBelongsToOthersInTheDirectoryStaysTheirs) {
  const OpenDir host;
  const std::string work = host / "work";
  make_directory(work, {1234, 1234});
  make_directory(work + "/roots", {0, 0});
  write_file(work + "/roots/canary", kCanary);
  write_file(work + "/secret", kCanary, As::root, 0600);
  const Ran ran = shell_in_cell(
      As::root, {"--write-mode", "copy", "--write", work + ":/work"},
      "cd /work; cat secret; touch roots/new; rm -f roots/canary; sh -c 'echo x >roots/canary'; "
      "rm -rf roots; chmod 777 roots; true");
  EXPECT_EQ(ran.out, "") << ran.err;
  EXPECT_EQ(names_in(work + "/roots"), Words{"canary"});
  EXPECT_EQ(read_file(work + "/roots/canary"), kCanary);
  EXPECT_EQ(mode_of(work + "/roots") & 07777, 0755U);
}

}  // namespace
}  // namespace sallyport::test
