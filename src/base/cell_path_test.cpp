#include "base/cell_path.h"

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

TEST(CellPaths, APathInsideIsAbsoluteAndRegular) {
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

TEST(CellPaths, TheCellsOwnPlacesAreNotForGrants) {
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
