#include "cell/copy_back.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "cell/export_fixture.h"

namespace sallyport {
namespace {

constexpr CopyBackLimits kPlenty{.max_bytes = 1 << 30};

void set_mark(const fs::path& path, const char* name, std::string_view value) {
  ASSERT_EQ(::lsetxattr(path.c_str(), name, value.data(), value.size(), 0), 0)
      << name << ": " << std::strerror(errno);
}

void make_node(const fs::path& path, mode_t mode, dev_t device = 0) {
  fs::create_directories(path.parent_path());
  ASSERT_EQ(::mknod(path.c_str(), mode, device), 0) << path << ": " << std::strerror(errno);
}

void make_whiteout(const fs::path& path) {
  make_node(path, S_IFCHR);
}

// A host directory, the upper directory that a tool left behind, and a directory that is neither's
// business.
class CopyBackTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::geteuid(), 0u) << "this test makes device nodes and trusted marks and needs root";
    fs::create_directory(upper);
    fs::create_directory(host);
    put(outside / "canary", "alive");
  }

  Result<CopyBackReport> try_apply(const CopyBackLimits& limits = kPlenty,
                                   OverlayMarks marks = OverlayMarks::trusted) {
    findings.clear();
    const struct stat info = stat_of(host);
    return copy_back(open_dir(upper).get(), open_dir(host).get(),
                     {.uid = info.st_uid, .gid = info.st_gid}, marks, limits, findings);
  }

  CopyBackReport apply(const CopyBackLimits& limits = kPlenty,
                       OverlayMarks marks = OverlayMarks::trusted) {
    auto report = try_apply(limits, marks);
    if (!report) ADD_FAILURE() << report.error().message;
    return report.value_or(CopyBackReport{});
  }

  void expect_refused(const std::string& path, const std::string& why) {
    const Finding* finding = finding_about(findings, path);
    ASSERT_NE(finding, nullptr) << "no finding about " << path;
    EXPECT_EQ(finding->kind, "not_copied_back");
    EXPECT_NE(finding->why.find(why), std::string::npos) << finding->why;
  }

  // What `cp -a` would make of the upper directory.
  fs::path naive_copy() {
    const std::string command =
        "cp -a '" + upper.string() + "/.' '" + (tree / "naive").string() + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return tree / "naive";
  }

  TempTree tree;
  const fs::path upper = tree / "upper";
  const fs::path host = tree / "host";
  const fs::path outside = tree / "outside";
  std::vector<Finding> findings;
};

TEST_F(CopyBackTest, WritesFilesAndDirectoriesAndCountsThem) {
  put(host / "same", "host");
  put(host / "edited", "before", 0600);
  put(upper / "edited", "after", 0640);
  put(upper / "new/deep/file", "12345", 0755);
  const CopyBackReport report = apply();
  EXPECT_EQ(content_of(host / "same"), "host");
  EXPECT_EQ(content_of(host / "edited"), "after");
  EXPECT_EQ(mode_of(host / "edited"), 0640u);
  EXPECT_EQ(content_of(host / "new/deep/file"), "12345");
  EXPECT_EQ(mode_of(host / "new/deep/file"), 0755u);
  EXPECT_EQ(report.files_written, 2u);
  EXPECT_EQ(report.directories_made, 2u);
  EXPECT_EQ(report.deleted, 0u);
  EXPECT_EQ(report.bytes, 10u);
  EXPECT_EQ(snapshot(host).size(), 5u) << "a temporary file is left over";
  EXPECT_TRUE(findings.empty());
}

