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

}  // namespace sallyport
