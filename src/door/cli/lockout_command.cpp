#include "door/cli/lockout_command.h"

#include <array>
#include <boost/json.hpp>
#include <cstdio>
#include <ctime>

#include "access/act_as_owner.h"
#include "base/text.h"
#include "door/cli/option_table.h"
#include "door/cli/problem.h"
#include "serve/service_lockouts.h"

namespace sallyport {
namespace {

constexpr int kDone = 0, kNotLockedOut = 1, kWrongRequest = 2, kUnavailable = 125;
constexpr std::string_view kUsage =
    "write sallyport lockout list [--state DIR] [--json], or sallyport lockout lift WHO "
    "[--state DIR]";

template <bool LockoutRequest::* Field>
Result<void> turn_on(LockoutRequest& request, std::string_view) {
  request.*Field = true;
  return {};
}

Result<void> set_state(LockoutRequest& request, std::string_view value) {
  request.state = value;
  return {};
}

constexpr Option<LockoutRequest> kLockoutOptions[] = {
    {"state", "DIR", "Options",
     "The state directory of the calls. Without it, the private one of the user who asks.",
     set_state},
    {"json", "", "Options", "Print the list as JSON.", turn_on<&LockoutRequest::json>},
    {"help", "", "Options", "Print this text.", turn_on<&LockoutRequest::help>},
};

Moment wall_clock() {
  return std::chrono::duration_cast<Moment>(std::chrono::system_clock::now().time_since_epoch());
}

// RFC 3339 in UTC, to the second.
std::string time_text(Moment moment) {
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(moment).count();
  tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

// Options may stand before and behind the words.
Result<std::vector<const char*>> parse_words(std::span<const char* const> words,
                                             LockoutRequest& request) {
  std::vector<const char*> plain;
  std::vector<std::string_view> given;
  while (!words.empty() && !request.help) {
    auto parsed = parse_options<LockoutRequest>(kLockoutOptions, words, request);
    if (!parsed) return std::unexpected(std::move(parsed.error()));
    for (const std::string_view name : parsed->given) {
      if (std::ranges::find(given, name) != given.end()) return repeated_option(name);
      given.push_back(name);
    }
    words = parsed->rest;
    if (words.empty()) break;
    plain.push_back(words[0]);
    words = words.subspan(1);
  }
  return plain;
}

// A service that runs has the ledger for itself, and is asked.
Result<std::vector<LockedOut>> locked_out(int state) {
  if (auto asked = ask_lockouts(state)) return std::move(*asked);
  const auto ledger = directory_ledger(state, {});
  if (!ledger) return std::unexpected(ledger.error());
  return (*ledger)->locked_out();
}

Result<bool> lift_one(int state, const std::string& who) {
  if (auto asked = ask_to_lift(state, who)) return std::move(*asked);
  const auto ledger = directory_ledger(state, {});
  if (!ledger) return std::unexpected(ledger.error());
  return (*ledger)->lift(who);
}

// A bare name is tried as a caller, and then as an address.
Result<bool> lift(int state, const std::string& who) {
  if (who.starts_with("caller/") || who.starts_with("address/")) return lift_one(state, who);
  const auto caller = lift_one(state, "caller/" + who);
  if (!caller || *caller) return caller;
  return lift_one(state, "address/" + who);
}

int report_lockout(const Error& error, bool as_json = false) {
  report_problem(error, as_json);
  return error.reason == Reason::argument ? kWrongRequest : kUnavailable;
}

}  // namespace

Result<LockoutRequest> parse_lockout(std::span<const char* const> words) {
  LockoutRequest request;
  const auto plain = parse_words(words, request);
  if (!plain) return std::unexpected(plain.error());
  if (request.help) return request;
  const std::string_view verb = plain->empty() ? "" : plain->front();
  if (verb == "list" && plain->size() == 1) return request;
  if (verb == "lift" && plain->size() == 2 && (*plain)[1][0] != '\0' && !request.json) {
    request.verb = LockoutRequest::Verb::lift;
    request.who = (*plain)[1];
    return request;
  }
  std::string message = "lockout takes list, or lift and who is to be let in again";
  if (verb == "lift" && request.json)
    message = "lockout lift answers with its exit code, not with JSON";
  else if (!verb.empty() && verb != "list" && verb != "lift")
    message = "lockout has no command " + quoted(verb);
  return fail(Reason::argument, std::move(message), std::string(kUsage));
}

std::string lockout_help_text() {
  return R"(Usage: sallyport lockout list [--state DIR] [--json]
       sallyport lockout lift WHO [--state DIR]

Shows which callers and addresses are locked out after too many refused calls, and ends a lock-out
before its time. WHO is as the list shows it, caller/NAME or address/ADDRESS, or the bare name.

)" + options_help<LockoutRequest>(kLockoutOptions, LockoutRequest{}) +
         R"(
Exit codes
  0     The list was printed, or the lock-out was lifted.
  1     WHO was not locked out.
  2     The request was wrong.
  125   The state directory cannot be used.
)";
}

std::string lockout_text(const std::vector<LockedOut>& list, Moment now) {
  if (list.empty()) return "Nobody is locked out.\n";
  std::string text;
  for (const LockedOut& entry : list) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(entry.until - now);
    text.append(escape_for_terminal(entry.who)).append("  until ").append(time_text(entry.until));
    text.append(" (").append(to_text(Duration{left})).append(" more), after ");
    text.append(std::to_string(entry.denials)).append(" denials\n");
  }
  return text;
}

std::string lockout_json(const std::vector<LockedOut>& list, Moment now) {
  boost::json::array entries;
  for (const LockedOut& entry : list)
    entries.push_back(boost::json::object{
        {"who", to_utf8(entry.who)},
        {"until", time_text(entry.until)},
        {"retry_after_ms", std::chrono::ceil<std::chrono::milliseconds>(entry.until - now).count()},
        {"denials", entry.denials}});
  return boost::json::serialize(boost::json::object{{"locked_out", std::move(entries)}});
}

int lockout_command(std::span<const char* const> words) {
  const auto request = parse_lockout(words);
  if (!request) return report_lockout(request.error());
  if (request->help) {
    std::fputs(lockout_help_text().c_str(), stdout);
    return kDone;
  }
  const auto directory = open_state_as_owner(request->state);
  if (!directory) return report_lockout(directory.error(), request->json);
  const int state = directory->get();
  if (request->verb == LockoutRequest::Verb::lift) {
    const auto lifted = lift(state, request->who);
    if (!lifted) return report_lockout(lifted.error());
    std::printf("%s %s locked out\n", escape_for_terminal(request->who).c_str(),
                *lifted ? "is no longer" : "was not");
    return *lifted ? kDone : kNotLockedOut;
  }
  const auto list = locked_out(state);
  if (!list) return report_lockout(list.error(), request->json);
  const std::string text =
      request->json ? lockout_json(*list, wall_clock()) + "\n" : lockout_text(*list, wall_clock());
  std::fputs(text.c_str(), stdout);
  return kDone;
}

}  // namespace sallyport
