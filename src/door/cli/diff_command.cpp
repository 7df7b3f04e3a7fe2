#include "door/cli/diff_command.h"

#include <algorithm>
#include <cstdio>

#include "base/json.h"
#include "base/text.h"
#include "door/cli/mixed_words.h"
#include "door/cli/problem.h"
#include "door/cli/process.h"

namespace sallyport {
namespace {

constexpr int kNothingWider = 0, kSomethingWider = 1;

constexpr Option<DiffRequest> kDiffOptions[] = {
    {"json", "", "Options", "Print the changes as JSON.",
     [](DiffRequest& request, std::string_view) {
       request.json = true;
       return Result<void>();
     }},
    {"help", "", "Options", "Print this text.",
     [](DiffRequest& request, std::string_view) {
       request.help = true;
       return Result<void>();
     }},
};

std::string changes_json(const std::vector<PolicyChange>& changes) {
  json::array list;
  for (const PolicyChange& change : changes)
    list.push_back(to_json(change));
  return json::serialize(
      json::object{{"may_allow_more", may_allow_more(changes)}, {"changes", std::move(list)}});
}

}  // namespace

Result<DiffRequest> parse_diff(std::span<const char* const> words) {
  DiffRequest request;
  const auto others = parse_mixed<DiffRequest>(kDiffOptions, words, request);
  if (!others) return std::unexpected(others.error());
  if (request.help) return request;
  if (others->size() != 2)
    return fail(Reason::argument,
                "two policy files are compared, and " + std::to_string(others->size()) +
                    (others->size() == 1 ? " is named" : " are named"),
                "write `sallyport policy diff OLD NEW`");
  request.before = (*others)[0];
  request.after = (*others)[1];
  return request;
}

std::string diff_help_text() {
  return R"(Usage: sallyport policy diff [--json] OLD NEW

Says what becomes possible, and what impossible, when the policy NEW takes the place of OLD. What
changes nothing for any caller (comments, order, a role that nobody has) is no difference.

  +  wider: something becomes possible
  -  narrower: something is no longer possible
  ~  changed in a way that cannot be ordered; it counts as wider

)" + options_help<DiffRequest>(kDiffOptions, {}) +
         R"(
Exit codes
  0     Nothing becomes possible that was not.
  1     Something does, or may.
  2     A file or the request is wrong.
)";
}

std::string changes_text(const std::vector<PolicyChange>& changes) {
  if (changes.empty()) return "No difference for any caller.\n";
  std::string text;
  for (const PolicyChange& change : changes)
    text.append(escape_for_terminal(to_text(change))).append("\n");
  const auto count = [&](Direction direction) {
    return std::to_string(std::ranges::count(changes, direction, &PolicyChange::direction)) + " " +
           std::string(name_of(direction));
  };
  return text.append("\n")
      .append(count(Direction::wider))
      .append(", ")
      .append(count(Direction::narrower))
      .append(", ")
      .append(count(Direction::changed))
      .append("\n");
}

int diff_command(std::span<const char* const> words) {
  const auto request = parse_diff(words);
  if (!request) {
    print_error(request.error());
    return kWrongUsage;
  }
  if (request->help) {
    std::fputs(diff_help_text().c_str(), stdout);
    return 0;
  }
  const auto before = load_policy_file(request->before, request->json);
  if (!before && request->json) return kWrongUsage;  // one object is enough
  const auto after = load_policy_file(request->after, request->json);
  if (!before || !after) return kWrongUsage;
  const std::vector<PolicyChange> changes = diff(before->rules(), after->rules());
  const std::string text = request->json ? changes_json(changes) + "\n" : changes_text(changes);
  std::fputs(text.c_str(), stdout);
  return may_allow_more(changes) ? kSomethingWider : kNothingWider;
}

}  // namespace sallyport
