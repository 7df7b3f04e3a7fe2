#include "door/cli/credential_command.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <set>

#include "access/act_as_owner.h"
#include "base/json.h"
#include "base/text.h"
#include "credential/settings.h"
#include "door/cli/mixed_words.h"
#include "door/cli/problem.h"
#include "door/cli/process.h"
#include "policy/reading.h"
#include "policy/rules.h"

namespace sallyport {
namespace {

constexpr int kDone = 0, kNothingToDo = 1;

struct CredentialRequest {
  std::string state, policy;
  bool json = false;
  bool help = false;
};

constexpr Option<CredentialRequest> kOptions[] = {
    {"state", "DIR", "Options",
     "The state directory of the service. Without it, the private one of the user who asks.",
     [](CredentialRequest& request, std::string_view value) -> Result<void> {
       request.state = value;
       return {};
     }},
    {"policy", "FILE", "Options",
     "The policy. With it the list has all its credentials, and a name that it does not know is "
     "refused.",
     [](CredentialRequest& request, std::string_view value) -> Result<void> {
       request.policy = value;
       return {};
     }},
    {"json", "", "Options", "Print the list as JSON.",
     [](CredentialRequest& request, std::string_view) -> Result<void> {
       request.json = true;
       return {};
     }},
    {"help", "", "Options", "Print this text.",
     [](CredentialRequest& request, std::string_view) -> Result<void> {
       request.help = true;
       return {};
     }},
};

std::string help_text() {
  return R"(Usage: sallyport credential list [--policy FILE] [--state DIR] [--json]
       sallyport credential revoke NAME [--policy FILE] [--state DIR]
       sallyport credential restore NAME [--policy FILE] [--state DIR]

Credentials are secrets that tools use without seeing them. The list says where each comes from,
which hosts it goes to and whether it is revoked; it never has a secret in it. A credential that is
revoked is out of use at once, without a restart, in every service and every call on the state
directory, until it is restored. Leases that Vault gave for it are given back.

)" + options_help<CredentialRequest>(kOptions, CredentialRequest{}) +
         R"(
Exit codes
  0     Done.
  1     It was revoked already, or not revoked.
  2     The request was wrong.
  125   The state directory cannot be used.
)";
}

int report_call(const char* call) {
  return report({Reason::unavailable, describe(SysError{call, kRevokedDirectory, errno}), {}});
}

// Whether it can be a credential; 0, or the exit code.
int check_credential(std::string_view name, const Rules* rules) {
  if (auto checked = check_name(name, NameKind::plain); !checked) return report(checked.error());
  if (rules == nullptr || rules->credentials.contains(name)) return kDone;
  std::vector<std::string_view> names;
  names.reserve(rules->credentials.size());
  for (const auto& [known, credential] : rules->credentials)
    names.emplace_back(known);
  const auto meant = nearest(name, names);
  return report({Reason::argument, "the policy has no credential " + quoted(name),
                 meant ? "did you mean " + std::string(*meant) + "?"
                       : "`sallyport credential list --policy FILE` shows them"});
}

