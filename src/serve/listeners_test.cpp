#include "serve/listeners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace sallyport {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Listeners, AreReadFromAddressesAndPaths) {
  const auto v4 = parse_listen("127.0.0.1:8640");
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->address, "127.0.0.1");
  EXPECT_EQ(v4->port, 8640);
  EXPECT_FALSE(v4->v6);
  const auto v6 = parse_listen("[::1]:80");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->address, "::1");
  EXPECT_TRUE(v6->v6);
  EXPECT_EQ(parse_listen("localhost:0")->address, "127.0.0.1");
  EXPECT_EQ(parse_listen("unix:/run/x.sock")->path, "/run/x.sock");
  for (const char* text :
       {"", "8640", ":8640", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
        "127.0.0.1:+1", "127.0.0.1: 1", "example.com:80", "::1:80", "[::1]", "[127.0.0.1]:80",
        "[]:80", "unix:", "unix:x.sock", "unix:/", "unix:/run/../x", "256.0.0.1:80"}) {
    const auto refused = parse_listen(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_FALSE(refused.error().hint.empty());
  }
}

TEST(Listeners, SayWhichPortTheyGot) {
  const FrontUser user{.uid = ::geteuid(), .gid = ::getegid()};
  const auto opened = open_listener(*parse_listen("127.0.0.1:0"), user);
  ASSERT_TRUE(opened);
  EXPECT_THAT(opened->name, StartsWith("127.0.0.1:"));
  EXPECT_NE(opened->name, "127.0.0.1:0");
  const auto again = open_listener(*parse_listen(opened->name), user);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("in use"));
}

class UnixListeners : public testing::Test {
 protected:
  UnixListeners() {
    char name[] = "/tmp/sallyport-test-listen.XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
    path_ = directory_ + "/x.sock";
  }
  ~UnixListeners() override {
    ::unlink(path_.c_str());
    ::rmdir(directory_.c_str());
  }
  [[nodiscard]] Result<Listener> open() const {
    return open_listener({.path = path_}, {.uid = ::geteuid(), .gid = ::getegid()});
  }
  std::string directory_, path_;
};

TEST_F(UnixListeners, AreClosedToOthersAndRemovedAtTheEnd) {
  auto opened = open();
  ASSERT_TRUE(opened);
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0660U);
  remove_listener(*opened);
  EXPECT_NE(::stat(path_.c_str(), &status), 0);
}

TEST_F(UnixListeners, ReplaceASocketOnlyIfNobodyAnswers) {
  auto first = open();
  ASSERT_TRUE(first);
  const auto second = open();
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another program answers"));
  first->socket.reset();  // as after kill -9
  const auto third = open();
  ASSERT_TRUE(third);
  remove_listener(*first);
  struct stat status{};
  EXPECT_EQ(::stat(path_.c_str(), &status), 0) << "it belongs to another by now";
}

TEST_F(UnixListeners, LeaveFilesAlone) {
  std::ofstream(path_) << "a file";
  const auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("is not a socket"));
  struct stat status{};
  EXPECT_EQ(::stat(path_.c_str(), &status), 0);
}

}  // namespace
}  // namespace sallyport
