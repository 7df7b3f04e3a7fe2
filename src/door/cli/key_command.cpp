#include "door/cli/key_command.h"

#include <unistd.h>

#include <cstdio>

#include "access/act_as_owner.h"
#include "access/keys.h"
#include "base/json.h"
#include "base/text.h"
#include "base/time_text.h"
#include "door/cli/mixed_words.h"
#include "door/cli/problem.h"
#include "door/cli/process.h"
#include "policy/rules.h"

namespace sallyport {
namespace {

constexpr int kDone = 0, kNoSuchKey = 1;

struct KeyRequest {
  std::string state, policy;
  std::optional<Duration> expires;
  std::vector<std::string> scopes;
  bool json = false;
  bool help = false;
};

constexpr Option<KeyRequest> kOptions[] = {
    {"state", "DIR", "Options",
     "The state directory of the service. Without it, the private one of the user who asks.",
     [](KeyRequest& request, std::string_view value) -> Result<void> {
       request.state = value;
       return {};
     }},
    {"policy", "FILE", "Options", "The policy, which has to know the caller. For add.",
     [](KeyRequest& request, std::string_view value) -> Result<void> {
       request.policy = value;
       return {};
     }},
    {"expires", "TIME", "Options", "How long the key is good for, such as 720h. Else for ever.",
     [](KeyRequest& request, std::string_view value) -> Result<void> {
       auto parsed = parse_duration(value);
       if (!parsed) return std::unexpected(parsed.error());
       if (*parsed <= Duration{})
         return fail(Reason::argument, "a key that has expired is of no use", "such as 720h");
       request.expires = *parsed;
       return {};
     }},
    {"scope", "PERMISSION", "Options",
     "Narrows the key: it is good for tools that need nothing else. Else for all that the caller "
     "may do.",
     [](KeyRequest& request, std::string_view value) -> Result<void> {
       request.scopes.emplace_back(value);
       return {};
     },
     nullptr, Times::many},
    {"json", "", "Options", "Print the list as JSON.",
     [](KeyRequest& request, std::string_view) -> Result<void> {
       request.json = true;
       return {};
     }},
    {"help", "", "Options", "Print this text.",
     [](KeyRequest& request, std::string_view) -> Result<void> {
       request.help = true;
       return {};
     }},
};

std::string help_text() {
  return R"(Usage: sallyport key add CALLER --policy FILE [--state DIR] [--expires TIME] [--scope P]
       sallyport key list [--state DIR] [--json]
       sallyport key revoke ID [--state DIR]

Keys are how callers show who they are to `sallyport serve`: Authorization: Bearer KEY. A key is
printed once, alone on standard output, when it is made; the state directory keeps a hash of it. A
key that is revoked is refused from the next request on, without a restart.

)" + options_help<KeyRequest>(kOptions, KeyRequest{}) +
         R"(
Exit codes
  0     Done.
  1     There is no key of that id.
  2     The request was wrong.
  125   The state directory cannot be used.
)";
}

Moment wall_clock() {
  return std::chrono::duration_cast<Moment>(std::chrono::system_clock::now().time_since_epoch());
}

// Whether the policy knows the caller; 0, or the exit code.
int check_caller(const KeyRequest& request, std::string_view caller) {
  if (request.policy.empty())
    return report(
        {Reason::argument, "key add needs --policy FILE", "the caller has to be in the policy"});
  const auto policy = load_policy_file(request.policy);
  if (!policy) return kWrongUsage;
  const Rules& rules = policy->rules();
  const auto needed = [&](const std::string& scope) {
    return scope == "admin" || scope == "read:audit" || scope == "read:metrics" ||
           std::ranges::any_of(rules.tools, [&](const auto& tool) {
             return std::ranges::find(tool.second.needs, scope) != tool.second.needs.end();
           });
  };
  for (const std::string& scope : request.scopes)
    if (!needed(scope)) say("warning: no tool of the policy needs " + quoted(scope));
  if (rules.callers.contains(caller)) return kDone;
  std::vector<std::string_view> names;
  names.reserve(rules.callers.size());
  for (const auto& [name, known] : rules.callers)
    names.emplace_back(name);
  const auto meant = nearest(caller, names);
  return report(
      {Reason::argument, "the policy has no caller " + quoted(caller),
       meant ? "did you mean " + std::string(*meant) + "?" : "add it under `callers:` first"});
}

int add(int directory, const KeyRequest& request, std::string_view caller) {
  Key key{.id = {},
          .caller = std::string(caller),
          .created = wall_clock(),
          .expires = {},
          .scopes = {},
          .hash = {}};
  if (request.expires) key.expires = key.created + *request.expires;
  if (!request.scopes.empty()) key.scopes = request.scopes;
  const auto text = add_key(directory, std::move(key));
  if (!text) return report(text.error());
  return write_all(1, *text + "\n") ? kDone : kCouldNotStart;
}

int list(int directory, const KeyRequest& request) {
  const auto keys = list_keys(directory);
  if (!keys) return report(keys.error());
  json::array entries;
  std::string text;
  for (const Key& key : *keys) {
    json::object entry{{"id", key.id}, {"caller", key.caller}, {"created", time_text(key.created)}};
    std::string line = key.id + "  " + key.caller + "  made " + time_text(key.created);
    if (key.expires) {
      entry["expires"] = time_text(*key.expires);
      line +=
          (wall_clock() >= *key.expires ? ", expired " : ", expires ") + time_text(*key.expires);
    }
    if (key.scopes) {
      entry["scopes"] = json::value_from(*key.scopes);
      line += ", only for";
      for (const std::string& scope : *key.scopes)
        line += " " + scope;
    }
    entries.push_back(std::move(entry));
    text += escape_for_terminal(line) + "\n";
  }
  if (request.json) text = json::serialize(json::object{{"keys", std::move(entries)}}) + "\n";
  if (text.empty()) text = "There are no keys.\n";
  std::fputs(text.c_str(), stdout);
  return kDone;
}

}  // namespace

int key_command(std::span<const char* const> words) {
  KeyRequest request;
  const auto plain = parse_mixed<KeyRequest>(kOptions, words, request);
  if (!plain) return report(plain.error());
  if (request.help) {
    std::fputs(help_text().c_str(), stdout);
    return kDone;
  }
  const std::string_view verb = plain->empty() ? "" : plain->front();
  const bool takes_word = verb == "add" || verb == "revoke";
  if ((!takes_word && verb != "list") || plain->size() != (takes_word ? 2U : 1U))
    return report({Reason::argument, "key takes add CALLER, list, or revoke ID",
                   "`sallyport key --help` says more"});
  if (verb != "add" && !request.state.empty() && ::access(request.state.c_str(), F_OK) != 0)
    return report({Reason::argument, "there is no directory " + quoted(request.state),
                   "name the state directory of the service"});
  // Before root turns into the user of the service, who may not be able to read the policy.
  if (verb == "add")
    if (const int wrong = check_caller(request, (*plain)[1]); wrong != kDone) return wrong;
  const auto directory = open_state_as_owner(request.state);
  if (!directory) return report(directory.error());
  if (verb == "add") return add(directory->get(), request, (*plain)[1]);
  if (verb == "list") return list(directory->get(), request);
  const auto revoked = revoke_key(directory->get(), (*plain)[1]);
  if (!revoked) return report(revoked.error());
  if (*revoked) return kDone;
  print_error({Reason::argument, "there is no key with the id " + quoted((*plain)[1]),
               "`sallyport key list` shows them"});
  return kNoSuchKey;
}

}  // namespace sallyport
