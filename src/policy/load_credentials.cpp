// Credentials: secrets that tools use without seeing them.
#include <algorithm>

#include "base/parse.h"
#include "base/text.h"
#include "http/characters.h"
#include "input/url.h"
#include "policy/load.h"

namespace sallyport {
namespace {

bool is_token(std::string_view text, std::string_view more) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           more.contains(c);
  });
}

// A program by its path, and words without spaces: nothing is left to a shell.
bool is_command(std::string_view text) {
  return text.starts_with('/') && !irregular_component(text.substr(0, text.find(' '))) &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7F; });
}

bool is_file_or_variable(std::string_view source) {
  return (source.starts_with("file:/") && !irregular_component(source.substr(5))) ||
         (source.starts_with("env:") && check_name(source.substr(4), NameKind::variable));
}

// "PATH#FIELD", or with several fields "PATH#FIELD:FIELD".
bool is_in_vault(std::string_view text) {
  const std::size_t hash = text.find('#');
  if (hash == std::string_view::npos || text.size() > 1024) return false;
  std::string_view path = text.substr(0, hash), fields = text.substr(hash + 1);
  if (path.empty() || path.starts_with('/') || irregular_component(path)) return false;
  while (!path.empty())
    if (!is_token(take(path, '/'), "_-.")) return false;
  if (fields.ends_with(':')) return false;
  do {
    if (!is_token(take(fields, ':'), "_-.")) return false;
  } while (!fields.empty());
  return true;
}

// Where a secret comes from. The secret itself is never in the file.
std::optional<std::string> read_source(const Spot& at) {
  auto text = read_text(at);
  if (!text) return std::nullopt;
  const std::string_view source = *text;
  if (is_file_or_variable(source)) return text;
  if (source.starts_with("command:") && is_command(source.substr(8))) return text;
  if (source.starts_with("vault:") && is_in_vault(source.substr(6))) return text;
  at.refuse("this does not say where the secret comes from",
            "write \"file:/PATH\", \"env:NAME\", \"command:/PATH WORD\" or "
            "\"vault:PATH#FIELD\"; the secret itself is never in the file");
  return std::nullopt;
}

std::optional<Duration> read_refresh(const Spot& at) {
  const auto refresh = read_duration(at);
  if (!refresh || *refresh >= std::chrono::seconds(1)) return refresh;
  at.refuse("a source is not looked at more than once a second", "write 1s or more");
  return std::nullopt;
}

// ---- The Vault

std::optional<std::string> read_vault_address(const Spot& at) {
  auto text = read_text(at);
  if (!text) return std::nullopt;
  const auto url = Url::parse(*text, {.allow_ip = true, .allow_internal = true});
  if (!url) {
    at.refuse(url.error());
    return std::nullopt;
  }
  const auto* address = std::get_if<IpAddress>(&url->host());
  if (url->path() != "/" || url->query() || text->ends_with('/')) {
    at.refuse("the address of Vault has a path", "write it as https://NAME:PORT");
  } else if (url->scheme() == "https" && address != nullptr) {
    at.refuse("the certificate of Vault is checked by its name, and this has none",
              "write https://NAME:PORT; /etc/hosts may say where that is");
  } else if (url->scheme() == "http" &&
             (address == nullptr || internal_range(*address) != "loopback")) {
    at.refuse("http to Vault would show its secrets to the network",
              "write https://, or http:// with an address of the loopback, such as 127.0.0.1");
  } else {
    return text;
  }
  return std::nullopt;
}

std::optional<std::string> read_token_source(const Spot& at) {
  auto text = read_text(at);
  if (!text || is_file_or_variable(*text)) return text;
  at.refuse("this does not say where the token comes from",
            "write \"file:/PATH\" or \"env:NAME\"; the token itself is never in the file");
  return std::nullopt;
}

std::optional<std::string> read_vault_namespace(const Spot& at) {
  auto text = read_text(at);
  if (!text || is_token(*text, "-_./")) return text;
  at.refuse(quoted(*text) + " is not a namespace of Vault",
            "write letters, digits, '-', '_', '.' and '/'");
  return std::nullopt;
}

constexpr Field<VaultSettings> kVault[] = {
    {"address", R"x({"type": "string", "pattern": "^https?://"})x",
     "Where it is: `https://NAME:PORT`; `http://` only with an address of the loopback.",
     into<&VaultSettings::address, read_vault_address>, Presence::required},
    {"token", R"x({"type": "string", "pattern": "^(file:/|env:)"})x",
     "Where the token is that it knows us by: `file:/PATH`, which is read for each request, or "
     "`env:NAME` of the service.",
     into<&VaultSettings::token, read_token_source>, Presence::required},
    {"ca", kTextValue,
     "The file with the authorities that vouch for it, as PEM; else those of the machine.",
     into<&VaultSettings::ca, read_absolute_path>},
    {"namespace", kTextValue, "The namespace of Vault Enterprise; else none.",
     into<&VaultSettings::name_space, read_vault_namespace>},
    {"internal", kSwitchValue, "Its name may lead to an address that is not of the open internet.",
     into<&VaultSettings::internal, read_switch>},
};