// The directory of revocations, made if it is to be; nothing: there is none, or see errno.
Fd open_revoked(int state, bool make) {
  if (make && ::mkdirat(state, kRevokedDirectory, 0700) != 0 && errno != EEXIST) return {};
  return Fd(::openat(state, kRevokedDirectory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

int revoke(int state, const std::string& name) {
  const Fd directory = open_revoked(state, true);
  if (!directory) return report_call("mkdirat");
  const Fd file(::openat(directory.get(), name.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file && errno == EEXIST) {
    say(name + " was revoked already");
    return kNothingToDo;
  }
  // It is to be so after a power cut too.
  if (!file || ::fsync(directory.get()) != 0 || ::fsync(state) != 0) return report_call("openat");
  std::printf("%s is revoked\n", name.c_str());
  return kDone;
}

int restore(int state, const std::string& name) {
  const Fd directory = open_revoked(state, false);
  if (!directory && errno != ENOENT) return report_call("openat");
  if (!directory || (::unlinkat(directory.get(), name.c_str(), 0) != 0 && errno == ENOENT)) {
    say(name + " was not revoked");
    return kNothingToDo;
  }
  struct stat status{};
  if (::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
    return report_call("unlinkat");
  if (::fsync(directory.get()) != 0) return report_call("fsync");
  std::printf("%s is no longer revoked\n", name.c_str());
  return kDone;
}

Result<std::set<std::string, std::less<>>> revoked_names(int state) {
  std::set<std::string, std::less<>> names;
  Fd directory = open_revoked(state, false);
  if (!directory && errno == ENOENT) return names;
  const int number = directory.release();
  const std::unique_ptr<DIR, int (*)(DIR*)> open(number < 0 ? nullptr : ::fdopendir(number),
                                                 ::closedir);
  if (!open) return fail(Reason::unavailable, SysError{"opendir", kRevokedDirectory, errno});
  while (const dirent* entry = ::readdir(open.get()))
    if (check_name(entry->d_name, NameKind::plain)) names.emplace(entry->d_name);
  return names;
}

json::object describe_credential(const Credential& credential, bool revoked) {
  json::array hosts;
  hosts.reserve(credential.to.size());
  for (const HostRule& to : credential.to)
    hosts.emplace_back(to.scheme + "://" + to.host.to_text() + ":" + std::to_string(to.port));
  return {{"name", credential.name},
          {"source", credential.from.substr(0, credential.from.find(':'))},
          {"hosts", std::move(hosts)},
          {"revoked", revoked}};
}

std::string line_of(const json::object& entry) {
  std::string line(entry.at("name").as_string());
  if (const json::value* source = entry.if_contains("source"))
    line.append("  from ").append(source->as_string());
  if (const json::value* hosts = entry.if_contains("hosts")) {
    line.append("  to");
    for (const json::value& host : hosts->as_array())
      line.append(" ").append(host.as_string());
  }
  return line.append(entry.at("revoked").as_bool() ? "  revoked" : "  in use");
}

int list(int state, const Rules* rules, bool as_json) {
  auto revoked = revoked_names(state);
  if (!revoked) return report(revoked.error());
  json::array entries;
  if (rules != nullptr)
    for (const auto& [name, credential] : rules->credentials)
      entries.push_back(describe_credential(credential, revoked->erase(name) != 0));
  // Those that the policy does not have, or that no policy was given for.
  for (const std::string& name : *revoked)
    entries.push_back(json::object{{"name", name}, {"revoked", true}});
  std::string text;
  for (const json::value& entry : entries)
    text += escape_for_terminal(line_of(entry.as_object())) + "\n";
  if (text.empty())
    text = rules != nullptr ? "The policy has no credentials.\n" : "No credential is revoked.\n";
  if (as_json) text = json::serialize(json::object{{"credentials", std::move(entries)}}) + "\n";
  std::fputs(text.c_str(), stdout);
  return kDone;
}

}  // namespace

int credential_command(std::span<const char* const> words) {
  CredentialRequest request;
  const auto plain = parse_mixed<CredentialRequest>(kOptions, words, request);
  if (!plain) return report(plain.error());
  if (request.help) {
    std::fputs(help_text().c_str(), stdout);
    return kDone;
  }
  const std::string_view verb = plain->empty() ? "" : plain->front();
  const bool takes_name = verb == "revoke" || verb == "restore";
  if ((!takes_name && verb != "list") || plain->size() != (takes_name ? 2U : 1U))
    return report({Reason::argument, "credential takes list, revoke NAME, or restore NAME",
                   "`sallyport credential --help` says more"});
  if (!request.state.empty() && ::access(request.state.c_str(), F_OK) != 0)
    return report({Reason::argument, "there is no directory " + quoted(request.state),
                   "name the state directory of the service"});
  // Before root turns into the user of the service, who may not be able to read the policy.
  std::optional<Policy> policy;
  if (!request.policy.empty()) {
    policy = load_policy_file(request.policy);
    if (!policy) return kWrongUsage;
  }
  const Rules* rules = policy ? &policy->rules() : nullptr;
  if (takes_name)
    if (const int wrong = check_credential((*plain)[1], rules); wrong != kDone) return wrong;
  const auto directory = open_state_as_owner(request.state);
  if (!directory) return report(directory.error());
  if (verb == "list") return list(directory->get(), rules, request.json);
  const std::string name((*plain)[1]);
  return verb == "revoke" ? revoke(directory->get(), name) : restore(directory->get(), name);
}

}  // namespace sallyport
