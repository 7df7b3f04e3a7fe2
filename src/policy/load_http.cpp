// The request that a tool with `http` makes.
#include <algorithm>

#include "base/text.h"
#include "fetch/order.h"
#include "http/characters.h"
#include "input/url.h"
#include "policy/load.h"

namespace sallyport {
namespace {

void read_url(const Spot& at, HttpRequestRule& http) {
  const auto text = read_text(at);
  if (!text) return;
  http.url = *text;
  // What a caller chooses may be part of the path and the query, never of the host.
  std::string_view url = *text;
  const std::size_t host = url.find("://");
  const std::size_t path = host == std::string_view::npos
                               ? host
                               : std::min(url.find_first_of("/?", host + 3), url.size());
  if (path != std::string_view::npos && url.substr(0, path).find_first_of("{}") != url.npos)
    return at.refuse("the host of a URL cannot be an argument",
                     "write the host out; the path and the query may hold placeholders");
  std::string sample;
  for (bool inside = false; const char c : url) {
    if (c == '{') inside = true;
    if (!inside) sample.push_back(c);
    if (c == '}') {
      inside = false;
      sample.push_back('x');
    }
  }
  if (auto parsed = Url::parse(sample); !parsed) at.refuse(parsed.error());
}

void read_request_headers(const Spot& at, HttpRequestRule& http) {
  for_each_entry(at, [&](const Node& key, const Spot& value) {
    if (auto checked = check_fetch_header_name(key.text); !checked)
      return value.refuse_at(key.place, checked.error().message, checked.error().hint);
    const auto is_same = [&](const auto& header) {
      return equal_ignoring_case(header.first, key.text);
    };
    if (std::ranges::any_of(http.headers, is_same))
      return value.refuse_at(key.place, "the header " + quoted(key.text) + " is there already",
                             "write it once");
    auto text = read_text(value);
    if (!text) return;
    if (auto checked = check_fetch_header(key.text, *text); !checked)
      return value.refuse(checked.error());
    http.headers.emplace(key.text, std::move(*text));
  });
}

constexpr Field<HttpRequestRule> kHttp[] = {
    {"method", R"({"enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]})", "The HTTP method.",
     into<&HttpRequestRule::method, read_http_method>, Presence::required},
    {"url", kTextValue, "Where the request goes; the path and the query may hold placeholders.",
     read_url, Presence::required},
    {"headers", R"({"type": "object", "additionalProperties": {"type": "string", "minLength": 1}})",
     "Headers by name; their values may hold placeholders. Secrets do not belong here.",
     read_request_headers},
    {"body", "{}",
     "What is sent, as JSON; strings in it may hold placeholders, and one that is a placeholder "
     "becomes the value itself.",
     into<&HttpRequestRule::body, read_json>},
};

}  // namespace

std::optional<std::string> read_http_method(const Spot& at) {
  constexpr std::string_view kMethods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};
  return read_choice(at, kMethods);
}

void read_http_request(const Spot& at, HttpRequestRule& http) {
  read_section<HttpRequestRule>(at, kHttp, http);
}

SectionText http_section() {
  return {"http", "An HTTP request that a tool makes.", texts_of<HttpRequestRule>(kHttp)};
}

}  // namespace sallyport
