#include "access/state_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

namespace sallyport {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Sets a variable, or takes it away, for the time of a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Variable() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

class StateDirectory : public testing::Test {
 protected:
  StateDirectory() {
    std::string name = fs::temp_directory_path() / "sallyport-state-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~StateDirectory() override { fs::remove_all(path_); }
  fs::path path_;
};

TEST_F(StateDirectory, IsMadeForItsUserAlone) {
  const fs::path path = path_ / "state";
  const auto directory = open_state_directory(path);
  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_EQ(fs::status(path).permissions(), fs::perms{0700});
  struct stat opened{}, named{};
  ASSERT_EQ(::fstat(directory->get(), &opened), 0);
  ASSERT_EQ(::stat(path.c_str(), &named), 0);
  EXPECT_EQ(opened.st_ino, named.st_ino);
  EXPECT_NE(::fcntl(directory->get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_TRUE(open_state_directory(path.string() + "//")) << "a second time, and behind slashes";
}

TEST_F(StateDirectory, IsNotMadeWithAllThatIsMissingAboveIt) {
  const auto directory = open_state_directory(path_ / "a/b");
  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().hint, HasSubstr("directory above"));
}

TEST_F(StateDirectory, IsInTheUsersHomeUnlessNamed) {
  {
    const Variable state("XDG_STATE_HOME", (path_ / "xdg/state").c_str());
    EXPECT_TRUE(open_state_directory(""));
    EXPECT_TRUE(fs::is_directory(path_ / "xdg/state/sallyport"));
  }
  const Variable state("XDG_STATE_HOME", "relative");  // which the convention says to ignore
  const Variable home("HOME", path_.c_str());
  EXPECT_TRUE(open_state_directory(""));
  EXPECT_TRUE(fs::is_directory(path_ / ".local/state/sallyport"));
}

TEST_F(StateDirectory, IsARefusalWithoutAHome) {
  const Variable state("XDG_STATE_HOME", nullptr);
  const Variable home("HOME", nullptr);
  const auto path = private_state_directory();
  if (::geteuid() == 0) {
    ASSERT_TRUE(path);
    EXPECT_EQ(*path, "/var/lib/sallyport");
  } else {
    ASSERT_FALSE(path);
    EXPECT_THAT(path.error().hint, HasSubstr("--state"));
  }
}

TEST_F(StateDirectory, IsNotALink) {
  fs::create_directory(path_ / "real");
  fs::permissions(path_ / "real", fs::perms{0700});
  fs::create_directory_symlink(path_ / "real", path_ / "link");
  for (const char* name : {"link", "link/", "link//"}) {
    const auto directory = open_state_directory(path_.string() + "/" + name);
    ASSERT_FALSE(directory) << name;
    EXPECT_EQ(directory.error().reason, Reason::unavailable);
    EXPECT_THAT(directory.error().message, HasSubstr("symbolic link"));
  }
  fs::create_directory_symlink(path_ / "nowhere", path_ / "dangling");
  EXPECT_FALSE(open_state_directory(path_ / "dangling"));
  EXPECT_FALSE(fs::exists(path_ / "nowhere"));
}

TEST_F(StateDirectory, IsWritableByNobodyElse) {
  const fs::path path = path_ / "state";
  fs::create_directory(path);
  for (const unsigned mode : {0770U, 0702U, 0777U, 01777U}) {
    fs::permissions(path, fs::perms{mode});
    const auto directory = open_state_directory(path);
    ASSERT_FALSE(directory) << mode;
    EXPECT_THAT(directory.error().message, HasSubstr("others may write"));
  }
  fs::permissions(path, fs::perms{0755});
  EXPECT_TRUE(open_state_directory(path));
}

TEST_F(StateDirectory, BelongsToItsUser) {
  std::string foreign = "/";  // root's, which an ordinary user finds here; root has to make one
  if (::geteuid() == 0) {
    foreign = path_ / "foreign";
    fs::create_directory(foreign);
    fs::permissions(foreign, fs::perms{0700});
    ASSERT_EQ(::chown(foreign.c_str(), 12345, 12345), 0);
  }
  const auto directory = open_state_directory(foreign);
  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().message, HasSubstr("belongs to another user"));
}

TEST_F(StateDirectory, IsADirectory) {
  ASSERT_TRUE(Fd(::open((path_ / "file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)).valid());
  EXPECT_FALSE(open_state_directory(path_ / "file"));
  EXPECT_FALSE(open_state_directory(path_ / "file" / "below"));
  EXPECT_FALSE(open_state_directory(std::string("a\0b", 3)));
}

}  // namespace
}  // namespace sallyport
