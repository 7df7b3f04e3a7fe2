#include "base/pace.h"

#include <gtest/gtest.h>

namespace sallyport {
namespace {

void be_quick(Pace& pace, int times) {
  for (int i = 0; i < times; ++i)
    pace.took(10);
}

TEST(Pace, HasToBeProven) {
  Pace pace({.usual_ns = 50, .most_ns = 1000, .proof = 4});
  EXPECT_FALSE(pace.is_quick());
  be_quick(pace, 3);
  EXPECT_FALSE(pace.is_quick());
  be_quick(pace, 1);
  EXPECT_TRUE(pace.is_quick());
}

TEST(Pace, IsLostByWhatUsuallyTakesLonger) {
  Pace pace({.usual_ns = 50, .most_ns = 1000, .proof = 4});
  be_quick(pace, 4);
  for (int i = 0; i < 40; ++i)
    pace.took(100);
  EXPECT_FALSE(pace.is_quick());
  be_quick(pace, 40);
  EXPECT_TRUE(pace.is_quick());
}

TEST(Pace, IsLostForLongerEachTimeThatSomebodyIsHeldUp) {
  Pace pace({.usual_ns = 50, .most_ns = 1000, .proof = 200});
  be_quick(pace, 200);
  EXPECT_TRUE(pace.is_quick());
  pace.took(1001);
  EXPECT_FALSE(pace.is_quick());
  be_quick(pace, 399);
  EXPECT_FALSE(pace.is_quick());
  be_quick(pace, 1);
  EXPECT_TRUE(pace.is_quick());
  pace.took(1001);
  be_quick(pace, 799);
  EXPECT_FALSE(pace.is_quick());
  be_quick(pace, 1);
  EXPECT_TRUE(pace.is_quick());
}

}  // namespace
}  // namespace sallyport
