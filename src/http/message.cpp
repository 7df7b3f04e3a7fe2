#include "http/message.h"

#include "base/parse.h"
#include "http/characters.h"

namespace sallyport {
namespace {

// One name or value of a query. A '+' is a space, as forms write it.
bool decode(std::string_view text, std::string& decoded) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return false;
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return false;
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return true;
}

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

bool parse_query(std::string_view query, HttpHeaders& values) {
  while (!query.empty()) {
    std::string_view value = take(query, '&');
    if (value.empty()) continue;
    const std::string_view name = take(value, '=');
    auto& [decoded_name, decoded_value] = values.emplace_back();
    if (!decode(name, decoded_name) || !decode(value, decoded_value)) return false;
  }
  return true;
}

}  // namespace sallyport
