#include "door/cli/explain_command.h"

#include <cstdio>

#include "base/json.h"
#include "base/text.h"
#include "door/cli/mixed_words.h"
#include "door/cli/problem.h"
#include "door/cli/process.h"
#include "policy/words.h"

namespace sallyport {
namespace {

constexpr Option<ExplainRequest> kExplainOptions[] = {
    {"policy", "FILE", "Options", "The policy file.",
     [](ExplainRequest& request, std::string_view text) {
       request.policy = text;
       return Result<void>();
     }},
    {"as", "CALLER", "Options",
     "Explain for this caller alone. Without it: for all who may call the tool, alike ones "
     "together.",
     [](ExplainRequest& request, std::string_view text) {
       request.caller = text;
       return Result<void>();
     }},
    {"json", "", "Options", "Print the same facts as JSON, with the envelopes.",
     [](ExplainRequest& request, std::string_view) {
       request.json = true;
       return Result<void>();
     }},
    {"help", "", "Options", "Print this text.",
     [](ExplainRequest& request, std::string_view) {
       request.help = true;
       return Result<void>();
     }},
};

constexpr std::size_t kIndent = 2;

std::string section_text(const ExplainedSection& section) {
  std::string text = "\n" + section.title + "\n";
  for (const ExplainedFact& fact : section.facts) {
    const std::string line = fact.name.empty() ? fact.text : fact.name + ": " + fact.text;
    text.append(wrapped(escape_for_terminal(line), kIndent));
  }
  return text;
}

std::string heading(const ExplainedCallers& callers) {
  std::string text = "For " + list_some_names(callers.names);
  text.append(" (");
  if (!callers.role.empty()) text.append("role ").append(callers.role).append(", ");
  return text.append("tenant ").append(callers.tenant).append(")");
}

std::string gap_text(const ExplainedGap& gap) {
  return gap.what + " (" + gap.rule +
         "): " + (gap.every_call ? "every call is refused" : "calls that need it are refused") +
         " with `unavailable`";
}

}  // namespace

Result<ExplainRequest> parse_explain(std::span<const char* const> words) {
  ExplainRequest request;
  const auto others = parse_mixed<ExplainRequest>(kExplainOptions, words, request);
  if (!others) return std::unexpected(others.error());
  if (request.help) return request;
  constexpr std::string_view kUsage =
      "write `sallyport policy explain TOOL --policy FILE [--as CALLER]`";
  if (others->empty()) return fail(Reason::argument, "no tool is named", std::string(kUsage));
  if (others->size() > 1)
    return fail(
        Reason::argument,
        "one tool is explained at a time, and " + quoted((*others)[1]) + " would be a second",
        std::string(kUsage));
  if (request.policy.empty())
    return fail(Reason::argument, "--policy is missing", std::string(kUsage));
  request.tool = (*others)[0];
  return request;
}

std::string explain_help_text() {
  return R"(Usage: sallyport policy explain TOOL --policy FILE [--as CALLER] [--json]

Says what a call of TOOL can do at worst: who may call it, what runs, with which arguments, what it
can read, write, reach and spend, how often, who has to agree, what comes back; each limit with the
rule of the file that decides it. Nothing is run.

)" + options_help<ExplainRequest>(kExplainOptions, {}) +
         R"(
Exit codes
  0     Explained, whether or not the caller may call the tool.
  2     The file or the request is wrong: an unknown tool or caller, for example.
)";
}

std::string explanation_text(const Explanation& explanation) {
  std::string text = escape_for_terminal(explanation.tool) + "\n";
  if (!explanation.description.empty())
    text.append(wrapped(escape_for_terminal(explanation.description), kIndent));
  for (const ExplainedSection& section : explanation.sections)
    text.append(section_text(section));
  for (const ExplainedCallers& callers : explanation.callers) {
    text.append("\n").append(wrapped(escape_for_terminal(heading(callers)), 0));
    for (const ExplainedSection& section : callers.sections)
      text.append(section_text(section));
  }
  if (explanation.callers.empty())
    text.append("\n").append(wrapped("No caller of the policy may call it: at worst, nothing.", 0));
  if (!explanation.gaps.empty()) {
    text.append("\nNot available yet in this version\n");
    for (const ExplainedGap& gap : explanation.gaps)
      text.append(wrapped(escape_for_terminal(gap_text(gap)), kIndent));
  }
  return text;
}

int explain_command(std::span<const char* const> words) {
  const auto request = parse_explain(words);
  if (!request) {
    print_error(request.error());
    return kWrongUsage;
  }
  if (request->help) {
    std::fputs(explain_help_text().c_str(), stdout);
    return 0;
  }
  const auto policy = load_policy_file(request->policy, request->json);
  if (!policy) return kWrongUsage;
  const auto explanation = explain(policy->rules(), request->tool, request->caller);
  if (!explanation) {
    report_problem(explanation.error(), request->json);
    return kWrongUsage;
  }
  const std::string text = request->json ? json::serialize(to_json(*explanation)) + "\n"
                                         : explanation_text(*explanation);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace sallyport
