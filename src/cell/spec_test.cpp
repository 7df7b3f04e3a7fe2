#include "cell/spec.h"

#include <gtest/gtest.h>

namespace sallyport {
namespace {

template <class T>
void expect_error(const Result<T>& result, std::string_view message, std::string_view hint) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().reason, Reason::argument);
  EXPECT_NE(result.error().message.find(message), std::string::npos) << result.error().message;
  EXPECT_NE(result.error().hint.find(hint), std::string::npos) << result.error().hint;
}

TEST(CellSpec, DefaultsAreThoseOfThePolicy) {
  const Limits limits;
  EXPECT_EQ(to_text(limits.timeout), "10s");
  EXPECT_EQ(to_text(limits.cpu), "10s");
  EXPECT_EQ(limits.cpus, 1.0);
  EXPECT_EQ(to_text(limits.memory), "256MiB");
  EXPECT_EQ(limits.processes, 64u);
  EXPECT_EQ(limits.open_files, 256u);
  EXPECT_EQ(to_text(limits.disk), "100MiB");
  EXPECT_EQ(limits.inodes, 10'000u);
  EXPECT_EQ(to_text(limits.file_size), "10MB");
  EXPECT_EQ(to_text(limits.max_output), "10kB");
  EXPECT_EQ(to_text(limits.max_output_hard), "10MB");
  EXPECT_EQ(limits.refused_syscalls, 1'000u);
  EXPECT_FALSE(limits.io.has_value());
}

TEST(CellSpec, EveryLayerCanBeRequiredByItsName) {
  for (const LayerText& layer : kLayers) {
    const auto requirement = parse_requirement(layer.name);
    ASSERT_TRUE(requirement.has_value()) << layer.name;
    EXPECT_EQ(requirement->layer, layer.name);
    EXPECT_EQ(requirement->level, std::nullopt);
  }
}

TEST(CellSpec, OnlyALayerWithVersionsTakesALevel) {
  const auto requirement = parse_requirement("landlock:4");
  ASSERT_TRUE(requirement.has_value());
  EXPECT_EQ(requirement->layer, "landlock");
  EXPECT_EQ(requirement->level, 4u);
  expect_error(parse_requirement("cgroup:2"), "the layer cgroup has no levels", "write cgroup");
  for (const char* text : {"landlock:", "landlock:0", "landlock:-1", "landlock:+1", "landlock:2x",
                           "landlock: 2", "landlock:99999999999"}) {
    SCOPED_TRACE(text);
    expect_error(parse_requirement(text), "is not a level", "from 1, such as landlock:2");
  }
}

TEST(CellSpec, AnUnknownLayerIsAnsweredWithTheKnownOnes) {
  expect_error(parse_requirement("landlok"), "'landlok' is not a layer", "did you mean landlock?");
  expect_error(parse_requirement(""), "'' is not a layer", "the layers are user, mount, pid, net");
  expect_error(parse_requirement("Seccomp"), "'Seccomp' is not a layer", "did you mean seccomp?");
  expect_error(parse_requirement("zzz"), "'zzz' is not a layer", "groups, disk, capabilities");
}

TEST(CellSpec, APathInsideIsAbsoluteAndRegular) {
  EXPECT_EQ(parse_inside_path("/").value(), "/");
  EXPECT_EQ(parse_inside_path("/data").value(), "/data");
  EXPECT_EQ(parse_inside_path("/data/").value(), "/data");
  EXPECT_EQ(parse_inside_path("/a b/.c/...").value(), "/a b/.c/...");

  expect_error(parse_inside_path(""), "'' is not an absolute path", "begins with '/'");
  expect_error(parse_inside_path("data"), "'data' is not an absolute path", "begins with '/'");
  expect_error(parse_inside_path("/a/../b"), "'/a/../b' contains '..'", "in full");
  expect_error(parse_inside_path("/.."), "contains '..'", "in full");
  expect_error(parse_inside_path("/a/./b"), "contains '.'", "in full");
  expect_error(parse_inside_path("/a/."), "contains '.'", "in full");
  expect_error(parse_inside_path("//a"), "contains '//'", "one '/'");
  expect_error(parse_inside_path("//"), "contains '//'", "one '/'");
  expect_error(parse_inside_path("/a//"), "contains '//'", "one '/'");
  expect_error(parse_inside_path("/" + std::string(4095, 'a')), "longer than a path can be",
               "4095");
  EXPECT_TRUE(parse_inside_path("/" + std::string(4094, 'a')).has_value());
}

TEST(CellSpec, TheCellsOwnPlacesAreNotForGrants) {
  for (const char* place : {"/data", "/workspace", "/tmp/x", "/usr/share/models", "/etc/tool.conf",
                            "/process", "/device", "/home/me", "/lib/firmware"})
    EXPECT_TRUE(check_grant_place(place).has_value()) << place;

  expect_error(check_grant_place("/"), "nothing can be placed at '/': it is the cell's own root",
               "such as PATH:/data");
  expect_error(check_grant_place("/proc"), "'/proc': the cell has its own /proc", "PATH:/data");
  expect_error(check_grant_place("/dev/shm"), "'/dev/shm': the cell has its own /dev",
               "PATH:/data");
  expect_error(check_grant_place("/sys/fs"), "'/sys/fs': the cell has its own /sys", "PATH:/data");
  for (const char* place :
       {"/usr", "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    SCOPED_TRACE(place);
    expect_error(check_grant_place(place), "it would hide what programs need to start",
                 "PATH:/data");
  }
}

}  // namespace
}  // namespace sallyport
