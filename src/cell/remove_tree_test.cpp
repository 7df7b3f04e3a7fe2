#include "cell/remove_tree.h"

#include "cell/export_fixture.h"

namespace sallyport {
namespace {

std::uint64_t remove_from(const fs::path& parent, const char* name) {
  std::uint64_t removed = 0;
  const auto done = remove_tree(open_dir(parent).get(), name, removed);
  EXPECT_TRUE(done) << describe(done.error());
  return removed;
}

TEST(RemoveTree, CountsWhatItDeletes) {
  TempTree tree;
  put(tree / "top/a/b/file", "1");
  put(tree / "top/a/c", "2");
  put(tree / "beside", "3");
  EXPECT_EQ(remove_from(tree.path(), "top"), 5u);
  EXPECT_FALSE(fs::exists(tree / "top"));
  EXPECT_EQ(content_of(tree / "beside"), "3");
  EXPECT_EQ(remove_from(tree.path(), "top"), 0u) << "what is not there is no error";
}

TEST(RemoveTree, DeletesSymlinksAndNotWhatTheyPointTo) {
  TempTree tree;
  put(tree / "outside/canary", "alive");
  fs::create_directories(tree / "top");
  fs::create_directory_symlink(tree / "outside", tree / "top/way_out");
  fs::create_symlink(tree / "outside/canary", tree / "top/file");
  // The twin: the same path, followed.
  EXPECT_TRUE(fs::exists(tree / "top/way_out/canary"));

  EXPECT_EQ(remove_from(tree.path(), "top"), 3u);
  EXPECT_EQ(content_of(tree / "outside/canary"), "alive");

  fs::create_directory_symlink(tree / "outside", tree / "link");
  EXPECT_EQ(remove_from(tree.path(), "link"), 1u);
  EXPECT_EQ(content_of(tree / "outside/canary"), "alive");
}

TEST(RemoveTree, DeletesTenThousandLevelsWithFewDescriptors) {
  TempTree tree;
  in_private_mounts([&] {
    mount_tmpfs(tree.path());
    make_deep(tree / "top", 10'000, "leaf");
    allow_few_descriptors();
    std::error_code error;
    fs::remove_all(tree / "top", error);
    EXPECT_TRUE(error) << "a plain recursive delete was expected to fail";

    EXPECT_EQ(remove_from(tree.path(), "top"), 10'002u);
    EXPECT_FALSE(fs::exists(tree / "top"));
  });
}

TEST(RemoveTree, DeletesManyEntriesWithAnyName) {
  TempTree tree;
  for (int number = 0; number < 2'000; ++number)
    put(tree / ("top/" + std::to_string(number)), "");
  for (const char* name : {"-rf", "new\nline", "\xff\xfe", "*", " "})
    put(tree / "top" / name, "");
  EXPECT_EQ(remove_from(tree.path(), "top"), 2'006u);
}

TEST(RemoveTree, DeletesReadOnlyDirectoriesOfAnOrdinaryUser) {
  ASSERT_EQ(::geteuid(), 0u) << "this test becomes another user and needs root";
  TempTree tree;
  put(tree / "top/modules/read_only/file", "");
  for (const char* path : {"", "top", "top/modules", "top/modules/read_only"})
    ASSERT_EQ(::chown((tree / path).c_str(), 65534, 65534), 0);
  ASSERT_EQ(::chmod((tree / "top/modules/read_only").c_str(), 0555), 0);
  ASSERT_EQ(::chmod((tree / "top/modules").c_str(), 0555), 0);
  in_child([&] {
    ASSERT_EQ(::setuid(65534), 0);
    EXPECT_EQ(remove_from(tree.path(), "top"), 4u);
  });
  EXPECT_FALSE(fs::exists(tree / "top"));
}

TEST(RemoveTree, StopsAtAMountPoint) {
  TempTree tree;
  in_private_mounts([&] {
    fs::create_directories(tree / "top/below");
    mount_tmpfs(tree / "top/below/disk");
    put(tree / "top/below/disk/canary", "alive");
    std::uint64_t removed = 0;
    const auto done = remove_tree(open_dir(tree.path()).get(), "top", removed);
    ASSERT_FALSE(done);
    EXPECT_TRUE(done.error().err == EBUSY || done.error().err == EXDEV) << describe(done.error());
    EXPECT_EQ(content_of(tree / "top/below/disk/canary"), "alive");
  });
}

}  // namespace
}  // namespace sallyport
