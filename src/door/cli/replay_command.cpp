#include "door/cli/replay_command.h"

#include <unistd.h>

#include <cstdio>

#include "access/act_as_owner.h"
#include "audit/search.h"
#include "base/text.h"
#include "boundary/replay.h"
#include "door/cli/mixed_words.h"
#include "door/cli/problem.h"
#include "door/cli/process.h"

namespace sallyport {
namespace {

constexpr int kSame = 0, kDifferent = 1;

struct ReplayRequest {
  std::string state, since, until;
  bool json = false;
  bool help = false;
};

template <std::string ReplayRequest::* Field>
Result<void> set(ReplayRequest& request, std::string_view value) {
  request.*Field = value;
  return {};
}

template <bool ReplayRequest::* Field>
Result<void> turn_on(ReplayRequest& request, std::string_view) {
  request.*Field = true;
  return {};
}

constexpr Option<ReplayRequest> kOptions[] = {
    {"audit", "DIR", "Options",
     "The state directory whose records are replayed. Without it, the private one of the user.",
     set<&ReplayRequest::state>},
    {"since", "TIME", "Options", "Only calls from then on, such as 2026-10-04.",
     set<&ReplayRequest::since>},
    {"until", "TIME", "Options", "Only calls before that.", set<&ReplayRequest::until>},
    {"json", "", "Options", "Print the changes as JSON.", turn_on<&ReplayRequest::json>},
    {"help", "", "Options", "Print this text.", turn_on<&ReplayRequest::help>},
};

std::string help_text() {
  return R"(Usage: sallyport policy replay --audit DIR NEW.yaml [--since TIME] [--until TIME] [--json]

Decides the recorded calls of a state directory again, by the policy NEW.yaml, and prints what would
be decided differently. Nothing is run. Arguments are only known where the policy of then recorded
them (`audit: { arguments: full }`); without them, a call is judged by its permissions alone, and
counted as unknown where that is not enough.

)" + options_help<ReplayRequest>(kOptions, ReplayRequest{}) +
         R"(
Exit codes
  0     Every call would be decided as it was.
  1     Some would not.
  2     The request was wrong, or the policy does not load.
  125   The records cannot be read.
)";
}

json::object to_json(const ReplayChange& change) {
  json::object object{{"caller", change.caller}, {"tool", change.tool},
                      {"was", change.was},       {"now", change.now},
                      {"calls", change.calls},   {"call_id", change.call_id},
                      {"time", change.time}};
  if (!change.rule.empty()) object["rule"] = change.rule;
  if (!change.message.empty()) object["message"] = to_utf8(change.message);
  return object;
}

void print(const Replay& replay, bool as_json) {
  const auto changes = replay.changes();
  if (as_json) {
    json::array list;
    for (const ReplayChange& change : changes)
      list.push_back(to_json(change));
    std::puts(json::serialize(json::object{{"changes", std::move(list)},
                                           {"judged", replay.judged()},
                                           {"unknown", replay.unknown()}})
                  .c_str());
    return;
  }
  for (const ReplayChange& change : changes) {
    std::string line = change.caller + " calls " + change.tool + ": " + change.was + " → " +
                       change.now + ", " + std::to_string(change.calls) +
                       (change.calls == 1 ? " call" : " calls");
    if (!change.rule.empty()) line += " (" + change.rule + ": " + change.message + ")";
    line += ", first " + change.time + " " + change.call_id;
    std::puts(escape_for_terminal(line).c_str());
  }
  std::printf("%zu change%s; %llu calls were judged, and of %llu too little is recorded\n",
              changes.size(), changes.size() == 1 ? "" : "s",
              static_cast<unsigned long long>(replay.judged()),
              static_cast<unsigned long long>(replay.unknown()));
}

}  // namespace

int replay_command(std::span<const char* const> words) {
  ReplayRequest request;
  const auto files = parse_mixed<ReplayRequest>(kOptions, words, request);
  const auto refuse = [&](const Error& error, int code) {
    report_problem(error, request.json);
    return code;
  };
  if (!files) return refuse(files.error(), kWrongUsage);
  if (request.help) {
    std::fputs(help_text().c_str(), stdout);
    return kSame;
  }
  if (files->size() != 1)
    return refuse({Reason::argument, "policy replay takes one policy file",
                   "write sallyport policy replay --audit DIR NEW.yaml"},
                  kWrongUsage);
  auto policy = load_policy_file(std::string(files->front()), request.json);
  if (!policy) return kWrongUsage;
  auto replay = Replay::begin(std::move(*policy));
  if (!replay) return refuse(replay.error(), kCouldNotStart);

  // Reading must not make a directory where the name was mistyped.
  if (!request.state.empty() && ::access((request.state + "/audit").c_str(), F_OK) != 0)
    return refuse({Reason::unavailable, "there is no audit log in " + quoted(request.state),
                   "name the state directory of the service or of the calls"},
                  kCouldNotStart);
  const auto state = open_state_as_owner(request.state);
  if (!state) return refuse(state.error(), kCouldNotStart);
  AuditQuery query;
  query.since = request.since;
  query.until = request.until;
  query.limit = 0;
  query.newest_first = false;
  const auto end = scan_audit(state->get(), query, [&](const std::string&, std::string_view line) {
    if (const auto record = parse_json(line); record && record->is_object())
      replay->add(record->get_object());
    return true;
  });
  if (!end)
    return refuse(end.error(),
                  end.error().reason == Reason::argument ? kWrongUsage : kCouldNotStart);
  print(*replay, request.json);
  return replay->changes().empty() ? kSame : kDifferent;
}

}  // namespace sallyport
