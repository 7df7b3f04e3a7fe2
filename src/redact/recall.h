// What earlier looks at a stream have seen of its text, so that later ones do not go over it again:
// hostile text has many anchors, and what may follow each of them overlaps.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "redact/assigned.h"

namespace sallyport {

using CharTable = std::array<bool, 256>;

template <class Is>
[[nodiscard]] constexpr CharTable table_of(Is is) {
  CharTable table{};
  for (int c = 0; c < 256; ++c)
    table[static_cast<std::size_t>(c)] = is(static_cast<char>(c));
  return table;
}

// Characters whose runs are remembered. The number is that of the class alone.
struct CharClass {
  CharTable has{};
  std::uint32_t number = 0;

  [[nodiscard]] bool operator()(char c) const { return has[static_cast<unsigned char>(c)]; }
};

// The numbers of the classes that are written in code; those of the rules follow. What the scan
// asks about lies ahead of what looks ask about: it has runs of its own.
namespace run_of {
inline constexpr std::uint32_t kBareValue = 0, kEnvValue = 1, kToken = 2, kCookie = 3, kNoDigit = 4,
                               kNoLetter = 5, kBase64Url = 6, kName = 7, kNoDigitAhead = 8,
                               kNoLowerAhead = 9, kNoUpperAhead = 10, kFirstOfRules = 11;
}

// Of one stream. Places are indices into its buffer.
class Recall {
 public:
  explicit Recall(std::size_t classes) : runs_(classes) {}

  // The first place from `i` on that has no character of the class, or the end of the text.
  [[nodiscard]] std::size_t run_end(std::string_view text, std::size_t i, const CharClass& chars) {
    Run& run = runs_[chars.number];
    if (i > run.end) {
      if (i >= text.size()) return text.size();
      run = {i, i};
    } else if (i < run.begin) {
      return earlier_run_end(text, i, chars);
    }
    std::size_t end = run.end;
    while (end < text.size() && chars(text[end]))
      ++end;
    run.end = end;
    return std::min(end, text.size());
  }

  // Whether the line up to `at` has the word, at most 200 characters before it.
  [[nodiscard]] bool line_has(std::string_view text, std::size_t at, std::string_view word);

  // Whether `://` stands before `at`, less than 64 characters away, and no blank or quote between.
  [[nodiscard]] bool is_in_url(std::string_view text, std::size_t at);

  // Whether the text from `begin` to `dot` is known not to be base64 of a token's header; and that
  // it is not. What is no header is none without its first bytes, either.
  [[nodiscard]] bool is_no_header(std::size_t begin, std::size_t dot) const;
  void note_no_header(std::size_t begin, std::size_t dot);

  // The last name that was looked at.
  [[nodiscard]] SeenName& seen_name() { return seen_name_; }

  // The places have changed.
  void forget();

 private:
  [[nodiscard]] std::size_t earlier_run_end(std::string_view text, std::size_t i,
                                            const CharClass& chars);

  struct Run {
    std::size_t begin = 0, end = 0;  // all characters between are of the class
  };
  struct Word {
    std::string_view word;
    std::size_t searched = 0;  // up to here
    std::size_t last = 0;      // behind where it stands last; 0: nowhere
  };

  std::vector<Run> runs_;  // by class
  std::vector<Word> words_;
  struct {
    std::size_t searched = 0;  // up to here
    std::size_t last = 0;      // behind the last `://` that no blank or quote follows; 0: none
  } url_;
  SeenName seen_name_;
  std::array<std::size_t, 4> no_header_{};  // by how groups of base64 begin: the last dot
};

}  // namespace sallyport