TEST_F(CopyBackTest, KeepsTheTimeOfModification) {
  put(upper / "built", "");
  const timespec times[] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1'000'000'000, .tv_nsec = 7}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (upper / "built").c_str(), times, 0), 0);
  apply();
  EXPECT_EQ(stat_of(host / "built").st_mtim.tv_sec, 1'000'000'000);
  EXPECT_EQ(stat_of(host / "built").st_mtim.tv_nsec, 7);
}

TEST_F(CopyBackTest, DeletesWhatTheToolDeleted) {
  put(host / "file", "");
  put(host / "directory/a/b", "");
  put(host / "kept", "");
  make_whiteout(upper / "file");
  make_whiteout(upper / "directory");
  make_whiteout(upper / "never_was");
  put(upper / "kept_too", "");
  set_mark(upper / "kept_too", "user.overlay.opaque", "y");
  EXPECT_EQ(apply().deleted, 4u);
  EXPECT_EQ(snapshot(host).size(), 2u);

  EXPECT_TRUE(fs::is_character_file(naive_copy() / "file")) << "the twin was expected to be fooled";
}

TEST_F(CopyBackTest, UnderstandsWhiteoutsThatAreMarkedFiles) {
  put(host / "file", "old");
  put(host / "full", "old");
  put(upper / "file", "");
  set_mark(upper / "file", "trusted.overlay.whiteout", "");
  put(upper / "full", "with content it is a file");
  set_mark(upper / "full", "trusted.overlay.whiteout", "");
  apply();
  EXPECT_FALSE(fs::exists(host / "file"));
  EXPECT_EQ(content_of(host / "full"), "with content it is a file");
}

TEST_F(CopyBackTest, EmptiesADirectoryThatWasReplaced) {
  put(host / "replaced/old/file", "");
  put(host / "merged/old", "");
  put(upper / "replaced/new", "");
  put(upper / "merged/new", "");
  set_mark(upper / "replaced", "trusted.overlay.opaque", "y");
  set_mark(upper / "merged", "trusted.overlay.opaque", "x");
  apply();
  EXPECT_FALSE(fs::exists(host / "replaced/old"));
  EXPECT_TRUE(fs::exists(host / "replaced/new"));
  EXPECT_TRUE(fs::exists(host / "merged/old"));
  EXPECT_TRUE(fs::exists(host / "merged/new"));
}

TEST_F(CopyBackTest, DoesNotBelieveMarksThatAToolCanForge) {
  put(host / "directory/precious", "kept");
  put(host / "file", "kept?");
  put(upper / "directory/new", "");
  put(upper / "file", "");
  set_mark(upper / "directory", "user.overlay.opaque", "y");
  set_mark(upper / "file", "user.overlay.whiteout", "");
  apply(kPlenty, OverlayMarks::trusted);
  EXPECT_EQ(content_of(host / "directory/precious"), "kept");
  EXPECT_TRUE(fs::exists(host / "file"));

  // The twin: in an overlay of an ordinary user these are the marks, and the kernel keeps the tool
  // from writing them.
  apply(kPlenty, OverlayMarks::user);
  EXPECT_FALSE(fs::exists(host / "directory/precious"));
  EXPECT_FALSE(fs::exists(host / "file"));
}

TEST_F(CopyBackTest, RefusesWhatIsNotWhollyInTheUpperDirectory) {
  put(upper / "moved/file", "");
  set_mark(upper / "moved", "trusted.overlay.redirect", "/a/long/path/of/another/directory");
  put(host / "moved/file", "host");
  put(upper / "metadata_only", std::string(100, '\0'));
  set_mark(upper / "metadata_only", "trusted.overlay.metacopy", "");
  put(host / "metadata_only", "host");
  const CopyBackReport report = apply();
  expect_refused("moved", "redirected");
  expect_refused("metadata_only", "not in the upper directory");
  EXPECT_EQ(report.files_written, 0u);
  EXPECT_EQ(content_of(host / "moved/file"), "host");
  EXPECT_EQ(content_of(host / "metadata_only"), "host");
}

TEST_F(CopyBackTest, WritesNoSpecialFiles) {
  put(host / "fifo", "host");
  make_node(upper / "fifo", S_IFIFO | 0666);
  make_node(upper / "device", S_IFCHR | 0666, makedev(1, 3));
  make_node(upper / "disk", S_IFBLK | 0666, makedev(7, 200));
  make_node(upper / "socket", S_IFSOCK | 0666);
  const fs::path naive = naive_copy();
  EXPECT_TRUE(fs::is_character_file(naive / "device")) << "the twin was not fooled";
  EXPECT_TRUE(fs::is_block_file(naive / "disk")) << "the twin was not fooled";

  apply();
  expect_refused("fifo", "a FIFO");
  expect_refused("device", "a device");
  expect_refused("disk", "a device");
  expect_refused("socket", "a socket");
  EXPECT_EQ(snapshot(host).size(), 1u);
  EXPECT_EQ(content_of(host / "fifo"), "host") << "what is refused leaves the host alone";
}

// Git on the host runs what they name, a shell reads them when it starts, an agent obeys them.
TEST_F(CopyBackTest, LeavesProtectedNamesOfTheHostAsTheyAre) {
  put(host / ".git/config", "host");
  put(host / ".git/hooks/pre-commit", "host");
  put(host / ".bashrc", "host");
  put(upper / ".git/config", "tool");
  put(upper / ".git/index", "tool");
  put(upper / ".git/hooks/post-checkout", "tool");
  put(upper / "sub/.git", "gitdir: ../evil");
  fs::create_symlink(".git", upper / "sub/plain");
  put(upper / "sub/.VSCode/tasks.json", "tool");
  put(upper / ".claude/settings.json", "tool");
  make_whiteout(upper / ".bashrc");
  put(upper / "src/main.c", "tool");
  EXPECT_EQ(content_of(naive_copy() / ".git/config"), "tool") << "the twin was not fooled";

  apply();
  expect_refused(".git/config", "protected");
  expect_refused(".git/hooks", "protected");
  expect_refused("sub/.git", "protected");
  expect_refused("sub/.VSCode", "protected");
  expect_refused(".claude", "protected");
  expect_refused(".bashrc", "protected");
  EXPECT_EQ(content_of(host / ".git/config"), "host");
  EXPECT_EQ(content_of(host / ".bashrc"), "host") << "nor is it deleted";
  EXPECT_FALSE(fs::exists(host / ".git/hooks/post-checkout"));
  EXPECT_FALSE(fs::exists(host / "sub/.git"));
  EXPECT_FALSE(fs::exists(host / ".claude"));
  EXPECT_EQ(content_of(host / ".git/index"), "tool") << "git works";
  EXPECT_EQ(content_of(host / "src/main.c"), "tool");
}

TEST_F(CopyBackTest, DropsSetIdBitsAndExtendedAttributes) {
  put(upper / "shell", "", 06777);
  fs::create_directory(upper / "shared");
  ASSERT_EQ(::chmod((upper / "shared").c_str(), 07777), 0);
  set_mark(upper / "shell", "user.note", "x");
  EXPECT_EQ(mode_of(naive_copy() / "shell"), 06777u) << "the twin was not fooled";

  apply();
  EXPECT_EQ(mode_of(host / "shell"), 0777u);
  EXPECT_EQ(mode_of(host / "shared"), 0777u);
  EXPECT_EQ(::lgetxattr((host / "shell").c_str(), "user.note", nullptr, 0), -1);
}

TEST_F(CopyBackTest, ChangesModesOfDirectoriesButNotTheirSetIdBits) {
  fs::create_directories(host / "shared");
  ASSERT_EQ(::chmod((host / "shared").c_str(), 02775), 0);
  ASSERT_EQ(::chmod(host.c_str(), 0700), 0);
  put(upper / "shared/file", "");
  ASSERT_EQ(::chmod((upper / "shared").c_str(), 0750), 0);
  apply();
  EXPECT_EQ(mode_of(host / "shared"), 02750u);
  EXPECT_EQ(mode_of(host), 0700u) << "the mode of the tree's own root is not the tool's";
}

TEST_F(CopyBackTest, ReplacesOneKindOfEntryByAnother) {
  put(host / "file_to_directory", "");
  put(upper / "file_to_directory/inside", "1");
  put(host / "directory_to_file/a/b", "");
  put(upper / "directory_to_file", "2");
  fs::create_symlink("anything", host / "symlink_to_file");
  put(upper / "symlink_to_file", "3");
  put(host / "directory_to_symlink/a", "");
  fs::create_symlink("symlink_to_file", upper / "directory_to_symlink");
  apply();
  EXPECT_EQ(content_of(host / "file_to_directory/inside"), "1");
  EXPECT_EQ(content_of(host / "directory_to_file"), "2");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(host / "symlink_to_file")));
  EXPECT_EQ(fs::read_symlink(host / "directory_to_symlink"), "symlink_to_file");
  EXPECT_TRUE(findings.empty());
}