// A cell has these for itself, and would not find its programs, its network or its authorities.
bool is_of_the_cell(std::string_view variable) {
  constexpr std::string_view kNames[] = {"PATH",
                                         "HOME",
                                         "LANG",
                                         "SSL_CERT_FILE",
                                         "CURL_CA_BUNDLE",
                                         "REQUESTS_CA_BUNDLE",
                                         "NODE_EXTRA_CA_CERTS",
                                         "GIT_SSL_CAINFO",
                                         "CARGO_HTTP_CAINFO",
                                         "PIP_CERT",
                                         "DENO_CERT",
                                         "NIX_SSL_CERT_FILE",
                                         "AWS_CA_BUNDLE",
                                         "JAVA_TOOL_OPTIONS",
                                         "PGSSLROOTCERT"};
  return std::ranges::find(kNames, variable) != std::end(kNames) || variable.starts_with("LD_") ||
         variable.ends_with("_PROXY") || variable.ends_with("_proxy");
}

std::optional<std::string> read_variable(const Spot& at) {
  auto text = read_text(at);
  if (!text) return std::nullopt;
  if (auto checked = check_name(*text, NameKind::variable); !checked) {
    at.refuse(checked.error());
    return std::nullopt;
  }
  if (is_of_the_cell(*text)) {
    at.refuse(quoted(*text) + " is a variable that the cell itself needs",
              "write the one in which the tool looks for its key");
    return std::nullopt;
  }
  return text;
}

std::optional<std::string> read_shape(const Spot& at) {
  auto text = read_text(at);
  if (!text) return std::nullopt;
  if (is_token(*text, "_-.") && text->size() <= 32) return text;
  at.refuse(quoted(*text) + " is not how a placeholder can begin",
            "write a few letters, digits, '_', '-' or '.', such as ghp_");
  return std::nullopt;
}

// With one of these a request would become another, or it is taken out on the way.
bool is_framing(std::string_view header) {
  constexpr std::string_view kFraming[] = {"host",
                                           "content-length",
                                           "transfer-encoding",
                                           "content-encoding",
                                           "upgrade",
                                           "http2-settings",
                                           "sec-websocket-extensions",
                                           "connection",
                                           "proxy-connection",
                                           "proxy-authorization",
                                           "expect",
                                           "te",
                                           "trailer",
                                           "accept-encoding",
                                           "range",
                                           "if-range"};
  return std::ranges::any_of(
      kFraming, [&](std::string_view name) { return equal_ignoring_case(header, name); });
}

std::optional<std::string> read_inject(const Spot& at) {
  auto text = read_text(at);
  if (!text) return std::nullopt;
  if (*text == "bearer" || *text == "basic" || *text == "password") return text;
  const std::size_t colon = text->find(':');
  const std::string_view way = std::string_view(*text).substr(0, colon);
  const std::string_view name =
      colon == std::string::npos ? "" : std::string_view(*text).substr(colon + 1);
  if (way == "header" && is_token(name, "-_") && !is_framing(name)) return text;
  if (way == "query" && is_token(name, "-_.")) return text;
  if (way == "basic" && is_token(name, "-_.@+")) return text;
  at.refuse(quoted(*text) + " is not a way to send a secret",
            "write bearer, basic, basic:USER, header:NAME, query:NAME, or password for postgres");
  return std::nullopt;
}

// Where a placeholder may stand: a header or a parameter, by its name.
std::optional<std::string> read_place(const Spot& at) {
  auto text = read_text(at);
  if (!text) return std::nullopt;
  const std::size_t colon = text->find(':');
  const std::string_view where = std::string_view(*text).substr(0, colon);
  const std::string_view name =
      colon == std::string::npos ? "" : std::string_view(*text).substr(colon + 1);
  if (where == "header" && is_token(name, "-_") && !is_framing(name)) return text;
  if (where == "query" && is_token(name, "-_.")) return text;
  at.refuse(quoted(*text) + " is not a place for a placeholder",
            "write header:NAME or query:NAME, such as header:Authorization");
  return std::nullopt;
}

std::optional<std::vector<std::string>> read_places(const Spot& at) {
  return read_list<read_place>(at);
}

void read_to(const Spot& at, Credential& credential) {
  for_each_item(at, [&](const Spot& item) {
    auto rule = read_host_rule(item);
    if (!rule) return;
    if (rule->scheme != "https" && rule->scheme != "postgres")
      return item.refuse("a credential is not sent over " + rule->scheme,
                         "only https and postgres keep it from others");
    if (!rule->methods.empty() || !rule->paths.empty())
      return item.refuse("methods and paths are those of the credential", "write them beside `to`");
    credential.to.push_back(std::move(*rule));
  });
}

