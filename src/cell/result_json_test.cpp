#include "cell/result_json.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace sallyport {
namespace {

TEST(ResultJson, IsAlwaysJsonWhateverTheToolWrote) {
  Outcome outcome;
  for (int byte = 0; byte < 256; ++byte)
    outcome.output.push_back(static_cast<char>(byte));
  outcome.findings.push_back({"not_exported", "\xff\xfe", "why"});
  const boost::json::object result = boost::json::parse(result_json(outcome)).as_object();
  EXPECT_EQ(result.at("status"), "success");
  EXPECT_FALSE(result.contains("reason"));
  EXPECT_FALSE(result.contains("exit_code"));
  EXPECT_EQ(result.at("findings").at(0).at("path"), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(ResultJson, NamesStatusReasonAndLayers) {
  Outcome outcome;
  outcome.status = Status::killed;
  outcome.reason = Reason::memory;
  outcome.limits_hit = {"processes", "syscall:mount"};
  outcome.refused_syscalls = {{"mount", 3}};
  outcome.layers = {{"landlock", "7", true, 7}};
  outcome.usage.wall_us = 1500;
  const boost::json::object result = boost::json::parse(result_json(outcome)).as_object();
  EXPECT_EQ(result.at("status"), "killed");
  EXPECT_EQ(result.at("reason"), "memory");
  EXPECT_EQ(result.at("limits_hit"), (boost::json::array{"processes", "syscall:mount"}));
  EXPECT_EQ(result.at("refused_syscalls").at("mount"), 3);
  EXPECT_EQ(result.at("isolation").at("layers").at("landlock"), "7");
  EXPECT_EQ(result.at("execution_ms"), 2);
}

TEST(Reasons, HaveNamesAndSentencesOfTheirOwn) {
  for (const ReasonText& row : kReasons) {
    EXPECT_EQ(name_of(row.reason), row.name);
    EXPECT_FALSE(row.sentence.empty());
  }
  EXPECT_EQ(name_of(Reason::none), "");
}

}  // namespace
}  // namespace sallyport
