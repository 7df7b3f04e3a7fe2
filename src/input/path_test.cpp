#include "input/path.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace sallyport {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// data/ is the allowed directory; data-secret/ lies beside it.
class PathTest : public ::testing::Test {
 protected:
  PathTest() {
    std::string pattern = fs::temp_directory_path() / "sallyport-path-XXXXXX";
    top_ = mkdtemp(pattern.data());
    rules_.below = top_ / "data";
    fs::create_directories(top_ / "data/dir/deep");
    fs::create_directories(top_ / "data-secret");
    put("data/file", "inside");
    put("data/dir/deep/file", "deep");
    put("data/.env", "hidden");
    put("data-secret/key", "secret");
  }
  ~PathTest() override { fs::remove_all(top_); }

  void put(const std::string& path, std::string_view text) { std::ofstream(top_ / path) << text; }

  void expect_refused(std::string_view text, PathAccess access, std::string_view message) {
    const auto path = open_confined(rules_, text, access);
    ASSERT_FALSE(path) << text;
    EXPECT_EQ(path.error().reason, Reason::argument) << text;
    EXPECT_THAT(path.error().message, HasSubstr(std::string(message))) << text;
  }

  static std::string contents(const Fd& fd) {
    char buffer[64];
    const ssize_t count = read(fd.get(), buffer, sizeof buffer);
    return count < 0 ? std::string(strerror(errno))
                     : std::string(buffer, static_cast<size_t>(count));
  }

  fs::path top_;
  PathRules rules_;
};

TEST_F(PathTest, RefusesTextThatLeadsOutOrIsNotOnePlainPath) {
  using namespace std::string_view_literals;
  struct Case {
    std::string text;
    std::string_view message;
  };
  const Case cases[] = {
      {"", "is empty"},
      {"..", "\"..\""},
      {"../data-secret/key", "\"..\""},
      {"dir/../../data-secret/key", "\"..\""},
      {"dir/..", "\"..\""},
      {"./file", "\"..\""},
      {"dir/./deep", "\"..\""},
      {"dir//deep", "\"..\""},
      {"dir/", "\"..\""},
      {"./.", "\"..\""},
      {"/etc/passwd", "outside"},
      {"/", "outside"},
      {"//etc/passwd", "outside"},
      {"/proc/self/root/etc/passwd", "outside"},
      {(top_ / "data-secret/key").string(), "outside"},
      {(top_ / "datax").string(), "outside"},
      {(top_ / "dat").string(), "outside"},
      {(top_ / "data").string() + "/../data-secret/key", "\"..\""},
      {(top_ / "data").string() + "/", "\"..\""},
      {(top_ / "data").string() + "//etc/passwd", "\"..\""},
      {std::string("file\0.txt"sv), "a NUL"},
      {"fi\nle", "a line break"},
      {"fi\tle", "a control character"},
      {"\x1B[2J", "a control character"},
      {"\xC0\xAE\xC0\xAE/x", "not UTF-8"},
      {"\xE2\x80\xAEtxt.exe", "bidirectional"},
      {std::string(4096, 'a'), "too long"},
      {std::string(256, 'a'), "more than 255 bytes"},
  };
  for (const Case& c : cases) {
    expect_refused(c.text, PathAccess::read, c.message);
    expect_refused(c.text, PathAccess::inspect, c.message);
  }
  // Nothing is expanded or decoded: these are names, and no files have them.
  for (const char* text : {"~", "$HOME", "%2e%2e/data-secret/key", "..\\data-secret", "*", "．．"})
    expect_refused(text, PathAccess::read, "does not exist");
}

