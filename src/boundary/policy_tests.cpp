#include "boundary/policy_tests.h"

#include "base/text.h"
#include "policy/rules.h"
#include "sallyport/boundary.h"

namespace sallyport {
namespace {

std::string decision_of(const CallResult& result) {
  if (result.status == Status::success) return "allowed";
  return std::string(name_of(result.status));
}

std::string failure_of(const PolicyTest& test, const CallResult& result) {
  const std::string decision = decision_of(result);
  const std::string reason(name_of(result.reason));
  if (decision == test.expect && (test.reason.empty() || test.reason == reason)) return {};
  std::string text = "expected " + test.expect;
  if (!test.reason.empty()) text += " (" + test.reason + ")";
  text += ", and it is " + decision;
  if (!reason.empty()) text += " (" + reason + " by " + result.rule + ": " + result.message + ")";
  return text;
}

}  // namespace

std::vector<PolicyTestOutcome> run_policy_tests(const Policy& policy) {
  std::vector<PolicyTestOutcome> outcomes;
  auto boundary = Boundary::open(policy);
  for (const PolicyTest& test : policy.rules().tests) {
    PolicyTestOutcome outcome{
        .line = test.place.line, .name = test.caller + " calls " + test.tool, .failure = {}};
    if (!boundary) {
      outcome.failure = boundary.error().message;
    } else {
      CallRequest request;
      request.caller = test.caller;
      request.tool = test.tool;
      request.arguments = test.args;
      outcome.failure = failure_of(test, boundary->decide(request));
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace sallyport
