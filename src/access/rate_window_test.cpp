#include "access/rate_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace sallyport {
namespace {

using namespace std::chrono_literals;

constexpr CallRate kTwoPerMinute{.count = 2, .window = 60s};

TEST(RateWindow, IsFreeAtOnceWhenNothingWasCounted) {
  EXPECT_EQ(RateWindow().free_from(kTwoPerMinute, 5s), Moment{5s});
}

TEST(RateWindow, CountsTwoCallsExactlyAWindowApartAsInTheSameWindow) {
  RateWindow window;
  window.reach_back(60s);
  window.add(0s, 2);
  window.add(10s, 2);
  EXPECT_EQ(window.free_from(kTwoPerMinute, 20s), Moment{60s} + 1us);
  EXPECT_EQ(window.count_since(Moment{60s} - 60s), 2U);
  EXPECT_EQ(window.count_since(Moment{60s} + 1us - 60s), 1U);
}

TEST(RateWindow, NeverAllowsARateOfNothing) {
  EXPECT_EQ(RateWindow().free_from({.count = 0, .window = 1s}, 0s), std::nullopt);
}

TEST(RateWindow, TakesBackExactlyTheCallThatWasAdded) {
  RateWindow window;
  window.reach_back(1h);
  for (int second : {1, 2, 2, 3})
    window.add(std::chrono::seconds{second}, 10);
  EXPECT_TRUE(window.remove(2s));
  ASSERT_EQ(window.size(), 3U);
  EXPECT_EQ(window.at(0), Moment{1s});
  EXPECT_EQ(window.at(1), Moment{2s});
  EXPECT_EQ(window.at(2), Moment{3s});
  EXPECT_FALSE(window.remove(4s));
  EXPECT_FALSE(window.remove(Moment{2s} + 1us));
}

TEST(RateWindow, TakesFiveBytesForEachCallOfAFullWindow) {
  RateWindow window;
  window.reach_back(1h);
  for (int i = 0; i < 1000; ++i)
    window.add(std::chrono::seconds{i}, 1000);
  EXPECT_EQ(window.size(), 1000U);
  EXPECT_EQ(window.bytes(), 5000U);
  for (int i = 0; i < 5000; ++i)  // one comes, one goes: it stays as large as it is
    window.add(4600s + i * 3700ms, 1000);
  EXPECT_EQ(window.bytes(), 5000U);
}

// Calls that come for months, with pauses of all lengths, wrap the numbers that they are kept in.
TEST(RateWindow, RemembersExactlyWhatAListOfAllCallsWould) {
  std::mt19937_64 random(7);
  for (const Duration reach : {Duration{1s}, Duration{1min}, Duration{24h}, kLongestWindow}) {
    RateWindow window;
    window.reach_back(reach);
    std::vector<Moment> model;
    Moment now{};
    for (int step = 0; step < 4000; ++step) {
      const std::int64_t pause = reach.count() / 20;
      now += Moment{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(pause))};
      if (random() % 200 == 0) now += 2 * reach;
      if (!model.empty() && random() % 8 == 0) {
        const Moment victim = model[random() % model.size()];
        ASSERT_TRUE(window.remove(victim));
        model.erase(std::ranges::find(model, victim));
        continue;
      }
      window.add(now, 50);
      std::erase_if(model, [&](Moment at) { return at < now - reach; });
      model.push_back(now);
      ASSERT_EQ(window.size(), model.size());
      for (std::uint32_t i = 0; i < window.size(); ++i)
        ASSERT_EQ(window.at(i), model[i]);
    }
  }
}

}  // namespace
}  // namespace sallyport
