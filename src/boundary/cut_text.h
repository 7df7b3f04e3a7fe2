// A long text of which only the beginning and the end are there: the beginning says what was being
// done, the end how it went wrong.
#pragma once

#include <cstdint>
#include <string>

namespace sallyport {

struct CutText {
  std::string head, tail;
  std::uint64_t left_out = 0;  // bytes between them; 0: nothing, and the tail is empty

  // As a CapturedStream of this limit gave it; `truncated`: it may have been cut there.
  [[nodiscard]] static CutText split(std::string text, std::uint64_t limit, bool truncated);

  [[nodiscard]] bool is_cut() const { return left_out > 0; }
  [[nodiscard]] std::uint64_t size() const { return head.size() + tail.size(); }

  // Takes so many bytes more away on both sides of the cut, if there is one.
  void drop_edges(std::uint64_t bytes);
  // Keeps half of `limit` at each end, whole characters and whole markers, if it is larger.
  void narrow(std::uint64_t limit);
  // The text, with a line that says how much is left out.
  [[nodiscard]] std::string text() const;
};

}  // namespace sallyport