TEST_F(CopyBackTest, MakesOnlySymlinksThatStayInside) {
  const auto link = [&](const char* name, const char* target) {
    fs::create_directories((upper / name).parent_path());
    fs::create_symlink(target, upper / name);
  };
  link("plain", "file");
  link("down", "./a/b//c");
  link("a/up", "../file");
  link("a/b/to_root", "../..");
  link("absolute", "/etc/passwd");
  link("above", "../outside/canary");
  link("a/above", "../../outside/canary");
  link("turning", "a/../../outside");
  apply();
  EXPECT_EQ(fs::read_symlink(host / "plain"), "file");
  EXPECT_EQ(fs::read_symlink(host / "down"), "./a/b//c");
  EXPECT_EQ(fs::read_symlink(host / "a/up"), "../file");
  EXPECT_EQ(fs::read_symlink(host / "a/b/to_root"), "../..");
  for (const char* name : {"absolute", "above", "a/above", "turning"}) {
    expect_refused(name, "may lead out of the tree");
    EXPECT_FALSE(fs::is_symlink(host / name)) << name;
  }
}

TEST_F(CopyBackTest, SeesThroughTwoSymlinksThatLeadOutTogether) {
  // a/b/out seems to end in a/b, but a/b/root is the root of the tree, and ".." counts from there.
  fs::create_directories(upper / "a/b");
  fs::create_symlink("../..", upper / "a/b/root");
  fs::create_symlink("root/../outside/canary", upper / "a/b/out");
  EXPECT_EQ(fs::path("a/b/root/../outside/canary").lexically_normal(), "a/b/outside/canary");
  EXPECT_EQ(content_of(naive_copy() / "a/b/out"), "alive") << "the twin was not fooled";

  apply();
  expect_refused("a/b/out", "may lead out of the tree");
  EXPECT_TRUE(fs::is_symlink(host / "a/b/root"));
}

