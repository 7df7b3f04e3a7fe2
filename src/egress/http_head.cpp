#include "egress/http_head.h"

#include <algorithm>

#include "base/parse.h"
#include "http/characters.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostFields = 200;

// Beside ASCII, the bytes of other character sets, which pass as they are.
bool is_passed_value(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return is_value_char(c) || static_cast<unsigned char>(c) >= 0x80; });
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_char);
}

bool is_visible(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7F; });
}

// One line, without its end. The text holds a whole head, so every line has one.
std::optional<std::string_view> take_line(std::string_view& rest) {
  const std::size_t end = rest.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return line;
}

bool lists(std::string_view value, std::string_view word) {
  while (!value.empty())
    if (equal_ignoring_case(without_spaces(take(value, ',')), word)) return true;
  return false;
}

struct Lengths {
  std::optional<std::uint64_t> length;
  bool chunked = false;
};

std::string_view read_length(std::string_view name, std::string_view value, Lengths& lengths) {
  if (equal_ignoring_case(name, "content-length")) {
    if (lengths.length) return "There are two Content-Length headers.";
    if (value.empty() || value.size() > 18 || !std::ranges::all_of(value, is_digit_char))
      return "The Content-Length is not a plain number.";
    lengths.length = whole_number<std::uint64_t>(value);
  } else if (equal_ignoring_case(name, "transfer-encoding")) {
    if (lengths.chunked) return "There are two Transfer-Encoding headers.";
    if (!equal_ignoring_case(value, "chunked")) return "The only transfer coding is chunked.";
    lengths.chunked = true;
  }
  if (lengths.length && lengths.chunked)
    return "There is both a Content-Length and a Transfer-Encoding.";
  return {};
}

std::string_view read_fields(std::string_view rest, HeadFields& fields, Lengths& lengths) {
  for (;;) {
    const auto line = take_line(rest);
    if (!line) return "The head does not end.";
    if (line->empty()) return rest.empty() ? std::string_view() : "The head does not end.";
    if (fields.size() >= kMostFields) return "There are too many headers.";
    const std::size_t colon = line->find(':');
    const std::string_view name = line->substr(0, colon);
    if (colon == std::string_view::npos || !is_token(name)) return "A header is not NAME: VALUE.";
    const std::string_view value = without_spaces(line->substr(colon + 1));
    if (!is_passed_value(value)) return "A header holds a control byte or a bare line end.";
    if (const auto fault = read_length(name, value, lengths); !fault.empty()) return fault;
    fields.emplace_back(name, value);
  }
}

bool is_for_proxies(std::string_view name) {
  return equal_ignoring_case(name, "proxy-connection") ||
         equal_ignoring_case(name, "proxy-authorization");
}

std::string join(std::string first, const HeadFields& fields) {
  first += "\r\n";
  for (const auto& [name, value] : fields) {
    if (is_for_proxies(name)) continue;
    first.append(name).append(": ").append(value).append("\r\n");
  }
  return first += "\r\n";
}

// Another protocol (h2c) would carry requests that nobody judges. A server need not agree to it, so
// it is not asked.
void drop_upgrade(RequestHead& request) {
  std::erase_if(request.fields, [](const auto& field) {
    return equal_ignoring_case(field.first, "upgrade") ||
           equal_ignoring_case(field.first, "http2-settings") ||
           equal_ignoring_case(field.first, "connection");
  });
  if (!request.keep_alive) request.fields.emplace_back("Connection", "close");
}

// Whether a connection is kept, of which version 1.0 must say so.
bool is_kept(bool old_version, const HeadFields& fields) {
  bool kept = !old_version;
  for (const auto& [name, value] : fields) {
    if (!equal_ignoring_case(name, "connection")) continue;
    if (lists(value, "close")) return false;
    if (lists(value, "keep-alive")) kept = true;
  }
  return kept;
}

}  // namespace