constexpr Field<Credential> kCredential[] = {
    {"from", R"x({"type": "string", "pattern": "^(file:/|env:|command:/|vault:)"})x",
     "Where the secret is: `file:/PATH`, `env:NAME` of the service, what `command:/PATH WORD…` "
     "prints, or `vault:PATH#FIELD`.",
     into<&Credential::from, read_source>, Presence::required},
    {"inject",
     R"({"type": "string", "pattern": "^(bearer|basic(:.+)?|header:.+|query:.+|password)$"})",
     "How it is sent, whatever the tool does: `bearer`, `basic` (the secret is `user:password`), "
     "`basic:USER`, `header:NAME`, `query:NAME`; `password` of postgres.",
     into<&Credential::inject, read_inject>},
    {"env", kTextValue, "The variable in which the tool finds a placeholder for it.",
     into<&Credential::env, read_variable>},
    {"shape", kTextValue,
     "How the placeholder begins, such as `ghp_`; when it is left out, as is usual for `env`.",
     into<&Credential::shape, read_shape>},
    {"places", R"({"type": "array", "items": {"type": "string", "pattern": "^(header|query):."}})",
     "Where in a request the placeholder may stand: `header:NAME`, `query:NAME`; when it is left "
     "out, in the headers that services take keys in, such as `Authorization` and `X-Api-Key`.",
     into<&Credential::places, read_places>},
    {"to", R"({"type": "array", "items": {"$ref": "#/$defs/host_rule"}})",
     "The hosts that it is sent to, and no other; written as in `network.allow`.", read_to,
     Presence::required},
    {"methods", R"({"$ref": "#/$defs/methods"})",
     "The HTTP methods that it is sent with; else all.", into<&Credential::methods, read_methods>},
    {"paths", R"({"$ref": "#/$defs/url_paths"})",
     "The beginnings of paths that it is sent to; else all.",
     into<&Credential::paths, read_url_paths>},
    {"uses", R"({"type": "integer", "minimum": 1, "maximum": 1000000})",
     "How often one call may use it; else without a bound.",
     into<&Credential::uses, count_between<1, 1'000'000, unsigned>>},
    {"expires", kDurationValue, "How long a call may use it after it began; else until it ends.",
     into<&Credential::expires, read_duration>},
    {"refresh", kDurationValue, "How often the source is looked at; 1min.",
     into<&Credential::refresh, read_refresh>},
};

void check_ways(const Spot& value, const Credential& credential) {
  const bool speaks_sql = std::ranges::any_of(
      credential.to, [](const HostRule& to) { return to.scheme == "postgres"; });
  const bool speaks_http =
      std::ranges::any_of(credential.to, [](const HostRule& to) { return to.scheme == "https"; });
  if (speaks_sql && speaks_http)
    return value.refuse("the credential goes to hosts of two kinds, https and postgres",
                        "describe it twice");
  if (speaks_sql && !credential.inject.empty() && credential.inject != "password")
    return value.refuse(quoted(credential.inject) + " is not a way to send a secret in postgres",
                        "write inject: password");
  if (speaks_http && credential.inject == "password")
    return value.refuse("a password is sent in postgres only", "write inject: bearer or basic");
  if (speaks_sql && (!credential.methods.empty() || !credential.paths.empty()))
    return value.refuse("postgres has neither methods nor paths", "leave them out");
  if (credential.env.empty() && !credential.shape.empty())
    return value.refuse("there is no placeholder that could have a shape", "write env: NAME");
  if (credential.env.empty() && !credential.places.empty())
    return value.refuse("there is no placeholder that could stand in `places`", "write env: NAME");
  if (speaks_sql && !credential.places.empty())
    return value.refuse("postgres has no headers and no query", "leave `places` out");
}

}  // namespace

void read_vault(const Spot& at, Rules& rules) {
  read_section<VaultSettings>(at, kVault, rules.vault.emplace());
}

void read_credentials(const Spot& at, Rules& rules) {
  for_each_entry(at, [&](const Node& key, const Spot& value) {
    if (!check_key(value, key, NameKind::plain)) return;
    Credential credential{.name = key.text, .place = key.place};
    if (!read_section<Credential>(value, kCredential, credential)) return;
    if (value.node().find("to") && value.node().find("from") && !value.node().find("inject") &&
        !value.node().find("env"))
      value.refuse("the credential says neither how it is sent nor where the tool finds it",
                   "write inject: bearer, or env: NAME");
    check_ways(value, credential);
    if (credential.from.starts_with("vault:") && !rules.vault)
      value.refuse("the policy does not say where Vault is", "write vault: at the top of the file");
    rules.credentials.emplace(key.text, std::move(credential));
  });
}

SectionText vault_section() {
  return {"vault",
          "A HashiCorp Vault, or what speaks like one. Requests to it are made by the process that "
          "reads the sources of credentials.",
          texts_of<VaultSettings>(kVault)};
}

SectionText credential_section() {
  return {"credential",
          "A secret that a tool may use without seeing it. A tool that uses one may reach its "
          "hosts; nothing else follows from it.",
          texts_of<Credential>(kCredential)};
}

}  // namespace sallyport
