// The two steps that every reader of a system file is made of.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace sallyport {

// Takes the text up to the next `separator` off the front of `rest`, and the separator with it;
// without one, all of it.
inline std::string_view take(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view head = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return head;
}

// A decimal number and nothing else.
template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace sallyport
