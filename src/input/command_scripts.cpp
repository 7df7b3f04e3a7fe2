// Small languages with a few harmless words: a script that is made of those alone passes, any other
// is not understood here and does not.
#include <algorithm>
#include <optional>

#include "input/command_wrappers.h"

namespace sallyport {
namespace {

class SedReader {
 public:
  explicit SedReader(std::string_view script) : rest_(script) {}

  bool is_plain() {
    while (true) {
      skip(" \t\n;");
      if (rest_.empty()) return true;
      if (!addresses() || !command()) return false;
      skip(" \t");
      if (!rest_.empty() && rest_[0] != ';' && rest_[0] != '\n') return false;
    }
  }

 private:
  bool addresses() {
    if (!address()) return false;
    skip(" \t");
    if (take(',')) {
      skip(" \t");
      (void)take('+');
      if (!address()) return false;
      skip(" \t");
    }
    (void)take('!');
    skip(" \t");
    return true;
  }

  // One address, or none.
  bool address() {
    if (take('$')) return true;
    if (take('/')) {
      if (!part('/')) return false;
      skip("IM");
      return true;
    }
    skip("0123456789");
    if (take('~')) skip("0123456789");
    return true;
  }

  bool command() {
    if (rest_.empty()) return false;
    const char name = rest_[0];
    rest_.remove_prefix(1);
    if (std::string_view("pPdDgGhHxnN=z").contains(name)) return true;
    if (name == 'q' || name == 'Q') {
      skip(" 0123456789");
      return true;
    }
    if ((name != 's' && name != 'y') || rest_.empty()) return false;
    const char mark = rest_[0];
    // Others are special within brackets, where seds differ.
    if (!std::string_view("/,|#@%!_~=").contains(mark)) return false;
    rest_.remove_prefix(1);
    if (!part(mark) || !text(mark)) return false;
    if (name == 's') skip("gpiImM0123456789");  // not e, which runs the result; not w FILE
    return true;
  }

  // A pattern up to its mark. A mark within brackets ends the pattern for one sed and not for
  // another: not plain.
  bool part(char mark) {
    bool brackets = false;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      const char c = rest_[i];
      const char next = i + 1 < rest_.size() ? rest_[i + 1] : '\0';
      if (c == '\n') return false;
      if (c == '\\') {
        if (brackets && (next == ']' || next == '\\')) return false;
        ++i;
      } else if (c == mark) {
        rest_.remove_prefix(i + 1);
        return !brackets;
      } else if (brackets && c == '[') {
        // [:alpha:], and no nearer look at collation.
        const std::size_t end = rest_.find(":]", i + 2);
        if (next != ':' || end == std::string_view::npos || rest_.substr(i, end - i).contains(mark))
          return false;
        i = end + 1;
      } else if (brackets && c == ']') {
        brackets = false;
      } else if (c == '[' && !brackets) {
        brackets = true;
        if (next == '^') ++i;
        if (i + 1 < rest_.size() && rest_[i + 1] == ']') ++i;
      }
    }
    return false;
  }

  // A replacement up to its mark.
  bool text(char mark) {
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i] == '\n') return false;
      if (rest_[i] == '\\') {
        ++i;
      } else if (rest_[i] == mark) {
        rest_.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  }

  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip(std::string_view characters) {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(characters), rest_.size()));
  }

  std::string_view rest_;
};

}  // namespace

bool is_plain_sed_script(std::string_view script) {
  return SedReader(script).is_plain();
}

bool is_plain_awk_program(std::string_view program) {
  for (const std::string_view word : {"system", "getline", "@", "\\\n", "|&"})
    if (program.contains(word)) return false;
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (program[i] != '|') continue;
    if (i + 1 == program.size() || program[i + 1] != '|') return false;
    ++i;
  }
  return true;
}

}  // namespace sallyport
