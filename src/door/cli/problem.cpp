#include "door/cli/problem.h"

#include <unistd.h>

#include "base/text.h"
#include "door/cli/process.h"

namespace sallyport {
namespace {

void print_json(const json::object& object) {
  (void)write_all(STDOUT_FILENO, json::serialize(object) + "\n");
}

}  // namespace

json::object problem_json(const Error& error) {
  json::object object{
      {"ok", false}, {"reason", name_of(error.reason)}, {"message", to_utf8(error.message)}};
  if (!error.hint.empty()) object["hint"] = to_utf8(error.hint);
  return object;
}

json::array problems_json(std::span<const PolicyProblem> problems) {
  json::array list;
  for (const PolicyProblem& problem : problems) {
    json::object object{{"file", to_utf8(problem.file)},
                        {"line", problem.line},
                        {"column", problem.column},
                        {"rule", to_utf8(problem.rule)},
                        {"message", to_utf8(problem.message)}};
    if (!problem.hint.empty()) object["hint"] = to_utf8(problem.hint);
    list.push_back(std::move(object));
  }
  return list;
}

Error not_loaded(const std::string& path, std::span<const PolicyProblem> problems) {
  return {Reason::unavailable,
          "the policy " + quoted(path) + " does not load: " +
              (problems.size() == 1 ? to_text(problems[0])
                                    : std::to_string(problems.size()) + " problems"),
          "`sallyport policy check` lists what is wrong with it"};
}

void print_problems(std::span<const PolicyProblem> problems) {
  std::string text;
  for (const PolicyProblem& problem : problems)
    text.append(escape_for_terminal(to_text(problem))).append("\n");
  (void)write_all(STDERR_FILENO, text);
}

void report_problem(const Error& error, bool as_json) {
  if (as_json)
    print_json(problem_json(error));
  else
    print_error(error);
}

std::optional<Policy> load_policy_file(const std::string& path, bool as_json) {
  auto policy = Policy::load(path);
  if (policy) return std::move(*policy);
  if (as_json) {
    json::object object = problem_json(not_loaded(path, policy.error()));
    object["problems"] = problems_json(policy.error());
    print_json(object);
    return {};
  }
  print_problems(policy.error());
  return {};
}

}  // namespace sallyport
