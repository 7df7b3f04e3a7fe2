#include "sallyport/call_rate.h"

#include <gtest/gtest.h>

namespace sallyport {
namespace {

TEST(CallRate, ReadsEveryWindowAndReadsBackAsItself) {
  const std::pair<std::string_view, CallRate> rows[] = {
      {"1/s", {1, std::chrono::seconds{1}}},
      {"10/min", {10, std::chrono::minutes{1}}},
      {"1000/h", {1000, std::chrono::hours{1}}},
      {"4294967295/day", {4294967295u, std::chrono::hours{24}}},
  };
  for (const auto& [text, rate] : rows) {
    const auto parsed = parse_call_rate(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, rate);
    EXPECT_EQ(to_text(*parsed), text);
  }
}

TEST(CallRate, SaysWhatToWriteInstead) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"10", "write it as 10/min"},
      {"10/m", "write 10/min"},
      {"10/hour", "write 10/h"},
      {"10/d", "write 10/day"},
      {"10/year", "N/s, N/min"},
      {"0/min", "from 1"},
      {"-1/min", "such as 10/min"},
      {"1.5/min", "such as 10/min"},
      {"010/min", "such as 10/min"},
      {"4294967296/s", "the most is 4294967295"},
      {"/min", "such as 10/min"},
      {"10 /min", "such as 10/min"},
      {"ten/min", "such as 10/min"},
      {"", "such as 10/min"},
      {"99999999999999999999999/s", "the most is"},
      {"10/min/s", "N/s, N/min"},
  };
  for (const auto& [text, hint] : rows) {
    const auto parsed = parse_call_rate(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().hint.find(hint), std::string::npos)
        << text << ": " << parsed.error().hint;
  }
}

}  // namespace
}  // namespace sallyport
