#include "fetch/order.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "http/characters.h"

namespace sallyport {
namespace {

// Behind everything that a caller may send, so that no order is refused for its size.
constexpr JsonLimits kOrderLimits{.max_depth = 8, .max_bytes = std::size_t{64} << 20};

constexpr std::string_view kForms[] = {"document", "text", "json"};

constexpr std::string_view kOurs[] = {"host",       "content-length",  "transfer-encoding",
                                      "connection", "keep-alive",      "te",
                                      "trailer",    "upgrade",         "expect",
                                      "via",        "accept-encoding", "http2-settings"};

std::unexpected<Error> broken(std::string_view key) {
  return fail(Reason::internal, "the order has no proper " + quoted(key));
}

class Reader {
 public:
  explicit Reader(const json::object& object) : object_(object) {}

  bool text(std::string_view key, std::string& into) const {
    const json::value* value = object_.if_contains(key);
    if (value == nullptr || !value->is_string()) return false;
    into = value->get_string();
    return true;
  }
  template <class Number>
  bool count(std::string_view key, Number& into) const {
    const json::value* value = object_.if_contains(key);
    if (value == nullptr || !value->is_int64() || value->get_int64() < 0) return false;
    if (!std::in_range<Number>(value->get_int64())) return false;
    into = static_cast<Number>(value->get_int64());
    return true;
  }
  bool flag(std::string_view key, bool& into) const {
    const json::value* value = object_.if_contains(key);
    if (value == nullptr || !value->is_bool()) return false;
    into = value->get_bool();
    return true;
  }
  [[nodiscard]] const json::array* list(std::string_view key) const {
    const json::value* value = object_.if_contains(key);
    return value != nullptr ? value->if_array() : nullptr;
  }
  [[nodiscard]] bool has(std::string_view key) const { return object_.contains(key); }

 private:
  const json::object& object_;
};

Result<void> read_headers(const Reader& reader, FetchOrder& order) {
  const json::array* headers = reader.list("headers");
  if (headers == nullptr) return broken("headers");
  order.headers.reserve(headers->size());
  for (const json::value& header : *headers) {
    const json::array* pair = header.if_array();
    if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_string())
      return broken("headers");
    order.headers.emplace_back((*pair)[0].get_string(), (*pair)[1].get_string());
    const auto& [name, value] = order.headers.back();
    if (auto checked = check_fetch_header(name, value); !checked) return checked;
  }
  return {};
}

}  // namespace

std::string_view name_of(FetchForm form) {
  return kForms[static_cast<std::size_t>(form)];
}

Result<void> check_fetch_header_name(std::string_view name) {
  const auto refuse = [name](std::string_view what, std::string hint) {
    return fail(Reason::argument, "the header " + quoted(name) + " " + std::string(what),
                std::move(hint));
  };
  if (name.empty() || name.size() > 100 || !std::ranges::all_of(name, is_token_char))
    return refuse("has no proper name", "use letters, digits and '-'");
  const auto is_name = [name](std::string_view other) { return equal_ignoring_case(name, other); };
  constexpr std::string_view kProxy = "proxy-";
  if (std::ranges::any_of(kOurs, is_name) ||
      equal_ignoring_case(name.substr(0, kProxy.size()), kProxy))
    return refuse("cannot be given", "it is made from the request itself; leave it out");
  return {};
}

Result<void> check_fetch_header(std::string_view name, std::string_view value) {
  if (auto checked = check_fetch_header_name(name); !checked) return checked;
  // A line break in it would begin a header of the caller's, or a second request.
  if (value.size() > 8192 || !std::ranges::all_of(value, is_value_char))
    return fail(Reason::argument,
                "the header " + quoted(name) + " has a value that is not one short line of ASCII",
                "leave line ends, control characters and other alphabets out");
  return {};
}

std::string to_text(const FetchOrder& order) {
  const auto number = [](std::uint64_t count) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(count, INT64_MAX));
  };
  json::array headers;
  headers.reserve(order.headers.size());
  for (const auto& [name, value] : order.headers)
    headers.push_back(json::array{name, value});
  json::object object{{"method", order.method},
                      {"url", order.url},
                      {"headers", std::move(headers)},
                      {"form", name_of(order.form)},
                      {"readable", order.readable},
                      {"most_bytes", number(order.most_bytes)},
                      {"max_answer", number(order.max_answer)},
                      {"redirects", number(order.redirects)},
                      {"milliseconds", number(order.milliseconds)},
                      {"allowed", json::array(order.allowed.begin(), order.allowed.end())}};
  if (order.body) object["body"] = *order.body;
  return canonical_json(object);
}

Result<FetchOrder> parse_fetch_order(std::string_view text) {
  auto value = parse_json(text, kOrderLimits);
  if (!value) return std::unexpected(std::move(value.error()));
  if (!value->is_object()) return fail(Reason::internal, "the order is not an object");
  const Reader reader(value->get_object());
  FetchOrder order;
  if (!reader.text("method", order.method) || order.method.empty() ||
      !std::ranges::all_of(order.method, [](char c) { return c >= 'A' && c <= 'Z'; }))
    return broken("method");
  if (!reader.text("url", order.url)) return broken("url");
  if (auto read = read_headers(reader, order); !read) return std::unexpected(read.error());
  if (reader.has("body") && !reader.text("body", order.body.emplace())) return broken("body");
  std::string form;
  if (!reader.text("form", form) || std::ranges::find(kForms, form) == std::end(kForms))
    return broken("form");
  order.form = static_cast<FetchForm>(std::ranges::find(kForms, form) - std::begin(kForms));
  if (!reader.flag("readable", order.readable)) return broken("readable");
  if (!reader.count("most_bytes", order.most_bytes)) return broken("most_bytes");
  if (!reader.count("max_answer", order.max_answer)) return broken("max_answer");
  if (!reader.count("redirects", order.redirects)) return broken("redirects");
  if (!reader.count("milliseconds", order.milliseconds)) return broken("milliseconds");
  const json::array* allowed = reader.list("allowed");
  if (allowed == nullptr) return broken("allowed");
  order.allowed.reserve(allowed->size());
  for (const json::value& host : *allowed) {
    if (!host.is_string()) return broken("allowed");
    order.allowed.emplace_back(host.get_string());
  }
  return order;
}

}  // namespace sallyport
