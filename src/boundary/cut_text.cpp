#include "boundary/cut_text.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::string_view kBefore = "\n[... ", kAfter = " bytes left out ...]\n";
constexpr std::size_t kLongestMarker = 100;  // of a redaction

// Where a text can be cut at or before `at`: not within a character or a marker, nor within CR LF,
// as a CR alone is no end of a line.
std::size_t place_before(std::string_view text, std::size_t at) {
  if (at > 0 && at < text.size() && text[at] == '\n' && text[at - 1] == '\r') --at;
  while (at > 0 && at < text.size() && (text[at] & 0xC0) == 0x80)
    --at;
  const std::size_t open = text.substr(0, at).rfind('[');
  if (open == std::string_view::npos || at - open > kLongestMarker) return at;
  const std::string_view inside = text.substr(open + 1, kLongestMarker);
  const std::size_t end =
      inside.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_:abcdefghijklmnopqrstuvwxyz0123456789-");
  const bool marker = end != std::string_view::npos && end > 3 && inside[end] == ']' &&
                      inside[0] >= 'A' && inside[0] <= 'Z' && open + 1 + end >= at;
  return marker ? open : at;
}

// ... and at or behind it.
std::size_t place_behind(std::string_view text, std::size_t at) {
  const std::size_t before = place_before(text, at);
  if (before == at) return at;
  if (text[before] == '\r') return at + 1;
  if (text[before] != '[') {
    while (at < text.size() && (text[at] & 0xC0) == 0x80)
      ++at;
    return at;
  }
  return std::min(text.size(), text.find(']', before) + 1);
}

}  // namespace

CutText CutText::split(std::string text, std::uint64_t limit, bool truncated) {
  const std::size_t half = limit / 2;
  // A character that the cut would have split is not in the head: up to three bytes.
  for (std::size_t less = 0; truncated && less < 4 && less <= half; ++less) {
    const std::size_t at = half - less;
    if (at >= text.size() || !std::string_view(text).substr(at).starts_with(kBefore)) continue;
    CutText cut;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + at + kBefore.size(), end, cut.left_out);
    const std::string_view rest(read.ptr, static_cast<std::size_t>(end - read.ptr));
    if (read.ec != std::errc() || !rest.starts_with(kAfter)) continue;
    cut.tail = rest.substr(kAfter.size());
    text.resize(at);
    cut.head = std::move(text);
    return cut;
  }
  return {.head = std::move(text)};
}

void CutText::drop_edges(std::uint64_t bytes) {
  if (!is_cut() || bytes == 0) return;
  const std::size_t keep =
      place_before(head, head.size() - std::min<std::size_t>(bytes, head.size()));
  left_out += head.size() - keep;
  head.resize(keep);
  const std::size_t from = place_behind(tail, std::min<std::size_t>(bytes, tail.size()));
  left_out += from;
  tail.erase(0, from);
}

void CutText::narrow(std::uint64_t limit) {
  if (size() <= limit) return;
  const std::size_t half = limit / 2;
  if (!is_cut()) {
    const std::size_t from = place_behind(head, head.size() - (limit - half));
    tail = head.substr(from);
    left_out = from;  // less what stays of the head
    const std::size_t keep = place_before(head, half);
    left_out -= keep;
    head.resize(keep);
    return;
  }
  if (head.size() > half) {
    const std::size_t keep = place_before(head, half);
    left_out += head.size() - keep;
    head.resize(keep);
  }
  if (tail.size() > limit - half) {
    const std::size_t from = place_behind(tail, tail.size() - (limit - half));
    left_out += from;
    tail.erase(0, from);
  }
}

std::string CutText::text() const {
  if (!is_cut()) return head;
  return head + std::string(kBefore) + std::to_string(left_out) + std::string(kAfter) + tail;
}

}  // namespace sallyport
