#include "policy/limit_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sallyport {
namespace {

using testing::HasSubstr;

TEST(LimitValue, EveryLimitReadsBackWhatItShows) {
  std::size_t count = 0;
#define SALLYPORT_ROUND_TRIP(limit, type, sentence)                               \
  for (const char* text : {"10s", "0.5", "2", "1.5", "20MB/s", "256MiB", "64"}) { \
    LimitRules limits;                                                            \
    if (!set_limit(limits, #limit, text)) continue;                               \
    ASSERT_TRUE(limits.limit);                                                    \
    EXPECT_EQ(limit_text(*limits.limit), text) << #limit;                         \
    ++count;                                                                      \
  }
  SALLYPORT_LIMITS(SALLYPORT_ROUND_TRIP)
#undef SALLYPORT_ROUND_TRIP
  EXPECT_GE(count, 14U);
}

TEST(LimitValue, OnlyTheNamedLimitIsSet) {
  LimitRules limits;
  ASSERT_TRUE(set_limit(limits, "processes", "64"));
  EXPECT_EQ(limits.processes, 64U);
  EXPECT_FALSE(limits.open_files || limits.timeout || limits.inodes);
}

TEST(LimitValue, WhatNoCellCanBeGivenIsRefusedAndLeavesNothing) {
  const std::pair<const char*, const char*> refused[] = {
      {"timeout", "0s"},
      {"timeout", "10"},
      {"timeout", "-1s"},
      {"cpus", "0"},
      {"cpus", "1e3"},
      {"cpus", "1025"},
      {"cpus", ""},
      {"cpus", "."},
      {"memory", "1023KiB"},
      {"memory", "256M"},
      {"processes", "0"},
      {"processes", "01"},
      {"processes", "1_000"},
      {"processes", "+1"},
      {"processes", "0x10"},
      {"processes", "1.0"},
      {"processes", "1 "},
      {"open_files", "7"},
      {"io", "0B/s"},
      {"inodes", "99999999999999999999"},
      {"disk", "4095B"},
      {"file_size", "0B"},
      {"max_output_hard", "0B"},
  };
  for (const auto& [name, text] : refused) {
    LimitRules limits;
    const auto set = set_limit(limits, name, text);
    ASSERT_FALSE(set) << name << " " << text;
    EXPECT_FALSE(set.error().hint.empty()) << name << " " << text;
    EXPECT_FALSE(limits.timeout || limits.cpus || limits.memory || limits.processes || limits.io);
  }
}

TEST(LimitValue, AnUnknownNameHasTheNearestAsItsHint) {
  LimitRules limits;
  EXPECT_THAT(set_limit(limits, "timeuot", "1s").error().hint, HasSubstr("timeout"));
  EXPECT_THAT(set_limit(limits, "zzzzzzz", "1s").error().hint, HasSubstr("memory"));
}

}  // namespace
}  // namespace sallyport
