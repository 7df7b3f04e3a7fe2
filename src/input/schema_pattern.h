// The regular expressions of `pattern` and `patternProperties`.
//
// A schema writes them as ECMA-262 does (in Unicode mode); RE2 matches them, in time linear in the
// text whatever the pattern. The two dialects differ in places (`.`, `\s`, `\u0041`, `[]`, names of
// properties…), so a pattern is read and written anew. What RE2 cannot do (lookaround,
// backreferences) is refused, never approximated.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace re2 {
class RE2;
}

namespace sallyport {

// The same pattern as RE2 writes it; an error says what is not possible, and where.
[[nodiscard]] Result<std::string> re2_from_ecma(std::string_view pattern);

// A compiled pattern; copies share it.
class EcmaPattern {
 public:
  [[nodiscard]] static Result<EcmaPattern> compile(std::string_view pattern);

  // Whether the pattern matches anywhere in the text.
  [[nodiscard]] bool matches(std::string_view text) const;

  // What matching a text of that many bytes counts for, in steps.
  [[nodiscard]] std::uint64_t cost(std::size_t bytes) const {
    return 1 + bytes * program_size_ / 4096;
  }

 private:
  std::shared_ptr<const re2::RE2> re2_;
  std::uint64_t program_size_ = 0;
};

}  // namespace sallyport
