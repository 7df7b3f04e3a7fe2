#include "input/schema_pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace sallyport {
namespace {

constexpr int kLargestProgram = 50'000;
constexpr unsigned kMostRepetitions = 1000;  // RE2's own bound
constexpr std::size_t kDeepestGroup = 100;

// Parts of a RE2 class, that is between [ and ]. ECMA's white space is more than RE2's.
constexpr std::string_view kSpaces =
    R"(\x{9}-\x{d}\x{20}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff})";
constexpr std::string_view kNotSpaces =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027})"
    R"(\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff})";
constexpr std::string_view kLineEnds = R"(\x{a}\x{d}\x{2028}\x{2029})";
constexpr std::string_view kEverything = R"(\x{0}-\x{10ffff})";

struct CategoryName {
  std::string_view name, code;
};

// The general categories by both of their names, as ECMA-262 has them.
constexpr CategoryName kCategories[] = {
    {"Cased_Letter", "LC"},
    {"Close_Punctuation", "Pe"},
    {"Connector_Punctuation", "Pc"},
    {"Control", "Cc"},
    {"cntrl", "Cc"},
    {"Currency_Symbol", "Sc"},
    {"Dash_Punctuation", "Pd"},
    {"Decimal_Number", "Nd"},
    {"digit", "Nd"},
    {"Enclosing_Mark", "Me"},
    {"Final_Punctuation", "Pf"},
    {"Format", "Cf"},
    {"Initial_Punctuation", "Pi"},
    {"Letter", "L"},
    {"Letter_Number", "Nl"},
    {"Line_Separator", "Zl"},
    {"Lowercase_Letter", "Ll"},
    {"Mark", "M"},
    {"Combining_Mark", "M"},
    {"Math_Symbol", "Sm"},
    {"Modifier_Letter", "Lm"},
    {"Modifier_Symbol", "Sk"},
    {"Nonspacing_Mark", "Mn"},
    {"Number", "N"},
    {"Open_Punctuation", "Ps"},
    {"Other_Letter", "Lo"},
    {"Other_Number", "No"},
    {"Other_Punctuation", "Po"},
    {"Other_Symbol", "So"},
    {"Paragraph_Separator", "Zp"},
    {"Private_Use", "Co"},
    {"Punctuation", "P"},
    {"punct", "P"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Spacing_Mark", "Mc"},
    {"Symbol", "S"},
    {"Titlecase_Letter", "Lt"},
    {"Uppercase_Letter", "Lu"},
};

std::optional<std::string_view> category_code(std::string_view name) {
  for (const CategoryName& row : kCategories)
    if (row.name == name || row.code == name) return row.code;
  return std::nullopt;
}

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::string literal(char32_t code) {
  char digits[8];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, static_cast<std::uint32_t>(code), 16).ptr;
  return std::string("\\x{").append(digits, end).append("}");
}

