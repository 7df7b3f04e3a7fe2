#include "input/schema_uri.h"

#include <gtest/gtest.h>

namespace sallyport {
namespace {

TEST(SchemaUri, ResolvesAsRfc3986Does) {
  // The examples of RFC 3986, 5.4.
  constexpr std::string_view kBase = "http://a/b/c/d;p?q";
  const std::pair<std::string_view, std::string_view> kRows[] = {
      {"g:h", "g:h"},
      {"g", "http://a/b/c/g"},
      {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},
      {"/g", "http://a/g"},
      {"//g", "http://g"},
      {"?y", "http://a/b/c/d;p?y"},
      {"g?y", "http://a/b/c/g?y"},
      {"#s", "http://a/b/c/d;p?q#s"},
      {"g#s", "http://a/b/c/g#s"},
      {";x", "http://a/b/c/;x"},
      {"", "http://a/b/c/d;p?q"},
      {".", "http://a/b/c/"},
      {"./", "http://a/b/c/"},
      {"..", "http://a/b/"},
      {"../g", "http://a/b/g"},
      {"../..", "http://a/"},
      {"../../g", "http://a/g"},
      {"../../../g", "http://a/g"},
      {"../../../../g", "http://a/g"},
      {"/./g", "http://a/g"},
      {"/../g", "http://a/g"},
      {"g.", "http://a/b/c/g."},
      {"..g", "http://a/b/c/..g"},
      {"./../g", "http://a/b/g"},
      {"./g/.", "http://a/b/c/g/"},
      {"g/./h", "http://a/b/c/g/h"},
      {"g/../h", "http://a/b/c/h"},
      {"g;x=1/../y", "http://a/b/c/y"},
      {"g?y/../x", "http://a/b/c/g?y/../x"},
  };
  for (const auto& [reference, target] : kRows)
    EXPECT_EQ(resolve_uri(kBase, reference), target) << reference;
}

TEST(SchemaUri, NeedsNoScheme) {
  EXPECT_EQ(resolve_uri("", "a.json#/b"), "a.json#/b");
  EXPECT_EQ(resolve_uri("x/a.json", "b.json"), "x/b.json");
  EXPECT_EQ(resolve_uri("", "#a"), "#a");
  EXPECT_EQ(resolve_uri("urn:uuid:1", "#/a"), "urn:uuid:1#/a");
}

TEST(SchemaUri, DecodesFragmentsAndPointers) {
  EXPECT_EQ(percent_decode("a%25b%2f"), "a%b/");
  EXPECT_FALSE(percent_decode("%2"));
  EXPECT_FALSE(percent_decode("%zz"));
  EXPECT_FALSE(percent_decode("%+1"));
  EXPECT_EQ(pointer_tokens("/a~1b/~0//1"), (std::vector<std::string>{"a/b", "~", "", "1"}));
  EXPECT_EQ(pointer_tokens("")->size(), 0U);
  EXPECT_FALSE(pointer_tokens("a"));
  EXPECT_FALSE(pointer_tokens("/~2"));
  EXPECT_FALSE(pointer_tokens("/~"));
  EXPECT_EQ(pointer_token("a/b~c"), "a~1b~0c");
}

}  // namespace
}  // namespace sallyport