TEST_F(PathTest, FollowsNoLinkAnywhere) {
  fs::create_symlink(top_ / "data-secret/key", top_ / "data/leaf");
  fs::create_symlink(top_ / "data-secret", top_ / "data/middle");
  fs::create_symlink("file", top_ / "data/harmless");
  fs::create_symlink("/nowhere", top_ / "data/dangling");
  fs::create_symlink("/proc/self/root", top_ / "data/magic");
  for (const PathAccess access :
       {PathAccess::read, PathAccess::write, PathAccess::list, PathAccess::inspect}) {
    for (const char* link : {"leaf", "harmless", "dangling", "middle", "magic"})
      expect_refused(link, access, "is a symbolic link");
    expect_refused("middle/key", access, "is a symbolic link, not a directory");
    expect_refused("magic/etc/passwd", access, "is a symbolic link, not a directory");
  }
  // Not even where a new file is to be made.
  rules_.must_exist = false;
  expect_refused("dangling", PathAccess::write, "is a symbolic link");
  expect_refused("middle/new", PathAccess::write, "is a symbolic link");
}

TEST_F(PathTest, OpensNeitherPipesNorSocketsNorDevices) {
  ASSERT_EQ(mkfifo((top_ / "data/fifo").c_str(), 0600), 0);
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX};
  const std::string socket_path = top_ / "data/socket";
  ASSERT_LT(socket_path.size(), sizeof address.sun_path);
  std::strcpy(address.sun_path, socket_path.c_str());
  ASSERT_EQ(bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  for (const PathAccess access : {PathAccess::read, PathAccess::write, PathAccess::inspect}) {
    expect_refused("fifo", access, "is a FIFO");  // and does not wait for a writer
    expect_refused("socket", access, "is a socket");
  }
  rules_.below = "/dev";
  expect_refused("zero", PathAccess::read, "is a device");
  expect_refused("null", PathAccess::write, "is a device");
}

TEST_F(PathTest, RefusesFilesWithASecondName) {
  fs::create_hard_link(top_ / "data-secret/key", top_ / "data/linked");
  expect_refused("linked", PathAccess::read, "several names");
  expect_refused("linked", PathAccess::write, "several names");
  rules_.read_hard_links = true;
  EXPECT_TRUE(open_confined(rules_, "linked", PathAccess::read));
  expect_refused("linked", PathAccess::write, "several names");
}

TEST_F(PathTest, HidesHiddenNamesIfTheRuleSaysSo) {
  EXPECT_TRUE(open_confined(rules_, ".env", PathAccess::read));
  rules_.allow_hidden = false;
  expect_refused(".env", PathAccess::read, "hidden name");
  expect_refused("dir/.git/config", PathAccess::write, "hidden name");
  EXPECT_TRUE(open_confined(rules_, ".", PathAccess::list));
}

TEST_F(PathTest, TellsFilesFromDirectories) {
  expect_refused("dir", PathAccess::read, "is a directory");
  expect_refused("dir", PathAccess::write, "is a directory");
  expect_refused(".", PathAccess::read, "is a directory");
  expect_refused("file", PathAccess::list, "is a regular file");
  expect_refused("file/x", PathAccess::read, "not a directory");
  expect_refused("missing/x", PathAccess::read, "does not exist");
}