TEST_F(CopyBackTest, DoesNotWriteOrDeleteThroughSymlinksOfTheHost) {
  for (const char* name : {"directory", "emptied", "deleted"})
    fs::create_directory_symlink(outside, host / name);
  fs::create_symlink(outside / "canary", host / "file");
  put(upper / "file", "the tool's");
  put(upper / "directory/canary", "the tool's");
  make_whiteout(upper / "emptied/canary");
  make_whiteout(upper / "deleted");
  std::ofstream(host / "file") << "naive";
  EXPECT_EQ(content_of(outside / "canary"), "naive") << "the twin was not fooled";
  put(outside / "canary", "alive");

  apply();
  EXPECT_EQ(snapshot(outside), (std::map<std::string, std::string>{{"canary", "file 420 alive"}}));
  EXPECT_EQ(content_of(host / "file"), "the tool's");
  EXPECT_EQ(content_of(host / "directory/canary"), "the tool's");
  EXPECT_FALSE(fs::is_symlink(host / "deleted"));
}

TEST_F(CopyBackTest, DoesNotWriteIntoAHardLinkOfTheHost) {
  fs::create_hard_link(outside / "canary", host / "file");
  put(upper / "file", "the tool's");
  std::ofstream(host / "file") << "naive";
  EXPECT_EQ(content_of(outside / "canary"), "naive") << "the twin was not fooled";
  put(outside / "canary", "alive");

  apply();
  EXPECT_EQ(content_of(outside / "canary"), "alive");
  EXPECT_EQ(content_of(host / "file"), "the tool's");
}

TEST_F(CopyBackTest, TakesAnyName) {
  const char* names[] = {"-rf", "new\nline", "\xff\xfe", "\x1b[2J", " ", "*", "a'b\"c"};
  for (const char* name : names) {
    put(upper / name, name);
    put(host / "directory" / name, "");
    make_whiteout(upper / "directory" / name);
  }
  apply();
  EXPECT_TRUE(findings.empty());
  EXPECT_TRUE(fs::is_empty(host / "directory"));
  for (const char* name : names)
    EXPECT_EQ(content_of(host / name), name);
}

