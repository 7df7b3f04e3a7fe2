#include "cell/collect.h"

#include <chrono>
#include <future>

#include "cell/export_fixture.h"

namespace sallyport {
namespace {

constexpr CollectLimits kPlenty{.max_files = 1'000, .max_bytes = 1 << 30};

// A workspace full of the tool's ideas, the destination that the user named, and a file that is
// neither's business.
class Collect : public testing::Test {
 protected:
  Collect() {
    fs::create_directory(workspace);
    fs::create_directory(destination);
    put(secret, "the secret");
  }

  Result<std::vector<Artifact>> try_collect(const std::vector<std::string>& globs,
                                            const CollectLimits& limits = kPlenty) {
    findings.clear();
    return collect_outputs(open_dir(workspace).get(), globs, open_dir(destination).get(), limits,
                           findings);
  }

  std::vector<std::string> collect(const std::vector<std::string>& globs,
                                   const CollectLimits& limits = kPlenty) {
    auto artifacts = try_collect(globs, limits);
    std::vector<std::string> names;
    if (!artifacts) {
      ADD_FAILURE() << artifacts.error().message;
      return names;
    }
    for (const Artifact& artifact : *artifacts) {
      EXPECT_EQ(artifact.size, fs::file_size(destination / artifact.name));
      names.push_back(artifact.name);
    }
    return names;
  }

  // What must hold after every attack: nothing arrived, and the reason is told.
  void expect_kept_out(const std::string& path, const std::string& why) {
    EXPECT_TRUE(snapshot(destination).empty());
    const Finding* finding = finding_about(findings, path);
    ASSERT_NE(finding, nullptr) << "no finding about " << path;
    EXPECT_EQ(finding->kind, "not_exported");
    EXPECT_NE(finding->why.find(why), std::string::npos) << finding->why;
  }

  TempTree tree;
  const fs::path workspace = tree / "workspace";
  const fs::path destination = tree / "destination";
  const fs::path secret = tree / "secret";
  std::vector<Finding> findings;
};

using Names = std::vector<std::string>;

TEST_F(Collect, CopiesMatchingFilesToTheSameRelativePath) {
  put(workspace / "report.txt", "hello");
  put(workspace / "plots/2024/a.png", "png");
  put(workspace / "plots/notes.md", "no");
  put(workspace / "empty.txt", "");
  EXPECT_EQ(collect({"*.txt", "plots/**/*.png", "r*"}),
            (Names{"empty.txt", "plots/2024/a.png", "report.txt"}));
  EXPECT_EQ(content_of(destination / "report.txt"), "hello");
  EXPECT_EQ(content_of(destination / "plots/2024/a.png"), "png");
  EXPECT_EQ(snapshot(destination).size(), 5u);
  EXPECT_TRUE(findings.empty());
}

TEST_F(Collect, GivesFilesPlainModes) {
  put(workspace / "data", "", 0600);
  put(workspace / "open", "", 0666);
  put(workspace / "program", "", 0700);
  put(workspace / "root_shell", "", 06755);
  collect({"*"});
  EXPECT_EQ(mode_of(destination / "data"), 0644u);
  EXPECT_EQ(mode_of(destination / "open"), 0644u);
  EXPECT_EQ(mode_of(destination / "program"), 0755u);
  EXPECT_EQ(mode_of(destination / "root_shell"), 0755u);
}

TEST_F(Collect, ReplacesAnOlderFileOfTheSameName) {
  put(workspace / "out", "new");
  put(destination / "out", "old and longer", 0600);
  EXPECT_EQ(collect({"out"}), Names{"out"});
  EXPECT_EQ(content_of(destination / "out"), "new");
  EXPECT_EQ(snapshot(destination).size(), 1u) << "a temporary file is left over";
}

TEST_F(Collect, NamesGlobsThatMatchNothing) {
  put(workspace / "results/a", "");
  EXPECT_EQ(collect({"*.csv", "results"}), Names{});
  expect_kept_out("*.csv", "no file matches");
  expect_kept_out("results", "add /**");
}

TEST_F(Collect, CopiesNothingWhenAGlobIsMalformed) {
  put(workspace / "a", "");
  const auto artifacts = try_collect({"a", "../secret"});
  ASSERT_FALSE(artifacts);
  EXPECT_EQ(artifacts.error().reason, Reason::argument);
  EXPECT_TRUE(snapshot(destination).empty());
}

TEST_F(Collect, StopsAtTheLimitOfFiles) {
  for (const char* name : {"a", "b", "c"})
    put(workspace / name, "1");
  EXPECT_EQ(collect({"*"}, {.max_files = 2, .max_bytes = 100}).size(), 2u);
  EXPECT_EQ(findings.size(), 1u);
}

TEST_F(Collect, LeavesOutWhatGoesBeyondTheLimitOfBytes) {
  put(workspace / "big", std::string(101, 'x'));
  put(workspace / "fits", std::string(100, 'x'));
  EXPECT_EQ(collect({"*"}, {.max_files = 10, .max_bytes = 100}), Names{"fits"});
  ASSERT_NE(finding_about(findings, "big"), nullptr);

  // A hole counts in full, as it does for whoever reads the file.
  ASSERT_EQ(::truncate((workspace / "big").c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(collect({"big"}, {.max_files = 10, .max_bytes = 1 << 30}), Names{});
}

TEST_F(Collect, DoesNotFollowASymlinkToASecret) {
  fs::create_symlink(secret, workspace / "out.txt");
  fs::copy_file(workspace / "out.txt", tree / "naive");
  EXPECT_EQ(content_of(tree / "naive"), "the secret") << "the twin was not fooled";

  EXPECT_EQ(collect({"*.txt"}), Names{});
  expect_kept_out("out.txt", "a symbolic link");
}

// A glob for everything must not plant what the next git or shell in that directory runs.
TEST_F(Collect, DoesNotExportProtectedNames) {
  put(workspace / ".git/hooks/post-checkout", "evil");
  put(workspace / ".envrc", "evil");
  put(workspace / "a/.Cursor/rules", "evil");
  EXPECT_EQ(collect({"**"}), Names{});
  for (const char* path : {".git/hooks/post-checkout", ".envrc", "a/.Cursor/rules"})
    expect_kept_out(path, "protected");
  put(workspace / ".hidden", "plain");
  EXPECT_EQ(collect({"**"}), Names{".hidden"}) << "the twin";
}

TEST_F(Collect, DoesNotEnterASymlinkedDirectory) {
  fs::create_directory_symlink(tree.path(), workspace / "out");
  fs::copy_file(workspace / "out/secret", tree / "naive");
  EXPECT_EQ(content_of(tree / "naive"), "the secret") << "the twin was not fooled";

  EXPECT_EQ(collect({"out/*", "out/**", "out/secret"}), Names{});
  expect_kept_out("out/secret", "no file matches");
}

TEST_F(Collect, DoesNotExportAHardLinkToAnOutsideFile) {
  fs::create_hard_link(secret, workspace / "out.txt");
  fs::copy_file(workspace / "out.txt", tree / "naive");
  EXPECT_EQ(content_of(tree / "naive"), "the secret") << "the twin was not fooled";

  EXPECT_EQ(collect({"*.txt"}), Names{});
  expect_kept_out("out.txt", "hard link");
}

TEST_F(Collect, DoesNotWaitForAFifo) {
  ASSERT_EQ(::mkfifo((workspace / "out.txt").c_str(), 0644), 0);
  auto naive = std::async(std::launch::async, [&] { return content_of(workspace / "out.txt"); });
  EXPECT_EQ(naive.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout)
      << "the twin did not hang";
  Fd writer(::open((workspace / "out.txt").c_str(), O_WRONLY | O_CLOEXEC));
  writer.reset();
  naive.wait();

  EXPECT_EQ(collect({"*.txt"}), Names{});
  expect_kept_out("out.txt", "a FIFO");
}

TEST_F(Collect, DoesNotReadADevice) {
  in_private_mounts([&] {
    mount_tmpfs(workspace);
    ASSERT_EQ(::mknod((workspace / "out.txt").c_str(), S_IFCHR | 0666, makedev(1, 5)), 0);
    std::vector<char> zeros(1 << 20);
    std::ifstream naive(workspace / "out.txt", std::ios::binary);
    EXPECT_TRUE(naive.read(zeros.data(), 1 << 20)) << "the twin was not fooled";

    EXPECT_EQ(collect({"*.txt"}), Names{});
    expect_kept_out("out.txt", "a device");
  });
}

TEST_F(Collect, EndsInATreeOfTenThousandLevels) {
  in_private_mounts([&] {
    mount_tmpfs(workspace);
    make_deep(workspace / "top", 10'000, "leaf.txt");
    put(workspace / "near.txt", "");
    allow_few_descriptors();
    std::error_code error;
    for (fs::recursive_directory_iterator entry(workspace, error), end; !error && entry != end;)
      entry.increment(error);
    EXPECT_TRUE(error) << "a plain recursive walk was expected to fail";

    EXPECT_EQ(collect({"**/*.txt"}), Names{"near.txt"});
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].why, "the directory is too deep");
  });
}

TEST_F(Collect, LeavesOutNamesThatAreNotPlainText) {
  put(workspace / "other", "not asked for");
  put(workspace / "x\nother", "asked for");
  // The twin: names as lines, as a shell script has them.
  const std::string script = "cd '" + workspace.string() +
                             "' && ls -d x* | while read f; do cp \"$f\" ../naive; done 2>&-";
  (void)!std::system(script.c_str());
  EXPECT_EQ(content_of(tree / "naive"), "not asked for") << "the twin was not fooled";

  put(workspace / "x\x1b]0;title\x07", "");
  put(workspace / "x\xff\xfe", "");
  put(workspace / "x\u202Etxt.exe", "");
  put(workspace /
          "x\x01"
          "dir/file",
      "");
  EXPECT_EQ(collect({"x*", "x*/*"}), Names{});
  EXPECT_TRUE(snapshot(destination).empty());
  for (const char* shown :
       {"x\\nother", "x\\x1b]0;title\\x07", "x\\xff\\xfe", "x\\u{202e}txt.exe", "x\\x01dir"})
    EXPECT_NE(finding_about(findings, shown), nullptr) << shown;
}

TEST_F(Collect, TakesOddButPlainNamesAsTheyAre) {
  for (const char* name : {"-rf", "--output=x", "a b", "$(id)", "~", "naïve", "..."})
    put(workspace / name, name);
  EXPECT_EQ(collect({"*"}).size(), 7u);
  EXPECT_EQ(content_of(destination / "-rf"), "-rf");
  EXPECT_EQ(content_of(destination / "$(id)"), "$(id)");
}

TEST_F(Collect, DoesNotWriteThroughASymlinkInTheDestination) {
  put(workspace / "sub/file", "the tool's");
  put(workspace / "out.txt", "the tool's");
  fs::create_directory(tree / "elsewhere");
  fs::create_directory_symlink(tree / "elsewhere", destination / "sub");
  fs::create_symlink(secret, destination / "out.txt");
  fs::copy_file(workspace / "sub/file", destination / "sub/file");
  EXPECT_TRUE(fs::exists(tree / "elsewhere/file")) << "the twin was not fooled";
  fs::remove(tree / "elsewhere/file");

  EXPECT_EQ(collect({"**"}), Names{"out.txt"});
  EXPECT_TRUE(fs::is_empty(tree / "elsewhere"));
  EXPECT_NE(finding_about(findings, "sub/file"), nullptr);
  EXPECT_EQ(content_of(secret), "the secret");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(destination / "out.txt")));
}

TEST_F(Collect, SaysSoWhenADirectoryIsInTheWay) {
  put(workspace / "out", "");
  put(destination / "out/precious", "kept");
  EXPECT_EQ(collect({"out"}), Names{});
  EXPECT_NE(finding_about(findings, "out"), nullptr);
  EXPECT_EQ(content_of(destination / "out/precious"), "kept");
}

TEST_F(Collect, GivesTheFilesToTheOwnerOfTheDestination) {
  ASSERT_EQ(::geteuid(), 0u) << "this test acts for another user and needs root";
  put(workspace / "sub/private", "x", 0600);
  ASSERT_EQ(::chown((workspace / "sub/private").c_str(), 0x70000001, 0x70000001), 0);
  ASSERT_EQ(::chmod(tree.path().c_str(), 0755), 0);
  ASSERT_EQ(::chown(destination.c_str(), 4242, 4343), 0);
  EXPECT_EQ(collect({"**"}), Names{"sub/private"});
  for (const char* name : {"sub", "sub/private"}) {
    EXPECT_EQ(stat_of(destination / name).st_uid, 4242u) << name;
    EXPECT_EQ(stat_of(destination / name).st_gid, 4343u) << name;
  }
  put(tree / "still_root", "");
  EXPECT_EQ(stat_of(tree / "still_root").st_uid, 0u);
}

TEST_F(Collect, HasNoMoreRightsInTheDestinationThanItsOwner) {
  ASSERT_EQ(::geteuid(), 0u) << "this test acts for another user and needs root";
  put(workspace / "sealed/file", "the tool's");
  fs::create_directory(destination / "sealed");
  ASSERT_EQ(::chown(destination.c_str(), 4242, 4242), 0);
  fs::copy_file(workspace / "sealed/file", destination / "sealed/file");
  EXPECT_EQ(content_of(destination / "sealed/file"), "the tool's") << "the twin, as root";
  fs::remove(destination / "sealed/file");

  EXPECT_EQ(collect({"**"}), Names{});
  EXPECT_TRUE(fs::is_empty(destination / "sealed"));
  EXPECT_NE(finding_about(findings, "sealed/file"), nullptr);
}

TEST_F(Collect, WorksForAnOrdinaryUser) {
  ASSERT_EQ(::geteuid(), 0u) << "this test becomes another user and needs root";
  put(workspace / "sub/mine", "x");
  put(workspace / "sub/closed", "x", 0);
  for (const fs::path& path : {tree.path(), destination})
    ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  in_child([&] {
    ASSERT_EQ(::setgid(65534), 0);
    ASSERT_EQ(::setuid(65534), 0);
    EXPECT_EQ(collect({"**"}), Names{"sub/mine"});
    EXPECT_NE(finding_about(findings, "sub/closed"), nullptr);
  });
  EXPECT_EQ(stat_of(destination / "sub/mine").st_uid, 65534u);
}

TEST_F(Collect, ListsAHundredFindingsAtMost) {
  for (int number = 0; number < 1'000; ++number)
    ASSERT_EQ(::mkfifo((workspace / std::to_string(number)).c_str(), 0600), 0);
  collect({"*"});
  ASSERT_EQ(findings.size(), 101u);
  EXPECT_EQ(findings.back().why, "and 900 more");
}

TEST_F(Collect, FailsOnAFullDiskAndLeavesNoHalfFile) {
  in_private_mounts([&] {
    mount_tmpfs(destination, "size=64k");
    put(workspace / "big", std::string(200'000, 'x'));
    const auto artifacts = try_collect({"*"});
    ASSERT_FALSE(artifacts);
    EXPECT_EQ(artifacts.error().reason, Reason::unavailable);
    EXPECT_NE(artifacts.error().message.find("No space left"), std::string::npos);
    EXPECT_TRUE(snapshot(destination).empty());
  });
}

}  // namespace
}  // namespace sallyport
