// The network: hosts that a tool may reach.
#include <algorithm>

#include "base/text.h"
#include "input/ip_address.h"
#include "policy/load.h"

namespace sallyport {
std::optional<ByteSize> read_bytes(const Spot& at) {
  const auto text = read_bare(at, "a size such as 10MB");
  if (!text) return std::nullopt;
  const auto size = parse_size(*text);
  if (!size || size->bytes == 0) {
    if (size)
      at.refuse(quoted(*text) + " allows nothing", "write more, or leave the key out");
    else
      at.refuse(size.error());
    return std::nullopt;
  }
  at.means(json::value(to_text(*size)));
  return *size;
}

namespace {

struct Scheme {
  std::string_view name;
  std::uint16_t port;  // 0: has to be written
};
constexpr Scheme kSchemes[] = {{"https", 443}, {"http", 80}, {"postgres", 5432}, {"tcp", 0}};
constexpr std::string_view kSchemeNames[] = {"https", "http", "postgres", "tcp"};

// A host rule while it is read: HostPattern has no empty value.
struct HostParts {
  std::optional<HostPattern> host;
  std::optional<std::uint16_t> port;
  std::string scheme = "https";
  bool internal = false, inspect = false;
  std::string address;
  std::vector<std::string> methods, paths;
};

// https://api.example.com/v1 where api.example.com is meant.
bool refuse_url(const Spot& at, std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return false;
  std::string_view host = text.substr(scheme + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  at.refuse(quoted(text) + " is a URL",
            "write the host, not a URL" + (host.empty() ? "" : ": " + quoted(host)));
  return true;
}

std::optional<HostPattern> read_host(const Spot& at) {
  const auto text = read_text(at);
  if (!text || refuse_url(at, *text)) return std::nullopt;
  const auto host = HostPattern::parse(*text);
  if (!host) {
    at.refuse(host.error());
    return std::nullopt;
  }
  at.means(json::value(host->to_text()));
  return *host;
}

void read_address(const Spot& at, HostParts& parts) {
  const auto text = read_text(at);
  if (!text) return;
  const auto address = IpAddress::parse(*text);
  if (!address) return at.refuse(address.error());
  parts.address = address->to_text();
  at.means(json::value(parts.address));
}

std::optional<std::string> read_scheme(const Spot& at) {
  return read_choice(at, kSchemeNames);
}

std::optional<std::string> read_method(const Spot& at) {
  auto text = read_text(at);
  if (!text) return std::nullopt;
  if (text->size() > 20 ||
      text->find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string::npos) {
    at.refuse(quoted(*text) + " is not an HTTP method", "write it in capitals, such as GET");
    return std::nullopt;
  }
  return text;
}

std::optional<std::string> read_url_path(const Spot& at) {
  auto text = read_text(at);
  if (!text) return std::nullopt;
  const std::string_view path = *text;
  const auto odd = path.size() > 1 ? irregular_component(path.substr(0, path.size() - 1))
                                   : std::optional<std::string_view>();
  const bool visible =
      std::ranges::all_of(path, [](char c) { return c > ' ' && c < 0x7F && c != '\\'; });
  if (path.starts_with('/') && visible && !odd && path.find_first_of("?#") == path.npos)
    return text;
  at.refuse(quoted(path) + " is not the path of a URL",
            "write it as /v1/refunds: absolute, without '.', '..', '//', '?' and '#'");
  return std::nullopt;
}

constexpr Field<HostParts> kHost[] = {
    {"host", R"({"$ref": "#/$defs/host"})", "A name, or `*.name` for all names below it.",
     into<&HostParts::host, read_host>, Presence::required},
    {"port", R"({"type": "integer", "minimum": 1, "maximum": 65535})",
     "The port; that of the scheme when it is left out.",
     into<&HostParts::port, count_between<1, 65535, std::uint16_t>>},
    {"scheme", R"({"enum": ["https", "http", "postgres", "tcp"]})",
     "What is spoken; `tcp` is not looked into.", into<&HostParts::scheme, read_scheme>},
    {"internal", kSwitchValue, "The name may lead to an address of a private network.",
     into<&HostParts::internal, read_switch>},
    {"inspect", kSwitchValue, "Look into https, so that `methods` and `paths` can be held.",
     into<&HostParts::inspect, read_switch>},
    {"address", R"({"type": "string"})", "Dial this address, whatever a resolver says.",
     read_address},
    {"methods", R"({"$ref": "#/$defs/methods"})", "The HTTP methods that may be used; else all.",
     into<&HostParts::methods, read_methods>},
    {"paths", R"({"$ref": "#/$defs/url_paths"})",
     "The beginnings of paths that may be asked for; else all.",
     into<&HostParts::paths, read_url_paths>},
};

std::optional<HostRule> finish(const Spot& at, HostParts parts) {
  if (!parts.host) return std::nullopt;
  const Scheme& scheme =
      *std::ranges::find(kSchemes, std::string_view(parts.scheme), &Scheme::name);
  if (!parts.port && scheme.port == 0) {
    at.refuse("tcp has no port of its own", "write the port");
    return std::nullopt;
  }
  const bool narrowed = !parts.methods.empty() || !parts.paths.empty();
  const bool seen = parts.scheme == "http" || (parts.scheme == "https" && parts.inspect);
  if (narrowed && !seen) {
    at.refuse(
        "methods and paths cannot be seen in " + parts.scheme,
        parts.scheme == "https" ? "write inspect: true, or leave them out" : "leave them out");
    return std::nullopt;
  }
  if (parts.inspect && (parts.scheme == "tcp" || parts.scheme == "postgres")) {
    at.refuse("nobody can look into " + parts.scheme, "leave inspect out");
    return std::nullopt;
  }
  if (parts.host->covers_subdomains() && (parts.scheme == "tcp" || parts.scheme == "postgres")) {
    at.refuse("the names below " + quoted(parts.host->to_text()) + " cannot be told apart in " +
                  parts.scheme,
              "write each host by its name");
    return std::nullopt;
  }
  if (!parts.address.empty()) {
    const auto address = IpAddress::parse(parts.address);
    const auto range = address ? internal_range(*address) : std::nullopt;
    if (range && !parts.internal) {
      at.refuse(quoted(parts.address) + " is not an address of the open internet (" +
                    std::string(*range) + ")",
                "write internal: true if it is meant");
      return std::nullopt;
    }
  }
  return HostRule{.host = std::move(*parts.host),
                  .port = parts.port.value_or(scheme.port),
                  .scheme = std::move(parts.scheme),
                  .internal = parts.internal,
                  .inspect = parts.inspect,
                  .address = std::move(parts.address),
                  .methods = std::move(parts.methods),
                  .paths = std::move(parts.paths),
                  .place = at.node().place};
}

void read_allow(const Spot& at, NetworkRules& network) {
  for_each_item(at, [&](const Spot& item) {
    if (auto rule = read_host_rule(item)) network.allow.push_back(std::move(*rule));
  });
}

constexpr Field<NetworkRules> kNetwork[] = {
    {"allow", R"({"type": "array", "items": {"$ref": "#/$defs/host_rule"}})",
     "The hosts that it may reach; an empty list is no network.", read_allow},
    {"deny", R"({"$ref": "#/$defs/hosts"})",
     "Hosts that it may not reach although `allow` has "
     "them.",
     into<&NetworkRules::deny, read_hosts>},
    {"requests", kCountValue,
     "How many connections, and requests of http, one call may make; 10 when it is left out.",
     into<&NetworkRules::requests, count_between<1, 1'000'000, unsigned>>},
    {"connections", kCountValue, "How many connections one call may have at a time.",
     into<&NetworkRules::connections, count_between<1, 256, unsigned>>},
    {"upload", kSizeValue, "How many bytes one call may send; 10MB when it is left out.",
     into<&NetworkRules::upload, read_bytes>},
    {"download", kSizeValue, "How many bytes one call may receive; 100MB when it is left out.",
     into<&NetworkRules::download, read_bytes>},
    {"time", kDurationValue, "How long one connection may last; else as long as the call.",
     into<&NetworkRules::time, read_duration>},
};

}  // namespace

std::optional<HostRule> read_host_rule(const Spot& at) {
  HostParts parts;
  if (at.node().kind == Node::Kind::map) {
    read_section<HostParts>(at, kHost, parts);
    return finish(at, std::move(parts));
  }
  const auto text = read_text(at);
  if (!text || refuse_url(at, *text)) return std::nullopt;
  const auto entry = HostPort::parse(*text);
  if (!entry) {
    at.refuse(entry.error());
    return std::nullopt;
  }
  parts.host = entry->host;
  parts.port = entry->port;
  json::object meaning{{"host", entry->host.to_text()}};  // as in the long form
  if (entry->port) meaning["port"] = std::uint64_t{*entry->port};
  at.means(std::move(meaning));
  return finish(at, std::move(parts));
}

std::optional<std::vector<std::string>> read_methods(const Spot& at) {
  return read_list<read_method>(at);
}

std::optional<std::vector<std::string>> read_url_paths(const Spot& at) {
  return read_list<read_url_path>(at);
}

std::optional<std::vector<HostPattern>> read_hosts(const Spot& at) {
  std::vector<HostPattern> hosts;
  for_each_item(at, [&](const Spot& item) {
    if (auto host = read_host(item)) hosts.push_back(std::move(*host));
  });
  if (at.node().kind != Node::Kind::list) return std::nullopt;
  return hosts;
}

std::optional<NetworkRules> read_network(const Spot& at) {
  if (at.node().kind == Node::Kind::scalar && at.node().text == "none") {
    at.means("none");
    return NetworkRules{};
  }
  if (at.node().kind == Node::Kind::scalar && !at.node().text.empty()) {
    at.refuse("`none` or a mapping is wanted here, and this is " + quoted(at.node().text),
              "write none, or {allow: [api.example.com]}");
    return std::nullopt;
  }
  NetworkRules network;
  if (!read_section<NetworkRules>(at, kNetwork, network)) return std::nullopt;
  return network;
}

SectionText network_section() {
  return {"network", "What a tool may reach; `none` is nothing but its own loopback.",
          texts_of<NetworkRules>(kNetwork), R"({"const": "none"})"};
}
SectionText host_section() {
  return {"host_rule",
          "A host that may be reached; in short `name` or `name:port` (https, on 443 unless said).",
          texts_of<HostParts>(kHost), R"({"type": "string", "minLength": 1})"};
}

}  // namespace sallyport