TEST_F(CopyBackTest, WorksWithTheRightsOfTheOwnerAlone) {
  put(upper / "made/file", "the tool's", 0600);
  put(upper / "sealed/file", "the tool's");
  fs::create_symlink("made/file", upper / "made/link");
  for (const char* name : {"made", "made/file", "made/link", "sealed", "sealed/file"})
    ASSERT_EQ(::lchown((upper / name).c_str(), 0x70000001, 0x70000001), 0);
  put(host / "sealed/other", "root's");
  ASSERT_EQ(::chown(host.c_str(), 4242, 4343), 0);
  make_whiteout(upper / "sealed/other");

  apply();
  for (const char* name : {"made", "made/file", "made/link"}) {
    EXPECT_EQ(stat_of(host / name).st_uid, 4242u) << name;
    EXPECT_EQ(stat_of(host / name).st_gid, 4343u) << name;
  }
  EXPECT_EQ(content_of(host / "made/file"), "the tool's");
  expect_refused("sealed/file", "Permission denied");
  expect_refused("sealed/other", "Permission denied");
  EXPECT_EQ(content_of(host / "sealed/other"), "root's");
  put(tree / "still_root", "");
  EXPECT_EQ(stat_of(tree / "still_root").st_uid, 0u);
}

TEST_F(CopyBackTest, WorksForAnOrdinaryUserInReadOnlyDirectories) {
  put(upper / "closed/new", "1");
  make_whiteout(upper / "closed/old");
  put(upper / "made/file", "2");
  put(host / "closed/old", "");
  for (const auto& entry : fs::recursive_directory_iterator(tree.path()))
    ASSERT_EQ(::lchown(entry.path().c_str(), 65534, 65534), 0);
  ASSERT_EQ(::chown(tree.path().c_str(), 65534, 65534), 0);
  for (const fs::path& path : {host / "closed", upper / "closed", upper / "made"})
    ASSERT_EQ(::chmod(path.c_str(), 0555), 0);
  in_child([&] {
    ASSERT_EQ(::setgid(65534), 0);
    ASSERT_EQ(::setuid(65534), 0);
    apply(kPlenty, OverlayMarks::user);
    EXPECT_TRUE(findings.empty());
    EXPECT_FALSE(try_apply(kPlenty, OverlayMarks::trusted))
        << "marks that cannot be read must not count as absent";
  });
  EXPECT_EQ(content_of(host / "closed/new"), "1");
  EXPECT_FALSE(fs::exists(host / "closed/old"));
  EXPECT_EQ(content_of(host / "made/file"), "2");
  EXPECT_EQ(mode_of(host / "closed"), 0555u);
  EXPECT_EQ(mode_of(host / "made"), 0555u);
}

