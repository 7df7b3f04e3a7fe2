#include "redact/known_values.h"

#include <algorithm>

#include "base/base64.h"
#include "redact/sight.h"

namespace sallyport {
namespace {

std::string hexadecimal(std::string_view bytes, std::string_view digits, std::string_view before) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.append(before);
    text.push_back(digits[byte >> 4]);
    text.push_back(digits[byte & 0xF]);
  }
  return text;
}

constexpr std::string_view kSmall = "0123456789abcdef", kLarge = "0123456789ABCDEF";

std::string url_encoded(std::string_view value, std::string_view digits, std::string_view kept) {
  std::string text;
  for (const char c : value) {
    if (is_alnum(c) || kept.contains(c))
      text.push_back(c);
    else
      text.append(hexadecimal({&c, 1}, digits, "%"));
  }
  return text;
}

std::string json_escaped(std::string_view value, bool slashes) {
  std::string text;
  for (const char c : value) {
    switch (c) {
      case '"':
      case '\\':
        text.append({'\\', c});
        break;
      case '/':
        text.append(slashes ? "\\/" : "/");
        break;
      case '\n':
        text.append("\\n");
        break;
      case '\r':
        text.append("\\r");
        break;
      case '\t':
        text.append("\\t");
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20)
          text.append("\\u00").append(hexadecimal({&c, 1}, kSmall, ""));
        else
          text.push_back(c);
    }
  }
  return text;
}

// Every LF and CR LF as `end`.
std::string with_line_ends(std::string_view value, std::string_view end) {
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\r' && i + 1 < value.size() && value[i + 1] == '\n') continue;
    if (value[i] == '\n')
      text.append(end);
    else
      text.push_back(value[i]);
  }
  return text;
}

// The letters of base64 that are the value's alone when `before` bytes precede it.
std::string base64_part(std::string_view value, std::size_t before) {
  const std::string bytes = std::string(before, '\0').append(value);
  const std::string text = to_base64(bytes);
  const std::size_t begin = (before * 8 + 5) / 6, end = bytes.size() * 8 / 6;
  return text.substr(begin, end - begin);
}

}  // namespace

std::vector<KnownForm> forms_of(std::string_view value) {
  std::vector<KnownForm> forms;
  const auto add = [&](std::string text, bool base64 = false) {
    const bool known =
        std::ranges::any_of(forms, [&](const KnownForm& form) { return form.text == text; });
    if (!known && text.size() >= kShortestValue) forms.push_back({std::move(text), base64});
  };
  add(std::string(value));
  // Lines that end in the other way: a file of another system.
  const std::string unix_lines = with_line_ends(value, "\n");
  add(unix_lines);
  add(with_line_ends(unix_lines, "\r\n"));
  add(json_escaped(value, false));
  add(json_escaped(value, true));
  for (const std::string_view digits : {kSmall, kLarge}) {
    add(url_encoded(value, digits, "-_.~"));
    add(url_encoded(value, digits, "-_.!~*'()"));  // encodeURIComponent
    std::string form = url_encoded(value, digits, "-_.~ ");
    std::ranges::replace(form, ' ', '+');
    add(std::move(form));
    add(hexadecimal(value, digits, ""));
    add(hexadecimal(value, digits, "\\x"));
  }
  for (std::size_t before = 0; before < 3; ++before) {
    std::string text = base64_part(value, before);
    add(text, true);
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    add(std::move(text), true);
  }
  return forms;
}

}  // namespace sallyport
