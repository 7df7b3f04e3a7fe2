// What a command says when it cannot do its work: to people on stderr, to programs (`--json`) as
// one JSON object on stdout.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/json.h"
#include "sallyport/error.h"
#include "sallyport/policy.h"

namespace sallyport {

// {"ok": false, "reason", "message", "hint"}; the hint only if there is one.
[[nodiscard]] json::object problem_json(const Error& error);

// The list that `policy check --json` prints: file, line, column, rule, message, hint of each.
[[nodiscard]] json::array problems_json(std::span<const PolicyProblem> problems);

// The one error that a policy which does not load is to a command that needs it.
[[nodiscard]] Error not_loaded(const std::string& path, std::span<const PolicyProblem> problems);

// All that is wrong with a policy on stderr, a line each.
void print_problems(std::span<const PolicyProblem> problems);

void report_problem(const Error& error, bool as_json);

// The policy; or nothing, with all that is wrong with it told: as JSON, under "problems" of the
// object.
[[nodiscard]] std::optional<Policy> load_policy_file(const std::string& path, bool as_json = false);

}  // namespace sallyport
