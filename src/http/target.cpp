#include "http/target.h"

#include <array>

#include "base/parse.h"
#include "base/text.h"
#include "http/characters.h"

namespace sallyport {
namespace {

// unreserved, sub-delims and ":@/?" of RFC 3986; '%' is looked at by itself.
constexpr std::array<bool, 256> kTargetChars = [] {
  std::array<bool, 256> table{};
  for (unsigned c = 0; c < 128; ++c)
    table[c] = is_alpha_char(static_cast<char>(c)) || is_digit_char(static_cast<char>(c));
  for (const char c : std::string_view("-._~!$&'()*+,;=:@/?"))
    table[static_cast<unsigned char>(c)] = true;
  return table;
}();

// The byte of the escape at `text[i]`; -1: it is broken.
int escaped(std::string_view text, std::size_t i) {
  if (i + 2 >= text.size()) return -1;
  const int high = hex_value(text[i + 1]);
  const int low = hex_value(text[i + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char first = first_utf8_char(text);
    if (!first.valid) return false;
    text.remove_prefix(first.length);
  }
  return true;
}

constexpr std::string_view kBrokenEscape = "The target holds a broken percent escape.";
constexpr std::string_view kBadByte = "The target holds a byte that must be percent-encoded.";
constexpr std::string_view kControl = "The target holds an escaped control byte.";

std::string_view decode_path(std::string_view text, std::string& path) {
  bool plain = true;
  path.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      if (!kTargetChars[static_cast<unsigned char>(text[i])]) return kBadByte;
      path += text[i];
      continue;
    }
    const int byte = escaped(text, i);
    if (byte < 0) return kBrokenEscape;
    if (byte < 0x20 || byte == 0x7F) return kControl;
    if (byte == '/' || byte == '\\') return "The path holds an escaped slash.";
    plain = plain && byte < 0x80;
    path += static_cast<char>(byte);
    i += 2;
  }
  if (!plain && !is_utf8(path)) return "The path is not UTF-8.";
  // After decoding, so that "%2e%2e" is what it is. A slash at the end is no component.
  for (std::string_view rest = std::string_view(path).substr(1); !rest.empty();) {
    const std::string_view component = take(rest, '/');
    if (component.empty()) return "The path holds an empty component.";
    if (component == "." || component == "..") return "The path holds a dot component.";
  }
  return {};
}

std::string_view check_query(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const int byte = escaped(text, i);
      if (byte < 0) return kBrokenEscape;
      if (byte == 0) return kControl;
      i += 2;
    } else if (!kTargetChars[static_cast<unsigned char>(text[i])]) {
      return kBadByte;
    }
  }
  return {};
}

}  // namespace

std::string_view parse_target(std::string_view text, HttpTarget& target) {
  if (!text.starts_with('/')) {
    for (const std::string_view scheme : {"http://", "https://"}) {
      if (!equal_ignoring_case(text.substr(0, scheme.size()), scheme)) continue;
      text.remove_prefix(scheme.size());
      const std::size_t end = std::min(text.find_first_of("/?"), text.size());
      target.authority = text.substr(0, end);
      text.remove_prefix(end);
      break;
    }
    if (target.authority.empty()) return "The target is neither a path nor a whole URL.";
    if (text.empty()) text = "/";
    if (!text.starts_with('/')) return "The target has no path.";
  }
  const std::size_t mark = std::min(text.find('?'), text.size());
  if (const auto fault = decode_path(text.substr(0, mark), target.path); !fault.empty())
    return fault;
  if (mark < text.size()) target.query = text.substr(mark + 1);
  return check_query(target.query);
}

}  // namespace sallyport
