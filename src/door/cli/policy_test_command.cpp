#include "door/cli/policy_test_command.h"

#include <cstdio>

#include "base/json.h"
#include "base/text.h"
#include "boundary/policy_tests.h"
#include "door/cli/option_table.h"
#include "door/cli/problem.h"
#include "door/cli/process.h"

namespace sallyport {
namespace {

struct TestRequest {
  bool json = false;
  bool help = false;
};

template <bool TestRequest::* Field>
Result<void> turn_on(TestRequest& request, std::string_view) {
  request.*Field = true;
  return {};
}

constexpr Option<TestRequest> kTestOptions[] = {
    {"json", "", "Options", "Print the outcomes as JSON.", turn_on<&TestRequest::json>},
    {"help", "", "Options", "Print this text.", turn_on<&TestRequest::help>},
};

std::string help_text() {
  return "Runs the `tests:` of a policy file: decisions only, no tool is executed.\n"
         "\n"
         "  sallyport policy test [options] FILE\n"
         "\n" +
         options_help<TestRequest>(kTestOptions, {}) +
         "\nExit codes: 0 all tests passed; 1 a test failed, or there are none; 2 the file or\n"
         "the command line is wrong.\n";
}

void print_json(const std::vector<PolicyTestOutcome>& outcomes) {
  json::array rows;
  for (const PolicyTestOutcome& outcome : outcomes) {
    json::object row{{"line", outcome.line}, {"name", outcome.name}, {"passed", outcome.passed()}};
    if (!outcome.passed()) row["failure"] = to_utf8(outcome.failure);
    rows.push_back(std::move(row));
  }
  std::printf("%s\n", json::serialize(rows).c_str());
}

}  // namespace

int policy_test_command(std::span<const char* const> words) {
  TestRequest request;
  auto parsed = parse_options<TestRequest>(kTestOptions, words, request);
  if (parsed && request.help) {
    std::fputs(help_text().c_str(), stdout);
    return 0;
  }
  if (!parsed || parsed->rest.size() != 1) {
    print_error(parsed
                    ? Error{Reason::argument, "give one policy file", "sallyport policy test FILE"}
                    : parsed.error());
    return kWrongUsage;
  }
  const std::string file = parsed->rest[0];
  const auto policy = load_policy_file(file, request.json);
  if (!policy) return kWrongUsage;
  const auto outcomes = run_policy_tests(*policy);
  if (request.json) print_json(outcomes);
  std::size_t failed = 0;
  for (const PolicyTestOutcome& outcome : outcomes) {
    if (outcome.passed()) continue;
    ++failed;
    if (!request.json)
      std::printf("%s:%u: %s: %s\n", escape_for_terminal(file).c_str(), outcome.line,
                  escape_for_terminal(outcome.name).c_str(),
                  escape_for_terminal(outcome.failure).c_str());
  }
  if (!request.json)
    std::printf("%zu of %zu tests passed\n", outcomes.size() - failed, outcomes.size());
  if (outcomes.empty()) say("the file has no `tests:`");
  return failed == 0 && !outcomes.empty() ? 0 : 1;
}

}  // namespace sallyport
