#include "http/parse.h"

#include <algorithm>
#include <array>

#include "base/parse.h"
#include "http/characters.h"
#include "http/target.h"

namespace sallyport {
namespace {

constexpr std::array<bool, 256> kTokenChars = [] {
  std::array<bool, 256> table{};
  for (unsigned c = 0; c < 128; ++c)
    table[c] = is_token_char(static_cast<char>(c));
  return table;
}();

constexpr std::array<bool, 256> kValueChars = [] {
  std::array<bool, 256> table{};
  for (unsigned c = 0; c < 128; ++c)
    table[c] = is_value_char(static_cast<char>(c));
  return table;
}();

constexpr std::string_view kMethods[] = {"GET",    "POST",  "HEAD",   "PUT",
                                         "DELETE", "PATCH", "OPTIONS"};

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return kTokenChars[static_cast<unsigned char>(c)];
  });
}

// "HTTP/1.0": a version, although not ours.
bool is_version(std::string_view text) {
  return text.size() == 8 && text.starts_with("HTTP/") && is_digit_char(text[5]) &&
         text[6] == '.' && is_digit_char(text[7]);
}

}  // namespace

HttpHeadParser::State HttpHeadParser::refuse(unsigned status, std::string_view sentence) {
  refusal_ = {status, sentence};
  return state_ = State::refused;
}

HttpHeadParser::State HttpHeadParser::parse(std::string_view bytes) {
  while (state_ == State::incomplete && scanned_ < bytes.size()) {
    if (scanned_ >= most_)
      return first_line_ ? refuse(414, "The target is too long.")
                         : refuse(431, "The headers are too long.");
    if (first_line_ && scanned_ >= kLongestRequestLine)
      return refuse(414, "The target is too long.");
    const char c = bytes[scanned_];
    if (kValueChars[static_cast<unsigned char>(c)]) {
      ++scanned_;
      continue;
    }
    if (c != '\r')
      return refuse(400, "The head holds a control byte, a bare line feed or a byte above ASCII.");
    if (scanned_ + 1 >= bytes.size()) break;
    if (bytes[scanned_ + 1] != '\n') return refuse(400, "A carriage return stands alone.");
    const std::string_view text = bytes.substr(next_, scanned_ - next_);
    next_ = scanned_ += 2;
    line(text);
  }
  return state_;
}

HttpHeadParser::State HttpHeadParser::line(std::string_view text) {
  if (first_line_) {
    first_line_ = false;
    return request_line(text);
  }
  return text.empty() ? end() : field(text);
}

HttpHeadParser::State HttpHeadParser::request_line(std::string_view text) {
  const std::string_view method = take(text, ' ');
  const std::string_view target = take(text, ' ');
  const std::string_view version = text;
  if (!is_token(method) || target.empty() || !is_version(version))
    return refuse(400, "The request line is not METHOD TARGET HTTP/1.1.");
  if (version != "HTTP/1.1") return refuse(505, "Only HTTP/1.1 is spoken here.");
  if (std::ranges::find(kMethods, method) == std::end(kMethods))
    return refuse(501, "The method is not known here.");
  head_only_ = method == "HEAD";
  request_.method = head_only_ ? "GET" : method;

  HttpTarget parts;
  if (const std::string_view fault = parse_target(target, parts); !fault.empty())
    return refuse(400, fault);
  request_.path = std::move(parts.path);
  request_.query = std::move(parts.query);
  authority_ = std::move(parts.authority);
  request_.headers.reserve(12);
  return state_;
}

HttpHeadParser::State HttpHeadParser::field(std::string_view text) {
  if (text.front() == ' ' || text.front() == '\t')
    return refuse(400, "A header is folded over two lines.");
  const std::size_t colon = text.find(':');
  // A space before the colon is no token either: some read "Content-Length : 5" as that header.
  if (colon == std::string_view::npos || !is_token(text.substr(0, colon)))
    return refuse(400, "A header is not NAME: VALUE.");
  if (request_.headers.size() >= kMostHeaders) return refuse(431, "There are too many headers.");
  auto& [name, value] =
      request_.headers.emplace_back(text.substr(0, colon), without_spaces(text.substr(colon + 1)));
  std::ranges::transform(name, name.begin(), lower_char);
  return known_field(name, value);
}

HttpHeadParser::State HttpHeadParser::known_field(std::string_view name, std::string_view value) {
  if (name == "host") {
    if (has_host_) return refuse(400, "There are two Host headers.");
    has_host_ = true;
  } else if (name == "content-length") {
    if (content_length_) return refuse(400, "There are two Content-Length headers.");
    const bool leading_zero = value.size() > 1 && value.front() == '0';
    // whole_number takes no sign in front of an unsigned number but '-'.
    if (leading_zero || !std::ranges::all_of(value, is_digit_char)) value = {};
    content_length_ = whole_number<std::uint64_t>(value);
    if (!content_length_) return refuse(400, "The Content-Length is not a plain number.");
  } else if (name == "transfer-encoding") {
    if (chunked_) return refuse(400, "There are two Transfer-Encoding headers.");
    if (!equal_ignoring_case(value, "chunked"))
      return refuse(501, "The only transfer coding is chunked.");
    chunked_ = true;
  } else if (name == "expect") {
    if (!equal_ignoring_case(value, "100-continue"))
      return refuse(417, "The only expectation that can be met is 100-continue.");
    expects_continue_ = true;
  } else if (name == "connection") {
    for (std::string_view rest = value; !rest.empty();)
      if (equal_ignoring_case(without_spaces(take(rest, ',')), "close")) keep_alive_ = false;
  }
  return state_;
}

HttpHeadParser::State HttpHeadParser::end() {
  if (!has_host_) return refuse(400, "There is no Host header.");
  if (!authority_.empty() && !equal_ignoring_case(authority_, request_.header("host")))
    return refuse(400, "The host of the target is not that of the Host header.");
  if (chunked_ && content_length_)
    return refuse(400, "There is both a Content-Length and a Transfer-Encoding.");
  return state_ = State::complete;
}

}  // namespace sallyport