TEST_F(PathTest, OpensWhatLiesBelow) {
  const auto file = open_confined(rules_, "dir/deep/file", PathAccess::read);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(contents(file->fd), "deep");
  EXPECT_EQ(file->relative, "dir/deep/file");
  EXPECT_EQ(file->name, "file");

  const auto absolute = open_confined(rules_, (top_ / "data/file").string(), PathAccess::read);
  ASSERT_TRUE(absolute) << absolute.error().message;
  EXPECT_EQ(absolute->relative, "file");
  EXPECT_EQ(contents(absolute->fd), "inside");

  for (const std::string& text : {std::string("."), (top_ / "data").string()}) {
    const auto base = open_confined(rules_, text, PathAccess::list);
    ASSERT_TRUE(base) << base.error().message;
    EXPECT_EQ(base->relative, ".");
  }
  rules_.below += "/";
  EXPECT_TRUE(open_confined(rules_, (top_ / "data/file").string(), PathAccess::inspect));

  const Fd directory(open((top_ / "data/dir").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(open_confined(directory.get(), PathRules{}, "deep/file", PathAccess::read));
  EXPECT_FALSE(open_confined(directory.get(), PathRules{}, "/etc/passwd", PathAccess::read));
}

TEST_F(PathTest, CreatesOnlyWhereNothingIs) {
  expect_refused("dir/new", PathAccess::write, "does not exist");
  rules_.must_exist = false;
  const auto path = open_confined(rules_, "dir/new", PathAccess::write);
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_FALSE(path->fd);
  EXPECT_FALSE(fs::exists(top_ / "data/dir/new")) << "asking creates nothing";
  expect_refused("missing/new", PathAccess::write, "does not exist");

  // A link that takes the place meanwhile is not followed.
  fs::create_symlink(top_ / "data-secret/made", top_ / "data/dir/new");
  EXPECT_FALSE(create_file(*path));
  EXPECT_FALSE(fs::exists(top_ / "data-secret/made"));
  fs::remove(top_ / "data/dir/new");

  const auto file = create_file(*path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(write(file->get(), "new", 3), 3);
  EXPECT_FALSE(create_file(*path));
  EXPECT_TRUE(open_confined(rules_, "dir/new", PathAccess::write)->fd);
}

// A tool in another process swaps a directory for a link to the outside, as fast as it can.
TEST_F(PathTest, IsNeverOnceOutsideWhileADirectoryAndALinkChangePlaces) {
  fs::create_directories(top_ / "data/swap");
  put("data/swap/key", "inside");
  fs::create_symlink(top_ / "data-secret", top_ / "data/other");
  std::atomic<bool> done = false;
  const std::string a = top_ / "data/swap", b = top_ / "data/other";
  std::thread swapper([&] {
    while (!done)
      syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
  });
  int opened = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto path = open_confined(rules_, "swap/key", PathAccess::read);
    if (!path) {
      ++refused;
      continue;
    }
    ++opened;
    ASSERT_EQ(contents(path->fd), "inside");
  }
  done = true;
  swapper.join();
  EXPECT_GT(opened, 0);
  EXPECT_GT(refused, 0);
}

// The same with the file itself.
TEST_F(PathTest, IsNeverOnceOutsideWhileAFileAndALinkChangePlaces) {
  put("data/key", "inside");
  fs::create_symlink(top_ / "data-secret/key", top_ / "data/other");
  std::atomic<bool> done = false;
  const std::string a = top_ / "data/key", b = top_ / "data/other";
  std::thread swapper([&] {
    while (!done)
      syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
  });
  int opened = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto path = open_confined(rules_, "key", PathAccess::read);
    path ? ++opened : ++refused;
    if (path) ASSERT_EQ(contents(path->fd), "inside");
  }
  done = true;
  swapper.join();
  EXPECT_GT(opened, 0);
  EXPECT_GT(refused, 0);
}

TEST(RelativePath, NeedsNoFileToBeChecked) {
  const PathRules rules{.below = "/data"};
  EXPECT_EQ(*parse_relative_path("/data/a/b.txt", rules), "a/b.txt");
  EXPECT_EQ(*parse_relative_path("a/b.txt", rules), "a/b.txt");
  EXPECT_EQ(*parse_relative_path("/data", rules), ".");
  EXPECT_FALSE(parse_relative_path("/data-secret/key", rules));
  EXPECT_FALSE(parse_relative_path("/database", rules));
  EXPECT_EQ(*parse_relative_path("/etc/passwd", PathRules{.below = "/"}), "etc/passwd");
  EXPECT_EQ(*parse_relative_path("/", PathRules{.below = "/"}), ".");
  EXPECT_FALSE(parse_relative_path("/etc", PathRules{}));
}

}  // namespace
}  // namespace sallyport
