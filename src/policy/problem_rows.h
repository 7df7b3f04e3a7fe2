// Bad files and what is said about them, for tests.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>

#include "sallyport/policy.h"

// The beginning of every row, and a tool that the row adds a key to, on line 6.
#define kVersion "version: 1\n"
#define kTool kVersion "tools:\n  t:\n    run: [x]\n    needs: []\n    "

namespace sallyport {

struct ProblemRow {
  std::string_view yaml;
  std::string_view said;  // how the first problem begins, as a line: "f:2:3: rule: message (hint)"
};

inline void expect_problems(std::span<const ProblemRow> rows) {
  for (const ProblemRow& row : rows) {
    const PolicyResult result = Policy::parse(row.yaml, "f");
    if (result) {
      ADD_FAILURE() << "this loads:\n" << row.yaml;
      continue;
    }
    EXPECT_EQ(to_text(result.error()[0]).substr(0, row.said.size()), row.said) << row.yaml;
  }
}

}  // namespace sallyport
