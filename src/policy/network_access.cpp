#include "policy/network_access.h"

#include <algorithm>

namespace sallyport {
namespace {

EgressScheme scheme_of(std::string_view name) {
  for (const EgressScheme scheme :
       {EgressScheme::https, EgressScheme::http, EgressScheme::postgres})
    if (name == name_of(scheme)) return scheme;
  return EgressScheme::tcp;
}

// The directory of the path, or all of it if the policy has written it out.
std::vector<std::string> narrowed_paths(const HttpRequestRule& request, const Url& url) {
  const std::string& path = url.path();
  // Rules are held against decoded paths.
  if (path.contains('%')) return {};
  const std::size_t placeholder = request.url.find('{');
  if (placeholder == std::string::npos || request.url.find('?') < placeholder) return {path};
  return {path.substr(0, path.rfind('/') + 1)};
}

// How the secrets that programs look for in a variable begin, so that a library which checks the
// form of its key takes the placeholder for one.
std::string usual_shape(std::string_view variable) {
  constexpr std::pair<std::string_view, std::string_view> kShapes[] = {
      {"GITHUB_TOKEN", "ghp_"},
      {"GH_TOKEN", "ghp_"},
      {"GITLAB_TOKEN", "glpat-"},
      {"OPENAI_API_KEY", "sk-"},
      {"ANTHROPIC_API_KEY", "sk-ant-api03-"},
      {"HF_TOKEN", "hf_"},
      {"NPM_TOKEN", "npm_"},
      {"PYPI_TOKEN", "pypi-"},
      {"SLACK_BOT_TOKEN", "xoxb-"},
      {"STRIPE_API_KEY", "sk_test_"},
      {"REPLICATE_API_TOKEN", "r8_"},
      {"GROQ_API_KEY", "gsk_"},
      {"SENDGRID_API_KEY", "SG."},
      {"DIGITALOCEAN_TOKEN", "dop_v1_"},
      {"LINEAR_API_KEY", "lin_api_"},
      {"NOTION_TOKEN", "ntn_"},
      {"VAULT_TOKEN", "hvs."},
      {"TAILSCALE_AUTHKEY", "tskey-auth-"}};
  for (const auto& [name, shape] : kShapes)
    if (name == variable) return std::string(shape);
  return {};
}

GrantPlace place_of(std::string_view way) {
  constexpr std::pair<std::string_view, GrantPlace> kWays[] = {{"bearer", GrantPlace::bearer},
                                                               {"basic", GrantPlace::basic},
                                                               {"header", GrantPlace::header},
                                                               {"query", GrantPlace::query},
                                                               {"password", GrantPlace::password}};
  for (const auto& [name, place] : kWays)
    if (name == way) return place;
  return GrantPlace::placeholder;
}

EgressGrant grant_of(const Credential& credential) {
  const std::size_t colon = credential.inject.find(':');
  EgressGrant grant{
      .credential = credential.name,
      .to = {},
      .methods = credential.methods,
      .paths = credential.paths,
      .place = place_of(std::string_view(credential.inject).substr(0, colon)),
      .field = colon == std::string::npos ? "" : credential.inject.substr(colon + 1),
      .variable = credential.env,
      .shape = credential.shape.empty() ? usual_shape(credential.env) : credential.shape,
      .places = credential.places,
      .uses = credential.uses.value_or(0),
      .expires = credential.expires.value_or(Duration{})};
  grant.to.reserve(credential.to.size());
  for (const HostRule& to : credential.to)
    grant.to.push_back(
        {.host = to.host.to_text(), .port = to.port, .scheme = scheme_of(to.scheme)});
  return grant;
}

// A tool that uses a credential may reach its hosts, for what the credential is for.
void add_credential(const Credential& credential, EgressRules& rules) {
  std::size_t index = 0;
  for (const HostRule& to : credential.to)
    rules.allow.push_back(
        {.host = to.host.to_text(),
         .port = to.port,
         .scheme = scheme_of(to.scheme),
         .internal = to.internal,
         .inspect = to.scheme == "https",
         .address = to.address,
         .methods = credential.methods,
         .paths = credential.paths,
         .id = "credentials." + credential.name + ".to[" + std::to_string(index++) + "]"});
  rules.grants.push_back(grant_of(credential));
}

bool is_for(const Credential& credential, const EgressRule& rule) {
  const auto name = HostName::parse(rule.host);
  return name && std::ranges::any_of(credential.to, [&](const HostRule& to) {
           return to.host.matches(*name) && to.port == rule.port &&
                  scheme_of(to.scheme) == rule.scheme;
         });
}

std::optional<EgressRule> request_rule(const Tool& tool) {
  if (tool.kind != ToolKind::http) return std::nullopt;
  const auto url = fixed_part(tool.http);
  if (!url || !std::holds_alternative<HostName>(url->host())) return std::nullopt;
  EgressRule rule{.host = url->host_text(),
                  .port = url->port(),
                  .scheme = scheme_of(url->scheme()),
                  .id = "tools." + tool.name + ".http"};
  rule.inspect = rule.scheme == EgressScheme::https &&
                 std::ranges::any_of(tool.granted, [&](const Credential& credential) {
                   return is_for(credential, rule);
                 });
  if (rule.scheme == EgressScheme::http || rule.inspect) {
    rule.methods = {tool.http.method};
    rule.paths = narrowed_paths(tool.http, *url);
  }
  return rule;
}

}  // namespace

std::optional<Url> fixed_part(const HttpRequestRule& request) {
  auto url = Url::parse(request.url.substr(0, request.url.find_first_of("{?")),
                        {.allow_ip = true, .allow_internal = true});
  return url ? std::optional(std::move(*url)) : std::nullopt;
}

std::vector<std::string> fetch_methods(const Tool& tool) {
  return tool.methods.empty() ? std::vector<std::string>{"GET", "HEAD"} : tool.methods;
}

EgressRules network_access(const Ceiling& ceiling, const Tool& tool) {
  EgressRules rules;
  const bool fetches = tool.kind == ToolKind::builtin && tool.builtin == Builtin::http_fetch;
  rules.allow.reserve(tool.network.allow.size() + 1);
  for (const HostRule& rule : tool.network.allow)
    rules.allow.push_back({.host = rule.host.to_text(),
                           .port = rule.port,
                           .scheme = scheme_of(rule.scheme),
                           .internal = rule.internal,
                           .inspect = rule.inspect && rule.scheme == "https",
                           .address = rule.address,
                           .methods = rule.methods,
                           .paths = rule.paths,
                           .id = "tools." + tool.name + ".network.allow[" +
                                 std::to_string(rules.allow.size()) + "]"});
  if (fetches)
    for (EgressRule& rule : rules.allow)
      if (rule.scheme == EgressScheme::http && rule.methods.empty())
        rule.methods = fetch_methods(tool);
  for (const Credential& credential : tool.granted)
    add_credential(credential, rules);
  if (auto rule = request_rule(tool)) rules.allow.push_back(std::move(*rule));
  rules.deny.reserve(tool.network.deny.size() + ceiling.deny_hosts.size());
  for (const auto* denied : {&tool.network.deny, &ceiling.deny_hosts})
    for (const HostPattern& host : *denied)
      rules.deny.push_back(host.to_text());
  rules.requests = tool.network.requests.value_or(rules.requests);
  rules.connections = tool.network.connections.value_or(rules.connections);
  rules.upload = tool.network.upload.value_or(rules.upload);
  rules.download = tool.network.download.value_or(rules.download);
  rules.time = tool.network.time.value_or(rules.time);
  return rules;
}

ReaderSettings reader_settings(const Rules& rules, std::string revoked) {
  std::map<std::string_view, const Credential*> used;
  for (const auto& [name, tool] : rules.tools)
    for (const Credential& credential : tool.granted)
      used.emplace(credential.name, &credential);
  ReaderSettings settings{
      .sources = {}, .revoked = std::move(revoked), .vault = rules.vault.value_or(VaultSettings{})};
  settings.sources.reserve(used.size());
  for (const auto& [name, credential] : used)
    settings.sources.push_back({.name = credential->name,
                                .from = credential->from,
                                .refresh = credential->refresh.value_or(std::chrono::minutes(1))});
  return settings;
}

}  // namespace sallyport