// What an escape stands for: one character, or a set as the inside of a RE2 class.
struct Escape {
  std::optional<char32_t> character;
  std::string set;
};

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern), rest_(pattern) {}

  Result<std::string> translate() {
    while (!rest_.empty())
      if (auto done = take_term(); !done) return std::unexpected(std::move(done.error()));
    if (open_ > 0) return refuse("a group is not closed", "close it with )");
    return std::move(out_);
  }

 private:
  std::unexpected<Error> refuse(std::string_view what, std::string hint) const {
    return fail(Reason::argument,
                "the pattern " + quoted(pattern_) + " is refused at character " +
                    std::to_string(pattern_.size() - rest_.size() + 1) + ": " + std::string(what),
                std::move(hint));
  }

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  Result<void> take_term() {
    const char c = rest_.front();
    switch (c) {
      case '^':
        return add_assertion("\\A", 1);
      case '$':
        return add_assertion("\\z", 1);  // RE2's $ may mean a line
      case '|':
        rest_.remove_prefix(1);
        out_.push_back('|');
        can_repeat_ = false;
        return {};
      case '(':
        return open_group();
      case ')':
        if (open_ == 0) return refuse("there is no group to close", "write \\) for the character");
        --open_;
        rest_.remove_prefix(1);
        out_.push_back(')');
        can_repeat_ = true;
        return {};
      case '.':
        rest_.remove_prefix(1);
        return add_atom(std::string("[^").append(kLineEnds).append("]"));
      case '[':
        return take_class();
      case '*':
      case '+':
      case '?':
        return add_repetition(std::string(1, c), 1);
      case '{':
        return take_braces();
      case '\\':
        if (rest_.starts_with("\\b") || rest_.starts_with("\\B"))
          return add_assertion(rest_.substr(0, 2), 2);
        return take_escaped_atom();
      default:
        return take_character();
    }
  }

  Result<void> add_assertion(std::string_view text, std::size_t length) {
    out_.append(text);
    rest_.remove_prefix(length);
    can_repeat_ = false;
    return {};
  }

  Result<void> add_atom(std::string_view text) {
    out_.append(text);
    can_repeat_ = true;
    return {};
  }

  // The same signs may not follow each other: RE2 would read a** as a*, ECMA refuses it.
  Result<void> add_repetition(std::string_view text, std::size_t length) {
    if (!can_repeat_)
      return refuse("there is nothing to repeat", "write a backslash before the character");
    rest_.remove_prefix(length);
    out_.append(text);
    if (take("?")) out_.push_back('?');  // which match is found does not matter, only whether
    can_repeat_ = false;
    return {};
  }

  // {2}, {2,} or {2,5}; otherwise a brace is a character.
  Result<void> take_braces() {
    std::size_t at = 1;
    const auto number = [&]() -> std::optional<unsigned> {
      const std::size_t begin = at;
      unsigned value = 0;
      while (at < rest_.size() && is_digit(rest_[at])) {
        value = std::min(value * 10 + static_cast<unsigned>(rest_[at] - '0'), kMostRepetitions + 1);
        ++at;
      }
      return at > begin ? std::optional(value) : std::nullopt;
    };
    const auto least = number();
    std::optional<unsigned> most = least;
    if (least && at < rest_.size() && rest_[at] == ',') {
      ++at;
      most = number();
    }
    if (!least || at >= rest_.size() || rest_[at] != '}') return take_character();
    if (*least > kMostRepetitions || most.value_or(0) > kMostRepetitions)
      return refuse("something is repeated more than 1000 times",
                    "use minLength and maxLength for the length of a string");
    if (most && *most < *least)
      return refuse("the repetition has its bounds the wrong way round", "write {least,most}");
    return add_repetition(rest_.substr(0, at + 1), at + 1);
  }

  Result<void> open_group() {
    if (take("(?=") || take("(?!") || take("(?<=") || take("(?<!"))
      return refuse("lookahead and lookbehind cannot be matched in linear time",
                    "use allOf, anyOf and not with several patterns");
    if (take("(?<")) {
      const std::size_t end = rest_.find('>');
      if (end == 0 || end == std::string_view::npos)
        return refuse("the name of the group is missing", "write (?<name>…)");
      rest_.remove_prefix(end + 1);
    } else if (!take("(?:")) {
      take("(");
      if (rest_.starts_with('?'))
        return refuse("this kind of group is not known", "write (…), (?:…) or (?<name>…)");
    }
    if (++open_ > kDeepestGroup)
      return refuse("groups are nested more than 100 deep", "nest them less");
    out_.append("(?:");
    can_repeat_ = false;
    return {};
  }

  // One character as it is. ECMA in Unicode mode refuses a lone ] { or }, other modes and most
  // schemas mean the character.
  Result<void> take_character() {
    const Utf8Char character = first_utf8_char(rest_);
    if (!character.valid) return refuse("the bytes are not UTF-8", "write the pattern in UTF-8");
    rest_.remove_prefix(character.length);
    return add_atom(literal(character.code));
  }

  Result<void> take_escaped_atom() {
    auto escape = take_escape();
    if (!escape) return std::unexpected(std::move(escape.error()));
    if (escape->character) return add_atom(literal(*escape->character));
    return add_atom("[" + escape->set + "]");
  }

  Result<void> take_class() {
    take("[");
    const bool negated = take("^");
    std::string members;
    while (!rest_.starts_with(']')) {
      if (rest_.empty()) return refuse("a class is not closed", "close it with ]");
      auto first = take_member();
      if (!first) return std::unexpected(std::move(first.error()));
      if (!rest_.starts_with('-') || rest_.starts_with("-]")) {
        members.append(first->character ? literal(*first->character) : first->set);
        continue;
      }
      take("-");
      if (rest_.empty()) return refuse("a class is not closed", "close it with ]");
      auto last = take_member();
      if (!last) return std::unexpected(std::move(last.error()));
      if (!first->character || !last->character)
        return refuse("a set cannot be the end of a range", "write \\- for the character -");
      if (*first->character > *last->character)
        return refuse("the range has its ends the wrong way round", "write [least-most]");
      members.append(literal(*first->character)).append("-").append(literal(*last->character));
    }
    take("]");
    // ECMA has the class of nothing and the class of everything; RE2 needs a member.
    if (members.empty())
      return add_atom(std::string(negated ? "[" : "[^").append(kEverything).append("]"));
    return add_atom((negated ? "[^" : "[") + members + "]");
  }

  Result<Escape> take_member() {
    if (rest_.starts_with('\\')) {
      if (take("\\b")) return Escape{U'\b', {}};
      if (take("\\-")) return Escape{U'-', {}};
      return take_escape();
    }
    const Utf8Char character = first_utf8_char(rest_);
    if (!character.valid) return refuse("the bytes are not UTF-8", "write the pattern in UTF-8");
    rest_.remove_prefix(character.length);
    return Escape{character.code, {}};
  }

  Result<Escape> take_escape() {
    take("\\");
    if (rest_.empty()) return refuse("it ends with a backslash", "write \\\\ for the character");
    const char c = rest_.front();
    switch (c) {
      case 'd':
      case 'D':
      case 'w':
      case 'W':
        rest_.remove_prefix(1);
        return Escape{std::nullopt, std::string("\\") + c};  // ASCII in both
      case 's':
        rest_.remove_prefix(1);
        return Escape{std::nullopt, std::string(kSpaces)};
      case 'S':
        rest_.remove_prefix(1);
        return Escape{std::nullopt, std::string(kNotSpaces)};
      case 'p':
      case 'P':
        return take_property();
      case 't':
        return simple(U'\t');
      case 'n':
        return simple(U'\n');
      case 'v':
        return simple(U'\v');
      case 'f':
        return simple(U'\f');
      case 'r':
        return simple(U'\r');
      case 'c':
        if (rest_.size() > 1 && is_word(rest_[1]) && !is_digit(rest_[1]) && rest_[1] != '_') {
          const char32_t code = static_cast<char32_t>(rest_[1] % 32);
          rest_.remove_prefix(2);
          return Escape{code, {}};
        }
        return refuse("\\c needs a letter", "write \\cA to \\cZ");
      case 'x':
      case 'u':
        return take_code();
      case '0':
        if (rest_.size() > 1 && is_digit(rest_[1]))
          return refuse("octal escapes are not known", "write \\u and four hexadecimal digits");
        return simple(U'\0');
      default:
        break;
    }
    if (is_digit(c) || c == 'k')
      return refuse("backreferences cannot be matched in linear time",
                    "write the alternatives out, or check this elsewhere");
    if (is_word(c) && c != '_')
      return refuse("the escape \\" + std::string(1, c) + " is not one of ECMA-262",
                    "escape only signs, and use \\d \\w \\s \\b \\p{…} \\uNNNN");
    const Utf8Char character = first_utf8_char(rest_);
    if (!character.valid) return refuse("the bytes are not UTF-8", "write the pattern in UTF-8");
    rest_.remove_prefix(character.length);
    return Escape{character.code, {}};
  }

  Result<Escape> simple(char32_t code) {
    rest_.remove_prefix(1);
    return Escape{code, {}};
  }

  std::optional<char32_t> take_hex(std::size_t digits) {
    const std::string_view text = rest_.substr(0, digits);
    if (digits == 0 || digits > 8 || text.size() != digits || !std::ranges::all_of(text, is_hex))
      return std::nullopt;
    std::uint32_t code = 0;
    std::from_chars(text.data(), text.data() + text.size(), code, 16);
    rest_.remove_prefix(digits);
    return code;
  }

  // \xNN, \uNNNN (two of them for a character beyond U+FFFF) and \u{N…}
  Result<Escape> take_code() {
    const bool is_byte = take("x");
    std::optional<char32_t> code;
    if (is_byte) {
      code = take_hex(2);
    } else if (take("u"); take("{")) {
      code = take_hex(std::min(rest_.find('}'), rest_.size()));
      if (!take("}")) code.reset();
    } else {
      code = take_hex(4);
      if (code && *code >= 0xD800 && *code < 0xDC00 && take("\\u")) {
        const auto low = take_hex(4);
        if (low && *low >= 0xDC00 && *low < 0xE000)
          code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
      }
    }
    if (!code || *code > 0x10FFFF || (*code >= 0xD800 && *code < 0xE000))
      return refuse("the escape is not a character", "write \\xNN, \\uNNNN or \\u{NNNNNN}");
    return Escape{code, {}};
  }

  Result<Escape> take_property() {
    const bool negated = rest_.front() == 'P';
    rest_.remove_prefix(1);
    const std::size_t end = rest_.find('}');
    if (!take("{") || end == std::string_view::npos)
      return refuse("\\p needs a name", "write \\p{Letter} or \\p{Script=Greek}");
    std::string_view name = rest_.substr(0, end - 1);
    const std::string sign = negated ? "\\P{" : "\\p{";

    const std::size_t equals = name.find('=');
    const std::string_view key = equals == std::string_view::npos ? "gc" : name.substr(0, equals);
    if (equals != std::string_view::npos) name.remove_prefix(equals + 1);

    std::string set;
    if (key == "Script" || key == "sc") {
      // RE2 knows the scripts by their long names; it refuses one that it does not know.
      if (std::ranges::all_of(name, is_word) && name.size() > 2 && !category_code(name))
        set = sign + std::string(name) + "}";
    } else if (key == "General_Category" || key == "gc") {
      if (equals == std::string_view::npos && name == "Any" && !negated)
        set = kEverything;
      else if (equals == std::string_view::npos && name == "ASCII")
        set = negated ? "\\x{80}-\\x{10ffff}" : "\\x{0}-\\x{7f}";
      else if (const auto code = category_code(name); code && *code != "LC")
        set = sign + std::string(*code) + "}";
      else if (code && !negated)
        set = "\\p{Lu}\\p{Ll}\\p{Lt}";
    }
    if (set.empty())
      return refuse("the property " + quoted(name) + " is not known",
                    "use a general category, as \\p{Letter}, or a script, as \\p{Script=Greek}");
    rest_.remove_prefix(end);
    return Escape{std::nullopt, std::move(set)};
  }

  std::string_view pattern_, rest_;
  std::string out_;
  std::size_t open_ = 0;
  bool can_repeat_ = false;
};

}  // namespace

Result<std::string> re2_from_ecma(std::string_view pattern) {
  return Translator(pattern).translate();
}

Result<EcmaPattern> EcmaPattern::compile(std::string_view pattern) {
  auto translated = re2_from_ecma(pattern);
  if (!translated) return std::unexpected(std::move(translated.error()));
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  auto re2 = std::make_shared<const RE2>(*translated, options);
  if (!re2->ok())
    return fail(Reason::argument,
                "the pattern " + quoted(pattern) + " cannot be compiled: " + quoted(re2->error()),
                "write a simpler pattern");
  if (re2->ProgramSize() > kLargestProgram)
    return fail(Reason::argument, "the pattern " + quoted(pattern) + " is too large",
                "write a simpler pattern");
  EcmaPattern compiled;
  compiled.program_size_ = static_cast<std::uint64_t>(std::max(1, re2->ProgramSize()));
  compiled.re2_ = std::move(re2);
  return compiled;
}

bool EcmaPattern::matches(std::string_view text) const {
  return re2_->Match({text.data(), text.size()}, 0, text.size(), RE2::UNANCHORED, nullptr, 0);
}

}  // namespace sallyport
