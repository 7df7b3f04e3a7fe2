#include "base/base64.h"

#include <cstdint>

namespace sallyport {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  while (!bytes.empty()) {
    const std::size_t size = bytes.size() < 3 ? bytes.size() : 3;
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < size ? static_cast<unsigned char>(bytes[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text.push_back(i <= size ? kDigits[group >> (18 - 6 * i) & 63] : '=');
    bytes.remove_prefix(size);
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=')
    ++padding;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const std::size_t digits = at + 4 == text.size() ? 4 - padding : 4;
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t value = i < digits ? kDigits.find(text[at + i]) : 0;
      if (value == std::string_view::npos) return std::nullopt;
      group = group << 6 | static_cast<std::uint32_t>(value);
    }
    // Bits that no byte holds must be 0.
    if (digits < 4 && (group & (digits == 3 ? 0xFFU : 0xFFFFU)) != 0) return std::nullopt;
    for (std::size_t i = 0; i + 1 < digits; ++i)
      bytes.push_back(static_cast<char>(group >> (16 - 8 * i)));
  }
  return bytes;
}

}  // namespace sallyport
