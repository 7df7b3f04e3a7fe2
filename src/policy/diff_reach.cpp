// What a tool can touch on the machine and reach on the network, before and after.
#include <algorithm>

#include "policy/changes.h"
#include "policy/explain_sections.h"
#include "policy/words.h"

namespace sallyport {
namespace {

// Whether all that `rule` shows is shown at the same place by `other`.
bool covers(const FileRule& other, const FileRule& rule) {
  if (other.names &&
      (!rule.names || other.names_text != rule.names_text || other.host != rule.host))
    return false;
  const auto rest = [](std::string_view path, std::string_view base) -> std::optional<std::string> {
    if (base == "/") return std::string(path.substr(path == "/" ? 1 : 0));
    if (!path.starts_with(base)) return std::nullopt;
    path.remove_prefix(base.size());
    if (!path.empty() && !path.starts_with('/')) return std::nullopt;
    return std::string(path);
  };
  const auto on_host = rest(rule.host, other.host), inside = rest(rule.inside, other.inside);
  return on_host && inside && *on_host == *inside;
}

std::vector<std::string> rules_not_in(const std::vector<FileRule>& some,
                                      const std::vector<FileRule>& others) {
  std::vector<std::string> found;
  for (const FileRule& rule : some) {
    if (std::ranges::any_of(others, [&](const FileRule& other) { return covers(other, rule); }))
      continue;
    found.push_back(rule.host + (rule.names ? "/" + rule.names_text : "") +
                    (rule.inside == rule.host ? "" : " at " + rule.inside));
  }
  return found;
}

// What may be written may be read.
std::vector<FileRule> readable(const Tool& tool) {
  std::vector<FileRule> rules = tool.files.read;
  rules.insert(rules.end(), tool.files.write.begin(), tool.files.write.end());
  return rules;
}

bool covers(const std::vector<std::string>& others, const std::vector<std::string>& some) {
  if (others.empty()) return true;
  return !some.empty() && std::ranges::all_of(some, [&](const std::string& each) {
    return std::ranges::find(others, each) != others.end();
  });
}

bool covers(const HostPattern& other, const HostPattern& host) {
  if (other == host) return true;
  if (!other.covers_subdomains()) return false;
  return host.base().to_text().ends_with("." + other.base().to_text());
}

bool covers(const HostRule& other, const HostRule& rule) {
  return covers(other.host, rule.host) && other.port == rule.port && other.scheme == rule.scheme &&
         (other.internal || !rule.internal) && (!other.inspect || rule.inspect) &&
         other.address == rule.address && covers(other.methods, rule.methods) &&
         covers(other.paths, rule.paths);
}

std::vector<std::string> rules_not_in(const std::vector<HostRule>& some,
                                      const std::vector<HostRule>& others) {
  std::vector<std::string> found;
  for (const HostRule& rule : some)
    if (std::ranges::none_of(others, [&](const HostRule& other) { return covers(other, rule); }))
      found.push_back(host_sentence(rule));
  return found;
}

// A credential that both use may be bound to other hosts, or taken from another place.
void compare_credential(ChangeList& changes, const std::string& name, const Rules& old_rules,
                        const Rules& new_rules) {
  const auto a = old_rules.credentials.find(name), b = new_rules.credentials.find(name);
  if (a == old_rules.credentials.end() || b == new_rules.credentials.end()) return;
  const Credential& before = a->second;
  const Credential& after = b->second;
  const std::string place = "credential " + name + ": ";
  compare_lists(changes, host_texts(before.to), host_texts(after.to), place + "goes now to ",
                place + "no longer goes to ");
  const auto limit = [&](const std::vector<std::string>& x, const std::vector<std::string>& y,
                         const std::string& what) {
    changes.ordered(!covers(x, y), !covers(y, x),
                    place + what + " " + (x.empty() ? "any" : list_names(x)) + " → " +
                        (y.empty() ? "any" : list_names(y)));
  };
  limit(before.methods, after.methods, "methods");
  limit(before.paths, after.paths, "paths");
  if (before.from != after.from) changes.changed(place + "comes from another place");
  compare_bounds(changes, before.uses, after.uses, place + "uses",
                 [](unsigned uses) { return std::to_string(uses); });
  compare_bounds(changes, before.expires, after.expires, place + "expires",
                 [](Duration expires) { return to_text(expires); });
  if (before.places != after.places)
    changes.changed(place + "places " +
                    (before.places.empty() ? "usual" : list_names(before.places)) + " → " +
                    (after.places.empty() ? "usual" : list_names(after.places)));
  if (before.inject != after.inject || before.env != after.env || before.shape != after.shape)
    changes.changed(place + "is handed over in another way");
}

}  // namespace

void compare_files(ChangeList& changes, const Tool& before, const Tool& after) {
  const auto note = [&](const std::vector<FileRule>& a, const std::vector<FileRule>& b,
                        const std::string& verb) {
    const auto more = rules_not_in(b, a), less = rules_not_in(a, b);
    if (!more.empty()) changes.wider("can now " + verb + " " + list_names(more));
    if (!less.empty()) changes.narrower("can no longer " + verb + " " + list_names(less));
  };
  note(readable(before), readable(after), "read");
  note(before.files.write, after.files.write, "write");
  if (before.files.write_mode != after.files.write_mode && !after.files.write.empty()) {
    const bool direct = after.files.write_mode == WriteMode::direct;
    changes.ordered(direct, !direct,
                    direct ? "its changes reach the machine at once, without a size limit"
                           : "its changes are held in the scratch and copied back");
  }
  const ClientFiles was = before.files.client, is = after.files.client;
  if (was == is) return;
  changes.ordered(is > was, is < was,
                  is == ClientFiles::none
                      ? "its callers can no longer show it files of their own"
                      : std::string("its callers may show it files of their own, ") +
                            (is == ClientFiles::write ? "also writable" : "read-only"));
}

void compare_network(ChangeList& changes, const Rules& old_rules, const Tool& before,
                     const Rules& new_rules, const Tool& after) {
  changes.ordered(after.share_network && !before.share_network,
                  before.share_network && !after.share_network,
                  after.share_network ? "SHARES NOW THE NETWORK OF THIS MACHINE"
                                      : "no longer shares the network of this machine");
  const auto more = rules_not_in(after.network.allow, before.network.allow);
  const auto less = rules_not_in(before.network.allow, after.network.allow);
  if (!more.empty()) changes.wider("can now reach " + list_names(more));
  if (!less.empty()) changes.narrower("can no longer reach " + list_names(less));
  compare_lists(changes, host_texts(after.network.deny), host_texts(before.network.deny),
                "no longer denies the host ", "denies now the host ");
  compare_bounds(changes, before.network.connections, after.network.connections, "connections",
                 [](unsigned connections) { return std::to_string(connections); });
  const auto shown_size = [](ByteSize size) { return to_text(size); };
  compare_bounds(changes, before.network.upload, after.network.upload, "upload", shown_size);
  compare_bounds(changes, before.network.download, after.network.download, "download", shown_size);
  compare_bounds(changes, before.network.time, after.network.time, "time of a connection",
                 [](Duration time) { return to_text(time); });
  compare_bounds(changes, before.network.requests, after.network.requests, "requests",
                 [](unsigned requests) { return std::to_string(requests); });
  compare_lists(changes, before.credentials, after.credentials, "can now use the credential ",
                "can no longer use the credential ");
  for (const std::string& name : after.credentials)
    if (std::ranges::find(before.credentials, name) != before.credentials.end())
      compare_credential(changes, name, old_rules, new_rules);
}

}  // namespace sallyport
