// What a command wrote, held in bounded memory however much it writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "sallyport/units.h"

namespace sallyport {

// Keeps the first half and the last half of `limit` bytes of a stream: the beginning says what was
// being done, the end says how it went wrong. Memory is taken once, at the first byte, and never
// grows past the limit; pages of it that nothing was written to cost nothing.
class CapturedStream {
 public:
  explicit CapturedStream(ByteSize limit);

  void append(std::span<const char> bytes);

  // Bytes seen, kept or not.
  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] bool truncated() const { return total_ > limit_; }

  // All that was written, or, if it was truncated, the head, a line that says how many bytes are
  // left out, and the tail. A UTF-8 character is kept whole or left out whole. The bytes are as the
  // command wrote them: neither valid UTF-8 nor safe for a terminal.
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] std::string tail() const;

  std::size_t limit_;
  std::size_t head_size_;
  std::size_t ring_size_;
  std::unique_ptr<char[]> kept_;  // the head, then the ring
  std::uint64_t total_ = 0;
};

}  // namespace sallyport
