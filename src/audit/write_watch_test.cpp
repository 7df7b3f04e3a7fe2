#include "audit/write_watch.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

namespace sallyport {
namespace {

TEST(WriteWatch, KnowsTheOldestOfTheWritesThatHaveNotEnded) {
  WriteWatch watch;
  EXPECT_EQ(watch.lag().waiting, 0U);
  EXPECT_EQ(watch.lag().oldest_us, 0);
  const std::int64_t before = monotonic_ns();
  std::optional<WriteWatch::Write> first(watch), second(watch);
  const std::int64_t later = monotonic_ns() + 5'000'000'000;
  EXPECT_EQ(watch.lag(later).waiting, 2U);
  const std::int64_t with_first = watch.lag(later).oldest_us;
  EXPECT_GE(with_first, 5'000'000);
  EXPECT_LE(with_first, (later - before) / 1000);
  first.reset();
  EXPECT_EQ(watch.lag(later).waiting, 1U);
  EXPECT_LE(watch.lag(later).oldest_us, with_first);
  second.reset();
  EXPECT_EQ(watch.lag(later).waiting, 0U);
  EXPECT_EQ(watch.lag(later).oldest_us, 0);
}

TEST(WriteWatch, IsSharedByThreads) {
  WriteWatch watch;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&watch] {
      for (int j = 0; j < 1000; ++j) {
        const WriteWatch::Write write(watch);
        EXPECT_GE(watch.lag().waiting, 1U);
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(watch.lag().waiting, 0U);
}

}  // namespace
}  // namespace sallyport
