#include "tool/request_template.h"

#include "base/parse.h"
#include "base/text.h"
#include "fetch/order.h"
#include "http/characters.h"
#include "input/url.h"
#include "policy/load.h"
#include "policy/network_access.h"

namespace sallyport {
namespace {

constexpr std::string_view kAllArguments = "arguments";

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_alpha_char(c) || is_digit_char(c) || std::string_view("-._~").contains(c)) {
      encoded.push_back(c);
    } else {
      encoded.push_back('%');
      encoded.push_back("0123456789ABCDEF"[byte >> 4]);
      encoded.push_back("0123456789ABCDEF"[byte & 0xF]);
    }
  }
  return encoded;
}

enum class Where { path, query, header, body };

class Filling {
 public:
  Filling(const Tool& tool, const json::object& arguments) : tool_(tool), arguments_(arguments) {}

  // Nothing: it is left out.
  Result<std::optional<std::string>> text(std::string_view pattern, Where where) const {
    auto parsed = parse_template(pattern, tool_);
    if (!parsed) return std::unexpected(std::move(parsed.error()));
    if (const std::string* name = parsed->whole(); name != nullptr && is_left_out(*name))
      return std::nullopt;
    std::string filled;
    for (const Template::Piece& piece : parsed->pieces) {
      if (piece.argument.empty()) {
        filled += piece.text;
        continue;
      }
      auto value = text_of(piece.argument, where);
      if (!value) return std::unexpected(std::move(value.error()));
      filled += *value;
    }
    return filled;
  }

  Result<std::optional<json::value>> value(const json::value& pattern) const {
    if (const json::string* text_pattern = pattern.if_string()) return whole_value(*text_pattern);
    if (const json::array* items = pattern.if_array()) {
      json::array filled;
      filled.reserve(items->size());
      for (const json::value& item : *items) {
        auto part = value(item);
        if (!part) return part;
        if (*part) filled.push_back(std::move(**part));
      }
      return filled;
    }
    if (const json::object* members = pattern.if_object()) {
      json::object filled;
      for (const json::key_value_pair& member : *members) {
        auto part = value(member.value());
        if (!part) return part;
        if (*part) filled[member.key()] = std::move(**part);
      }
      return filled;
    }
    return pattern;
  }

  Result<std::string> url() const {
    std::string_view rest = tool_.http.url;
    const bool has_query = rest.contains('?');
    const auto fixed = text(take(rest, '?'), Where::path);
    if (!fixed) return std::unexpected(fixed.error());
    std::string filled = fixed->value_or("");
    std::string query;
    while (!rest.empty()) {
      const auto pair = query_pair(take(rest, '&'));
      if (!pair) return std::unexpected(pair.error());
      if (*pair) query.append(query.empty() ? "" : "&").append(**pair);
    }
    if (has_query && !query.empty()) filled.append("?").append(query);
    auto parsed = Url::parse(filled);
    if (!parsed) return std::unexpected(std::move(parsed.error()));
    // What the rules of the network were made from.
    const auto meant = fixed_part(tool_.http);
    if (!meant || meant->scheme() != parsed->scheme() ||
        meant->host_text() != parsed->host_text() || meant->port() != parsed->port())
      return fail(Reason::internal, "the request would go to another host than the policy names");
    return parsed->to_text();
  }

 private:
  [[nodiscard]] bool is_missing(std::string_view name) const {
    return name != kAllArguments && !arguments_.contains(name);
  }
  [[nodiscard]] bool is_left_out(std::string_view name) const {
    const Argument* argument = tool_.find_argument(name);
    return is_missing(name) && argument != nullptr && argument->optional;
  }

  [[nodiscard]] Result<json::value> value_of(const std::string& name) const {
    if (const json::value* value = arguments_.if_contains(name)) return *value;
    if (name == kAllArguments) return arguments_;
    return fail(Reason::argument, "the argument " + quoted(name) + " is missing",
                "this tool cannot be called without it");
  }

  [[nodiscard]] Result<std::string> text_of(const std::string& name, Where where) const {
    const auto value = value_of(name);
    if (!value) return std::unexpected(value.error());
    std::string text =
        value->is_string() ? std::string(value->get_string()) : canonical_json(*value);
    if (where == Where::header || where == Where::body) return text;
    // "/users/{id}" must not become "/users/".
    if (where == Where::path && text.empty())
      return fail(Reason::argument, "the argument " + quoted(name) + " is empty",
                  "it is a part of the URL's path");
    return percent_encoded(text);
  }

  // "name=value": left out where the value is.
  [[nodiscard]] Result<std::optional<std::string>> query_pair(std::string_view pattern) const {
    const std::size_t equals = pattern.find('=');
    if (equals == std::string_view::npos) return text(pattern, Where::query);
    const auto name = text(pattern.substr(0, equals), Where::query);
    if (!name || !*name) return name;
    const auto value = text(pattern.substr(equals + 1), Where::query);
    if (!value || !*value) return value;
    return **name + "=" + **value;
  }

  [[nodiscard]] Result<std::optional<json::value>> whole_value(std::string_view pattern) const {
    auto parsed = parse_template(pattern, tool_);
    if (!parsed) return std::unexpected(std::move(parsed.error()));
    if (const std::string* name = parsed->whole()) {
      if (is_left_out(*name)) return std::nullopt;
      auto value = value_of(*name);
      if (!value) return std::unexpected(std::move(value.error()));
      return std::move(*value);
    }
    auto filled = text(pattern, Where::body);
    if (!filled) return std::unexpected(std::move(filled.error()));
    return json::value(filled->value_or(""));
  }

  const Tool& tool_;
  const json::object& arguments_;
};

}  // namespace

Result<FilledRequest> fill_request(const Tool& tool, const json::object& arguments) {
  const Filling filling(tool, arguments);
  FilledRequest request;
  auto url = filling.url();
  if (!url) return std::unexpected(std::move(url.error()));
  request.url = std::move(*url);
  request.headers.reserve(tool.http.headers.size());
  for (const auto& [name, pattern] : tool.http.headers) {
    auto value = filling.text(pattern, Where::header);
    if (!value) return std::unexpected(std::move(value.error()));
    if (!*value) continue;
    if (auto checked = check_fetch_header(name, **value); !checked)
      return std::unexpected(std::move(checked.error()));
    request.headers.emplace_back(name, std::move(**value));
  }
  if (tool.http.body.is_null()) return request;
  auto body = filling.value(tool.http.body);
  if (!body) return std::unexpected(std::move(body.error()));
  if (*body) request.body = canonical_json(**body);
  return request;
}

}  // namespace sallyport
