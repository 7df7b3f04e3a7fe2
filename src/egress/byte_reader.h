// Numbers and vectors of a binary message from the network, each of which is there as a whole or
// not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sallyport {

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  [[nodiscard]] std::optional<std::string_view> bytes(std::size_t size) {
    if (rest_.size() < size) return std::nullopt;
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  // Of one to four bytes, the highest first.
  [[nodiscard]] std::optional<std::uint32_t> number(std::size_t size) {
    const auto taken = bytes(size);
    if (!taken) return std::nullopt;
    std::uint32_t value = 0;
    for (const char c : *taken)
      value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }

  // What follows a length of `size` bytes.
  [[nodiscard]] std::optional<std::string_view> vector(std::size_t size) {
    const auto length = number(size);
    if (!length) return std::nullopt;
    return bytes(*length);
  }

 private:
  std::string_view rest_;
};

}  // namespace sallyport
