#include "redact/ready_nets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sallyport {
namespace {

using testing::ElementsAre;

TEST(ReadyNets, AreFoundByTheirGroups) {
  const std::string bytes =
      pack_ready_nets({{.mask = 1, .widths = {4, 0, 7}, .database = "first"},
                       {.mask = 33, .widths = {}, .database = std::string_view("se\0cond", 7)}});
  const auto first = find_ready_net(bytes, 1), second = find_ready_net(bytes, 33);
  ASSERT_TRUE(first && second);
  EXPECT_THAT(first->widths, ElementsAre(4, 0, 7));
  EXPECT_EQ(first->database, "first");
  EXPECT_EQ(second->database, std::string_view("se\0cond", 7));
  EXPECT_FALSE(find_ready_net(bytes, 2));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(find_ready_net(std::string_view(bytes).substr(0, size), 33)) << size;
}

}  // namespace
}  // namespace sallyport
