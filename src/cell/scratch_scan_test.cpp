#include "cell/scratch_scan.h"

#include <gtest/gtest.h>

#include "cell/export_fixture.h"

namespace sallyport {
namespace {

class ScratchScanTest : public testing::Test {
 protected:
  bool finds(ByteSize size) const { return has_file_of_size(open_dir(tree.path()).get(), size); }

  TempTree tree;
};

TEST_F(ScratchScanTest, FindsAFileThatIsAsLargeAsTheLimit) {
  put(tree / "small", "12");
  put(tree / "stopped", "123");
  put(tree / "input", "12345");
  EXPECT_TRUE(finds(3_B));
  EXPECT_FALSE(finds(4_B));
}

TEST_F(ScratchScanTest, LooksBelowDirectoriesAlsoAfterLeavingOne) {
  put(tree / "a/b/c", "1");
  put(tree / "d/e", "12345");
  put(tree / "f/g/h", "1");
  EXPECT_TRUE(finds(5_B));
  EXPECT_FALSE(finds(6_B));
}

TEST_F(ScratchScanTest, CountsRegularFilesOnly) {
  TempTree outside;
  put(outside / "large", std::string(1000, 'x'));
  fs::create_symlink(outside / "large", tree / "file");
  fs::create_symlink(outside.path(), tree / "directory");
  fs::create_symlink(std::string(1000, 'x').insert(500, "/"), tree / "a long target");
  EXPECT_FALSE(finds(1000_B));
  EXPECT_FALSE(finds(1001_B));
  EXPECT_FALSE(finds({static_cast<std::uint64_t>(stat_of(tree.path()).st_size)}));
  EXPECT_TRUE(has_file_of_size(open_dir(outside.path()).get(), 1000_B)) << "the twin";
}

TEST_F(ScratchScanTest, DoesNotCrossAMount) {
  in_private_mounts([&] {
    mount_tmpfs(tree / "mount");
    put(tree / "mount/large", "1234567890");
    EXPECT_FALSE(finds(10_B));
    put(tree / "large", "1234567890");
    EXPECT_TRUE(finds(10_B));
  });
}

TEST_F(ScratchScanTest, LeavesOutWhatIsTooDeepAndGoesOnBesideIt) {
  make_deep(tree / "deep", 300, "leaf");  // of 0 bytes
  in_child([&] {
    allow_few_descriptors();
    EXPECT_FALSE(finds(0_B));
    put(tree / "beside", "1");
    EXPECT_TRUE(finds(1_B));
  });
}

TEST_F(ScratchScanTest, AnswersNoWhereThereIsNothingToLookAt) {
  EXPECT_FALSE(finds(1_B));
  EXPECT_FALSE(has_file_of_size(-1, 1_B));
}

}  // namespace
}  // namespace sallyport
