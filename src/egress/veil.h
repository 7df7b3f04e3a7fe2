// Covers known values in bytes that come in pieces, with as many stars, so that a length that was
// said before stays true. All forms of a value are looked for at once; the cost is linear in the
// bytes, whatever they are. A letter is the same in both cases, and what codings put between the
// letters of a text (spaces, line ends, zeros, '=', '%', backslashes) is passed over on both sides:
// so one form stands for many.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sallyport {

class Veil {
 public:
  // A value that is shorter than kShortestValue is not looked for.
  explicit Veil(std::span<const std::string> values);

  [[nodiscard]] bool empty() const { return nodes_.size() == 1; }

  // One direction of one connection.
  class Stream {
   public:
    explicit Stream(const Veil& veil) : veil_(veil) {}

    // Appends to `out` what can be shown of the bytes so far. What looks like the beginning of a
    // value is held back until it is known; a few bytes are not, or whoever waits for them would
    // wait forever: so much of a value may be seen.
    void feed(std::string_view piece, std::string& out);
    // The rest, as it is. Covering what is a part of a value only would tell whoever can make a
    // host say things that a guess was right, letter by letter.
    void finish(std::string& out);

    [[nodiscard]] std::uint64_t found() const { return found_; }

   private:
    const Veil& veil_;
    std::uint32_t at_ = 0;
    std::size_t gap_ = 0;     // bytes that were passed over since the last that was not
    std::string raw_, held_;  // what is held back: as it came, and as it can be shown
    std::uint64_t found_ = 0;
  };

  // In place. How many values it found.
  std::uint64_t cover(std::string& whole) const;
  [[nodiscard]] bool finds(std::string_view whole) const;

 private:
  struct Node {
    std::uint32_t child = 0, sibling = 0;  // 0: none
    std::uint32_t otherwise = 0;           // the longest end of this that is a beginning too
    std::uint32_t depth = 0;
    std::uint32_t covers = 0;  // how many bytes up to here are a value
    char byte = 0;
  };

  void add(std::string_view text);
  void link();
  [[nodiscard]] std::uint32_t child_of(std::uint32_t node, char byte) const;
  [[nodiscard]] std::uint32_t step(std::uint32_t node, char byte) const;

  std::vector<Node> nodes_;
  std::uint32_t first_[256] = {};  // the children of the root: where nearly all bytes are
};

}  // namespace sallyport
