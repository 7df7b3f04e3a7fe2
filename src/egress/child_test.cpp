#include "egress/child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sallyport {
namespace {

using testing::HasSubstr;

TEST(EgressChildren, AreNotStartedFromAProgramThatNobodyNamed) {
  SharedEgress egress("");
  const auto child = egress.get({});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().reason, Reason::unavailable);
  EXPECT_THAT(child.error().hint, HasSubstr("BoundaryOptions::program"));
}

TEST(EgressChildren, ThatCannotBeStartedAreARefusal) {
  SharedEgress egress("/nonexistent/sallyport");
  const auto child = egress.get({});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().reason, Reason::unavailable);
  EXPECT_THAT(child.error().message, HasSubstr("/nonexistent/sallyport"));
}

// A program that ends at once is noticed, and another one is started in its place.
TEST(EgressChildren, AreStartedAgainWhenTheyHaveEnded) {
  SharedEgress egress("/bin/true");
  const auto first = egress.get({});
  ASSERT_TRUE(first);
  while (!(*first)->is_gone()) {
  }
  const auto second = egress.get({});
  ASSERT_TRUE(second);
  EXPECT_NE(first->get(), second->get());
}

}  // namespace
}  // namespace sallyport
