#include "base/layer.h"

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

TEST(Layers, EveryLayerCanBeRequiredByItsName) {
  for (const LayerText& layer : kLayers) {
    const auto requirement = parse_requirement(layer.name);
    ASSERT_TRUE(requirement.has_value()) << layer.name;
    EXPECT_EQ(requirement->layer, layer.name);
    EXPECT_EQ(requirement->level, std::nullopt);
  }
}

TEST(Layers, OnlyALayerWithVersionsTakesALevel) {
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

TEST(Layers, AnUnknownLayerIsAnsweredWithTheKnownOnes) {
  expect_error(parse_requirement("landlok"), "'landlok' is not a layer", "did you mean landlock?");
  expect_error(parse_requirement(""), "'' is not a layer", "the layers are user, mount, pid, net");
  expect_error(parse_requirement("Seccomp"), "'Seccomp' is not a layer", "did you mean seccomp?");
  expect_error(parse_requirement("zzz"), "'zzz' is not a layer", "groups, disk, capabilities");
}

}  // namespace
}  // namespace sallyport
