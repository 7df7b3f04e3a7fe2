#include "egress/name_question.h"

#include <gtest/gtest.h>

namespace sallyport {
namespace {

using namespace std::string_literals;

// A query (RD set) for one name of one label, of type A, class IN.
std::string query(const std::string& label, char flags = 1) {
  return "\x12\x34"s + flags + "\0\0\1\0\0\0\0\0\0"s + static_cast<char>(label.size()) + label +
         "\0\0\1\0\1"s;
}

// Nobody waits for an answer that never comes, and an answer is never answered.
TEST(NameQuestion, WhatCannotBeReadIsRefusedAsItStands) {
  const std::string odd = query("a b");
  ASSERT_FALSE(parse_name_question(odd));
  std::string refused = odd;
  refused[2] = '\x81';
  refused[3] = '\5';
  EXPECT_EQ(refusal_of(odd), refused);
  EXPECT_EQ(refusal_of(refused), "");
  EXPECT_EQ(refusal_of(odd.substr(0, 11)), "");
  EXPECT_EQ(refusal_of(odd + std::string(512, 'x')), "");
  EXPECT_TRUE(parse_name_question(query("ab")));
}

}  // namespace
}  // namespace sallyport