TEST_F(CopyBackTest, KeepsHolesAndBoundsWhatHardLinksMultiply) {
  put(upper / "sparse", "head");
  ASSERT_EQ(::truncate((upper / "sparse").c_str(), off_t{1} << 28), 0);
  EXPECT_EQ(apply({.max_bytes = 1 << 20}).bytes, std::uint64_t{1} << 28);
  EXPECT_EQ(stat_of(host / "sparse").st_size, off_t{1} << 28);
  EXPECT_LT(stat_of(host / "sparse").st_blocks * 512, 1 << 20);
  fs::remove(upper / "sparse");

  put(upper / "0", std::string(100'000, 'x'));
  for (int number = 1; number < 100; ++number)
    fs::create_hard_link(upper / "0", upper / std::to_string(number));
  const CopyBackReport report = apply({.max_bytes = 350'000});
  EXPECT_EQ(report.files_written, 3u);
  EXPECT_EQ(findings.size(), 97u);
}

TEST_F(CopyBackTest, StopsAtTheLimitOfEntries) {
  for (int number = 0; number < 10; ++number)
    put(upper / "directory" / std::to_string(number), "");
  ASSERT_EQ(::chmod((upper / "directory").c_str(), 0750), 0);
  EXPECT_EQ(apply({.max_bytes = 100, .max_entries = 5}).files_written, 4u);
  EXPECT_EQ(findings.size(), 1u);
  EXPECT_EQ(mode_of(host / "directory"), 0750u) << "directories are finished all the same";
}

TEST_F(CopyBackTest, EndsInATreeOfTenThousandLevels) {
  in_private_mounts([&] {
    mount_tmpfs(tree.path());
    fs::create_directory(host);
    make_deep(upper / "made", 10'000, "leaf");
    make_deep(host / "deleted", 10'000, "leaf");
    make_whiteout(upper / "deleted");
    EXPECT_EQ(apply().deleted, 10'002u);
    EXPECT_FALSE(fs::exists(host / "deleted"));
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].why, "the directory is too deep");
    EXPECT_LT(snapshot(host).size(), 200u);
  });
}

TEST_F(CopyBackTest, LeavesMountsInTheHostTreeAlone) {
  in_private_mounts([&] {
    mount_tmpfs(host / "disk");
    put(host / "disk/canary", "alive");
    put(upper / "disk/file", "");
    apply();
    expect_refused("disk", "openat2");
    EXPECT_EQ(snapshot(host / "disk").size(), 1u);

    fs::remove_all(upper / "disk");
    make_whiteout(upper / "disk");
    apply();
    expect_refused("disk", "busy");
    EXPECT_EQ(content_of(host / "disk/canary"), "alive");
  });
}

TEST_F(CopyBackTest, FailsOnAFullDiskWithoutLosingTheOldContent) {
  in_private_mounts([&] {
    mount_tmpfs(host, "size=256k");
    put(host / "file", std::string(100'000, 'o'));
    put(host / "directory/inside", "old");
    put(upper / "file", std::string(300'000, 'n'));
    auto report = try_apply();
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().reason, Reason::unavailable);
    EXPECT_NE(report.error().message.find("No space left"), std::string::npos);
    EXPECT_EQ(content_of(host / "file"), std::string(100'000, 'o'));

    fs::remove(upper / "file");
    put(upper / "directory", std::string(300'000, 'n'));
    EXPECT_FALSE(try_apply());
    EXPECT_EQ(content_of(host / "directory/inside"), "old");
    EXPECT_EQ(snapshot(host).size(), 3u) << "a temporary file is left over";
  });
}

// Flips host/sub between a directory and a symlink to `outside` until it is destroyed.
class Swapper {
 public:
  Swapper(fs::path host, fs::path outside) : host_(std::move(host)), outside_(std::move(outside)) {
    reset();
    thread_ = std::thread([this] {
      while (!stop_) {
        const std::lock_guard lock(mutex_);
        for (int flip = 0; flip < 20; ++flip)
          if (::renameat2(AT_FDCWD, (host_ / "sub").c_str(), AT_FDCWD, (host_ / "decoy").c_str(),
                          RENAME_EXCHANGE) == 0)
            ++flips_;
      }
    });
  }
  ~Swapper() {
    stop_ = true;
    thread_.join();
  }
  void reset() {
    const std::lock_guard lock(mutex_);
    for (const char* name : {"sub", "decoy"})
      fs::remove_all(host_ / name);
    fs::create_directory(host_ / "sub");
    fs::create_directory_symlink(outside_, host_ / "decoy");
  }
  [[nodiscard]] std::uint64_t flips() const { return flips_; }

 private:
  const fs::path host_, outside_;
  std::mutex mutex_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> flips_ = 0;
  std::thread thread_;
};

TEST_F(CopyBackTest, IsNotLedOutsideByDirectoriesThatTurnIntoSymlinks) {
  put(upper / "sub/planted", "the tool's");
  put(upper / "sub/deeper/planted", "the tool's");
  make_whiteout(upper / "sub/canary");
  const auto untouched = snapshot(outside);
  Swapper swapper(host, outside);

  // The twin looks before it writes, by path.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (snapshot(outside) == untouched && std::chrono::steady_clock::now() < deadline) {
    for (int attempt = 0; attempt < 1'000; ++attempt)
      if (fs::is_directory(fs::symlink_status(host / "sub")))
        std::ofstream(host / "sub/planted") << "naive";
  }
  ASSERT_NE(snapshot(outside), untouched) << "the twin was not fooled";
  fs::remove(outside / "planted");

  for (int round = 0; round < 500; ++round) {
    swapper.reset();
    apply();
    ASSERT_EQ(snapshot(outside), untouched) << "round " << round;
  }
  EXPECT_GT(swapper.flips(), 1'000u) << "the swapper was too slow to prove anything";
}

}  // namespace
}  // namespace sallyport
