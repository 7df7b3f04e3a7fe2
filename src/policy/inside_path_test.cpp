#include "policy/inside_path.h"

#include <gtest/gtest.h>

namespace sallyport {
namespace {

FileRule grant(std::string host, std::string inside) {
  FileRule rule;
  rule.host = std::move(host);
  rule.inside = std::move(inside);
  return rule;
}

TEST(InsidePath, IsWhereTheDeepestGrantShowsIt) {
  FileRules files;
  files.read = {grant("/srv", "/all"), grant("/srv/shop/public", "/data")};
  files.write = {grant("/var/out", "/out"), grant("/srv/shop/public", "/again")};
  EXPECT_EQ(inside_path(files, "/srv/shop/public"), "/data");
  EXPECT_EQ(inside_path(files, "/srv/shop/public/a/b"), "/data/a/b");
  EXPECT_EQ(inside_path(files, "/srv/shop"), "/all/shop");
  EXPECT_EQ(inside_path(files, "/var/out/x"), "/out/x");
  for (const char* host : {"/srv-secret", "/var", "/", "", "srv"})
    EXPECT_EQ(inside_path(files, host), std::nullopt) << host;
}

TEST(InsidePath, OfTheWholeMachine) {
  FileRules files;
  files.read = {grant("/", "/host")};
  EXPECT_EQ(inside_path(files, "/"), "/host");
  EXPECT_EQ(inside_path(files, "/etc"), "/host/etc");
}

}  // namespace
}  // namespace sallyport
