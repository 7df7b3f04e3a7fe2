#include "cell/output.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongestCharacter = 4;

// How many bytes at the end of `head` begin a character that goes on behind the cut.
std::size_t split_at_end(std::string_view head) {
  for (std::size_t count = 1; count < kLongestCharacter && count <= head.size(); ++count)
    if (first_utf8_char(head.substr(head.size() - count)).cut_off) return count;
  return 0;
}

// How many bytes at the beginning of `tail` end a character that began before the cut.
std::size_t split_at_begin(std::string_view tail) {
  std::size_t count = 0;
  while (count < kLongestCharacter - 1 && count < tail.size() && (tail[count] & 0xC0) == 0x80)
    ++count;
  return count;
}

}  // namespace

CapturedStream::CapturedStream(ByteSize limit)
    : limit_(limit.bytes), head_size_(limit_ / 2), ring_size_(limit_ - head_size_) {}

void CapturedStream::append(std::span<const char> bytes) {
  if (!kept_ && limit_ > 0 && !bytes.empty())
    kept_ = std::make_unique_for_overwrite<char[]>(limit_);

  if (total_ < head_size_) {
    const std::size_t count = std::min<std::size_t>(bytes.size(), head_size_ - total_);
    std::ranges::copy(bytes.first(count), kept_.get() + total_);
    total_ += count;
    bytes = bytes.subspan(count);
  }
  // Of a piece longer than the ring only its end can stay.
  if (bytes.size() > ring_size_) {
    total_ += bytes.size() - ring_size_;
    bytes = bytes.last(ring_size_);
  }
  while (!bytes.empty()) {
    const std::size_t at = (total_ - head_size_) % ring_size_;
    const std::size_t count = std::min(bytes.size(), ring_size_ - at);
    std::ranges::copy(bytes.first(count), kept_.get() + head_size_ + at);
    total_ += count;
    bytes = bytes.subspan(count);
  }
}

std::string CapturedStream::tail() const {
  if (total_ <= head_size_ || ring_size_ == 0) return {};
  const char* ring = kept_.get() + head_size_;
  const std::uint64_t seen = total_ - head_size_;
  if (seen <= ring_size_) return {ring, static_cast<std::size_t>(seen)};
  const std::size_t oldest = seen % ring_size_;
  return std::string(ring + oldest, ring_size_ - oldest).append(ring, oldest);
}

std::string CapturedStream::text() const {
  const std::string end = tail();
  const std::string_view head(kept_.get(), std::min<std::uint64_t>(total_, head_size_));
  if (!truncated()) return std::string(head).append(end);

  const std::string_view kept_head = head.substr(0, head.size() - split_at_end(head));
  const std::string_view kept_tail = std::string_view(end).substr(split_at_begin(end));
  std::string result(kept_head);
  result.append("\n[... ");
  result.append(std::to_string(total_ - kept_head.size() - kept_tail.size()));
  result.append(" bytes left out ...]\n");
  return result.append(kept_tail);
}

}  // namespace sallyport