std::optional<std::size_t> head_end(std::string_view bytes, std::size_t& searched) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  const std::size_t at = bytes.find(kEnd, searched);
  if (at != std::string_view::npos) return at + kEnd.size();
  searched = bytes.size() < kEnd.size() ? 0 : bytes.size() - kEnd.size() + 1;
  return std::nullopt;
}

std::string_view field_of(const HeadFields& fields, std::string_view name) {
  for (const auto& [key, value] : fields)
    if (equal_ignoring_case(key, name)) return value;
  return {};
}

std::string_view parse_request_head(std::string_view head, RequestHead& request) {
  const auto line = take_line(head);
  if (!line) return "The head does not end.";
  std::string_view rest = *line;
  const std::string_view method = take(rest, ' ');
  const std::string_view target = take(rest, ' ');
  const bool old_version = rest == "HTTP/1.0";
  if (!is_token(method) || !is_visible(target) || (rest != "HTTP/1.1" && !old_version))
    return "The request line is not METHOD TARGET HTTP/1.1.";
  request.method = method;
  request.target = target;
  Lengths lengths;
  if (const auto fault = read_fields(head, request.fields, lengths); !fault.empty()) return fault;
  if (old_version && lengths.chunked) return "HTTP/1.0 has no chunks.";

  const auto is_host = [](const auto& field) { return equal_ignoring_case(field.first, "host"); };
  if (std::ranges::count_if(request.fields, is_host) > 1) return "There are two Host headers.";
  request.host = field_of(request.fields, "host");
  std::erase_if(request.fields, is_host);

  if (lengths.chunked)
    request.framing = {.kind = Framing::Kind::chunked, .length = 0};
  else if (lengths.length.value_or(0) > 0)
    request.framing = {.kind = Framing::Kind::length, .length = *lengths.length};
  request.keep_alive = is_kept(old_version, request.fields);
  const std::string_view upgrade = field_of(request.fields, "upgrade");
  request.upgrade = equal_ignoring_case(upgrade, "websocket");
  if (!upgrade.empty() && !request.upgrade) drop_upgrade(request);
  return {};
}

std::string_view parse_response_head(std::string_view head, bool to_head_request,
                                     ResponseHead& response) {
  const auto line = take_line(head);
  if (!line) return "The head does not end.";
  const bool old_version = line->starts_with("HTTP/1.0 ");
  if (!old_version && !line->starts_with("HTTP/1.1 ")) return "The answer is not of HTTP/1.1.";
  const auto status = whole_number<unsigned>(line->substr(9, 3));
  if (line->size() < 12 || !status || *status < 100 || *status > 999 ||
      (line->size() > 12 && (*line)[12] != ' ') || !is_passed_value(*line))
    return "The status line cannot be read.";
  response.line = *line;
  response.status = *status;
  Lengths lengths;
  if (const auto fault = read_fields(head, response.fields, lengths); !fault.empty()) return fault;
  response.keep_alive = is_kept(old_version, response.fields);
  const bool no_body = to_head_request || *status < 200 || *status == 204 || *status == 304;
  if (no_body)
    response.framing = {};
  else if (lengths.chunked)
    response.framing = {.kind = Framing::Kind::chunked, .length = 0};
  else if (lengths.length)
    response.framing = {.kind = Framing::Kind::length, .length = *lengths.length};
  else
    response.framing = {.kind = Framing::Kind::until_end, .length = 0};
  if (response.framing.kind == Framing::Kind::until_end) response.keep_alive = false;
  return {};
}

std::string write_request_head(const RequestHead& request, std::string_view target,
                               std::string_view host) {
  std::string first = request.method;
  first.append(" ").append(target).append(" HTTP/1.1\r\nHost: ").append(host);
  if (!request.keep_alive && field_of(request.fields, "connection").empty())
    first += "\r\nConnection: close";
  return join(std::move(first), request.fields);
}

std::string write_response_head(const ResponseHead& response) {
  return join(response.line, response.fields);
}

}  // namespace sallyport
