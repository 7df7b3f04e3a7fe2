#include "fetch/redirect.h"

#include <algorithm>
#include <vector>

#include "base/parse.h"
#include "base/text.h"
#include "http/characters.h"

namespace sallyport {
namespace {

// Servers write names of other alphabets as they are.
std::string in_ascii(std::string_view text) {
  std::string ascii;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      ascii.push_back(c);
      continue;
    }
    ascii.push_back('%');
    ascii.push_back("0123456789ABCDEF"[byte >> 4]);
    ascii.push_back("0123456789ABCDEF"[byte & 0xF]);
  }
  return ascii;
}

bool has_scheme(std::string_view text) {
  const std::size_t colon = text.find_first_of(":/?");
  if (colon == std::string_view::npos || text[colon] != ':' || !is_alpha_char(text[0]))
    return false;
  return std::ranges::all_of(text.substr(0, colon), [](char c) {
    return is_alpha_char(c) || is_digit_char(c) || c == '+' || c == '-' || c == '.';
  });
}

// remove_dot_segments of RFC 3986, 5.2.4, of a path that begins with '/'.
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> parts;
  path.remove_prefix(1);
  parts.reserve(static_cast<std::size_t>(std::ranges::count(path, '/')) + 1);
  for (;;) {
    const bool last = !path.contains('/');
    const std::string_view part = take(path, '/');
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (part != ".") {
      parts.push_back(part);
    }
    if (last) {
      if (part == "." || part == "..") parts.emplace_back();  // it was a directory
      break;
    }
  }
  std::string result;
  for (const std::string_view part : parts)
    result.append("/").append(part);
  return result.empty() ? "/" : result;
}

std::string origin_of(const Url& url) {
  return url.scheme() + "://" + url.host_text() + ":" + std::to_string(url.port());
}

bool tells_nothing_about_the_client(std::string_view name) {
  constexpr std::string_view kPlain[] = {"accept", "accept-language", "user-agent", "content-type",
                                         "range"};
  return std::ranges::any_of(
      kPlain, [name](std::string_view plain) { return equal_ignoring_case(name, plain); });
}

bool is_about_the_body(std::string_view name) {
  constexpr std::string_view kContent = "content-";
  return equal_ignoring_case(name.substr(0, kContent.size()), kContent);
}

}  // namespace

Result<Url> resolve_reference(const Url& base, std::string_view reference) {
  const std::string text = in_ascii(reference.substr(0, reference.find('#')));
  std::string whole;
  if (has_scheme(text)) {
    whole = text;
  } else if (text.starts_with("//")) {
    whole = base.scheme() + ":" + text;
  } else {
    whole = origin_of(base);
    if (text.starts_with('/')) {
      whole += text;
    } else if (text.empty()) {
      whole += base.path() + (base.query() ? "?" + *base.query() : "");
    } else if (text.starts_with('?')) {
      whole += base.path() + text;
    } else {
      whole += base.path().substr(0, base.path().rfind('/') + 1) + text;
    }
  }
  const std::size_t authority = whole.find("://");
  const std::size_t path =
      authority == std::string::npos ? authority : whole.find_first_of("/?", authority + 3);
  if (path != std::string::npos && whole[path] == '/') {
    const std::size_t end = std::min(whole.find('?', path), whole.size());
    whole.replace(path, end - path, without_dots(std::string_view(whole).substr(path, end - path)));
  }
  return Url::parse(whole, {.max_length = kLongestFetchUrl});
}

Result<std::optional<FetchRequest>> follow(const FetchRequest& request,
                                           const ResponseHead& answer) {
  constexpr unsigned kRedirects[] = {301, 302, 303, 307, 308};
  if (std::ranges::find(kRedirects, answer.status) == std::end(kRedirects)) return std::nullopt;
  const auto is_location = [](const auto& field) {
    return equal_ignoring_case(field.first, "location");
  };
  const auto locations = std::ranges::count_if(answer.fields, is_location);
  if (locations == 0) return std::nullopt;
  if (locations > 1)
    return fail(Reason::unavailable, "the host redirects to two places at once",
                "the server is at fault");
  auto url = resolve_reference(request.url, field_of(answer.fields, "location"));
  if (!url)
    return fail(Reason::unavailable,
                "the host redirects to a place that cannot be asked: " + url.error().message,
                url.error().hint);
  if (request.url.scheme() == "https" && url->scheme() != "https")
    return fail(Reason::unavailable,
                "the host redirects from https to " + quoted(url->to_text()) +
                    ", where everybody on the way could read and change the answer",
                "ask for that URL itself if it is meant");

  FetchRequest next{request.method, std::move(*url), request.headers, request.body};
  const bool to_get = (answer.status == 303 && request.method != "HEAD") ||
                      ((answer.status == 301 || answer.status == 302) && request.method == "POST");
  if (to_get) {
    next.method = "GET";
    next.body.reset();
    std::erase_if(next.headers, [](const auto& field) { return is_about_the_body(field.first); });
  }
  if (origin_of(next.url) != origin_of(request.url))
    std::erase_if(next.headers,
                  [](const auto& field) { return !tells_nothing_about_the_client(field.first); });
  return next;
}

}  // namespace sallyport
