#include "serve/checked_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sallyport {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// Run by root: a front that is somebody else must not be able to choose its own ceiling.
class CheckedPolicyFile : public testing::Test {
 protected:
  CheckedPolicyFile() {
    std::string name = "/var/tmp/sallyport-policy-XXXXXX";
    path_ = ::mkdtemp(name.data());
    fs::permissions(path_, fs::perms{0755});
    fs::create_directories(path_ / "above/below");
    file_ = path_ / "above/below/policy.yaml";
    std::ofstream(file_) << "version: 1\ntools: {}\n";
  }
  ~CheckedPolicyFile() override { fs::remove_all(path_); }

  static constexpr FrontUser kFront{.uid = kFrontUid, .gid = kFrontUid, .changes = true};
  fs::path path_, file_;
};

TEST_F(CheckedPolicyFile, IsReadWhereTheFrontCannotTouchIt) {
  EXPECT_TRUE(read_checked_policy(file_, kFront));
}

TEST_F(CheckedPolicyFile, IsRefusedWhereTheFrontCouldWriteIt) {
  ASSERT_EQ(::chown(file_.c_str(), kFrontUid, kFrontUid), 0);
  const auto refused = read_checked_policy(file_, kFront);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), ElementsAre(HasSubstr("could write to it")));
}

TEST_F(CheckedPolicyFile, IsRefusedWhereTheFrontCouldPutAnotherInItsPlace) {
  for (const fs::path& directory : {path_ / "above/below", path_ / "above", path_}) {
    ASSERT_EQ(::chown(directory.c_str(), kFrontUid, kFrontUid), 0);
    const auto refused = read_checked_policy(file_, kFront);
    ASSERT_FALSE(refused) << directory;
    EXPECT_THAT(refused.error(), ElementsAre(HasSubstr("could replace it")));
    ASSERT_EQ(::chown(directory.c_str(), 0, 0), 0);
  }
}

// The file that a link leads to is what counts, not the place of the link.
TEST_F(CheckedPolicyFile, IsRefusedThroughALinkIntoADirectoryOfTheFront) {
  fs::create_symlink(file_, path_ / "link.yaml");
  EXPECT_TRUE(read_checked_policy(path_ / "link.yaml", kFront));
  ASSERT_EQ(::chown((path_ / "above").c_str(), kFrontUid, kFrontUid), 0);
  EXPECT_FALSE(read_checked_policy(path_ / "link.yaml", kFront));
}

}  // namespace
}  // namespace sallyport
