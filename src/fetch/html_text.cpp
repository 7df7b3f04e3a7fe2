#include "fetch/html_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "base/text.h"
#include "http/characters.h"

namespace sallyport {
namespace {

struct Reference {
  std::string_view name;
  char32_t code;
};

// In the order of their names. The others stay as they are written.
constexpr Reference kReferences[] = {
    {"AElig", 0xC6},    {"Aacute", 0xC1},   {"Acirc", 0xC2},    {"Agrave", 0xC0},
    {"Aring", 0xC5},    {"Atilde", 0xC3},   {"Auml", 0xC4},     {"Ccedil", 0xC7},
    {"Eacute", 0xC9},   {"Ecirc", 0xCA},    {"Egrave", 0xC8},   {"Euml", 0xCB},
    {"Iacute", 0xCD},   {"Icirc", 0xCE},    {"Igrave", 0xCC},   {"Iuml", 0xCF},
    {"Ntilde", 0xD1},   {"OElig", 0x152},   {"Oacute", 0xD3},   {"Ocirc", 0xD4},
    {"Ograve", 0xD2},   {"Oslash", 0xD8},   {"Otilde", 0xD5},   {"Ouml", 0xD6},
    {"Prime", 0x2033},  {"Scaron", 0x160},  {"Uacute", 0xDA},   {"Ucirc", 0xDB},
    {"Ugrave", 0xD9},   {"Uuml", 0xDC},     {"Yacute", 0xDD},   {"aacute", 0xE1},
    {"acirc", 0xE2},    {"acute", 0xB4},    {"aelig", 0xE6},    {"agrave", 0xE0},
    {"alpha", 0x3B1},   {"amp", '&'},       {"apos", '\''},     {"aring", 0xE5},
    {"asymp", 0x2248},  {"atilde", 0xE3},   {"auml", 0xE4},     {"bdquo", 0x201E},
    {"beta", 0x3B2},    {"brvbar", 0xA6},   {"bull", 0x2022},   {"ccedil", 0xE7},
    {"cent", 0xA2},     {"check", 0x2713},  {"colon", ':'},     {"comma", ','},
    {"copy", 0xA9},     {"curren", 0xA4},   {"dagger", 0x2020}, {"darr", 0x2193},
    {"deg", 0xB0},      {"delta", 0x3B4},   {"divide", 0xF7},   {"dollar", '$'},
    {"eacute", 0xE9},   {"ecirc", 0xEA},    {"egrave", 0xE8},   {"emsp", 0x2003},
    {"ensp", 0x2002},   {"equals", '='},    {"eth", 0xF0},      {"euml", 0xEB},
    {"euro", 0x20AC},   {"excl", '!'},      {"frac12", 0xBD},   {"frac14", 0xBC},
    {"frac34", 0xBE},   {"gamma", 0x3B3},   {"ge", 0x2265},     {"gt", '>'},
    {"harr", 0x2194},   {"hellip", 0x2026}, {"iacute", 0xED},   {"icirc", 0xEE},
    {"iexcl", 0xA1},    {"igrave", 0xEC},   {"infin", 0x221E},  {"iquest", 0xBF},
    {"iuml", 0xEF},     {"lambda", 0x3BB},  {"laquo", 0xAB},    {"larr", 0x2190},
    {"lcub", '{'},      {"ldquo", 0x201C},  {"le", 0x2264},     {"lpar", '('},
    {"lsaquo", 0x2039}, {"lsqb", '['},      {"lsquo", 0x2018},  {"lt", '<'},
    {"macr", 0xAF},     {"mdash", 0x2014},  {"micro", 0xB5},    {"middot", 0xB7},
    {"minus", 0x2212},  {"mu", 0x3BC},      {"nbsp", ' '},      {"ndash", 0x2013},
    {"ne", 0x2260},     {"not", 0xAC},      {"ntilde", 0xF1},   {"num", '#'},
    {"oacute", 0xF3},   {"ocirc", 0xF4},    {"oelig", 0x153},   {"ograve", 0xF2},
    {"omega", 0x3C9},   {"ordf", 0xAA},     {"ordm", 0xBA},     {"oslash", 0xF8},
    {"otilde", 0xF5},   {"ouml", 0xF6},     {"para", 0xB6},     {"percnt", '%'},
    {"period", '.'},    {"permil", 0x2030}, {"pi", 0x3C0},      {"plus", '+'},
    {"plusmn", 0xB1},   {"pound", 0xA3},    {"prime", 0x2032},  {"quest", '?'},
    {"quot", '"'},      {"raquo", 0xBB},    {"rarr", 0x2192},   {"rcub", '}'},
    {"rdquo", 0x201D},  {"reg", 0xAE},      {"rpar", ')'},      {"rsaquo", 0x203A},
    {"rsqb", ']'},      {"rsquo", 0x2019},  {"sbquo", 0x201A},  {"scaron", 0x161},
    {"sect", 0xA7},     {"semi", ';'},      {"shy", 0},         {"sigma", 0x3C3},
    {"sol", '/'},       {"sup1", 0xB9},     {"sup2", 0xB2},     {"sup3", 0xB3},
    {"szlig", 0xDF},    {"thinsp", ' '},    {"thorn", 0xFE},    {"times", 0xD7},
    {"trade", 0x2122},  {"uacute", 0xFA},   {"uarr", 0x2191},   {"ucirc", 0xFB},
    {"ugrave", 0xF9},   {"uml", 0xA8},      {"uuml", 0xFC},     {"yacute", 0xFD},
    {"yen", 0xA5},      {"yuml", 0xFF},     {"zwj", 0},         {"zwnj", 0},
};
static_assert(std::ranges::is_sorted(kReferences, {}, &Reference::name));

constexpr std::size_t kLongestReference = 10;

// What &#128; to &#159; mean to every browser: Windows-1252.
constexpr std::array<std::uint16_t, 32> kWindows = {
    0x20AC, 0xFFFD, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0xFFFD, 0x017D, 0xFFFD, 0xFFFD, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0xFFFD, 0x017E, 0x0178};

// What a tag does to the lines.
enum class Effect : std::uint8_t { nothing, line, paragraph, item, cell, preformatted, removed };
struct Element {
  std::string_view name;
  Effect effect;
};
constexpr Element kElements[] = {
    {"address", Effect::line},    {"article", Effect::line},     {"aside", Effect::line},
    {"blockquote", Effect::line}, {"body", Effect::line},        {"br", Effect::line},
    {"button", Effect::cell},     {"caption", Effect::line},     {"center", Effect::line},
    {"dd", Effect::line},         {"details", Effect::line},     {"dialog", Effect::line},
    {"div", Effect::line},        {"dl", Effect::paragraph},     {"dt", Effect::line},
    {"fieldset", Effect::line},   {"figcaption", Effect::line},  {"figure", Effect::line},
    {"footer", Effect::line},     {"form", Effect::line},        {"h1", Effect::paragraph},
    {"h2", Effect::paragraph},    {"h3", Effect::paragraph},     {"h4", Effect::paragraph},
    {"h5", Effect::paragraph},    {"h6", Effect::paragraph},     {"head", Effect::line},
    {"header", Effect::line},     {"hr", Effect::paragraph},     {"html", Effect::line},
    {"iframe", Effect::removed},  {"legend", Effect::line},      {"li", Effect::item},
    {"main", Effect::line},       {"menu", Effect::line},        {"nav", Effect::line},
    {"noembed", Effect::removed}, {"noframes", Effect::removed}, {"ol", Effect::paragraph},
    {"option", Effect::line},     {"p", Effect::paragraph},      {"pre", Effect::preformatted},
    {"script", Effect::removed},  {"section", Effect::line},     {"select", Effect::line},
    {"style", Effect::removed},   {"summary", Effect::line},     {"table", Effect::paragraph},
    {"td", Effect::cell},         {"textarea", Effect::line},    {"th", Effect::cell},
    {"title", Effect::paragraph}, {"tr", Effect::line},          {"ul", Effect::paragraph},
    {"xmp", Effect::removed},
};
static_assert(std::ranges::is_sorted(kElements, {}, &Element::name));

constexpr std::size_t kLongestElement = 10;

constexpr bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

void append_utf8(std::string& text, char32_t code) {
  const auto byte = [&](char32_t value) { text.push_back(static_cast<char>(value)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6);
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

class Conversion {
 public:
  Conversion(std::string_view html, std::size_t most) : rest_(html), most_(most) {}

  HtmlText run() {
    while (!rest_.empty() && !cut_) {
      if (rest_[0] == '<' && take_markup()) continue;
      if (rest_[0] == '&' && take_reference()) continue;
      put(rest_.substr(0, 1));
      rest_.remove_prefix(1);
    }
    return {std::move(text_), cut_};
  }

 private:
  // --- what comes in

  // False: this '<' is text.
  bool take_markup() {
    if (rest_.starts_with("<!--")) {
      // "<!-->" is a whole comment, too.
      skip_behind("-->", rest_.starts_with("<!-->") ? 2 : 4);
      return true;
    }
    if (rest_.size() < 2) return false;
    const bool closing = rest_[1] == '/';
    if (rest_[1] == '!' || rest_[1] == '?') {
      skip_behind(">", 1);
      return true;
    }
    const std::size_t begin = closing ? 2 : 1;
    if (rest_.size() <= begin) return false;
    if (!is_alpha_char(rest_[begin])) {
      if (!closing) return false;
      skip_behind(">", begin);
      return true;
    }
    take_tag(begin, closing);
    return true;
  }

  void take_tag(std::size_t begin, bool closing) {
    std::size_t end = begin;
    std::string name;
    while (end < rest_.size() && !is_space(rest_[end]) && rest_[end] != '/' && rest_[end] != '>') {
      if (name.size() <= kLongestElement) name.push_back(lower_char(rest_[end]));
      ++end;
    }
    rest_.remove_prefix(end);
    skip_attributes();
    const auto* found = std::ranges::lower_bound(kElements, name, {}, &Element::name);
    if (found == std::end(kElements) || found->name != name) return;
    apply(found->effect, closing);
    if (found->effect == Effect::removed && !closing) skip_element(name);
  }

  // A '>' within quotes is not the end of the tag. Quotes count behind '=' only, as in a browser:
  // a stray one does not swallow the page.
  void skip_attributes() {
    bool value = false;
    while (!rest_.empty()) {
      const char c = rest_[0];
      rest_.remove_prefix(1);
      if (c == '>') return;
      if (value && (c == '"' || c == '\'')) {
        const std::size_t end = rest_.find(c);
        rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      }
      value = c == '=' || (value && is_space(c));
    }
  }

  // To the end tag of the same name; without one, all of it.
  void skip_element(std::string_view name) {
    while (!rest_.empty()) {
      const std::size_t next = rest_.find("</");
      if (next == std::string_view::npos) break;
      rest_.remove_prefix(next + 2);
      if (!equal_ignoring_case(rest_.substr(0, name.size()), name)) continue;
      const std::string_view after = rest_.substr(name.size());
      if (!after.empty() && !is_space(after[0]) && after[0] != '/' && after[0] != '>') continue;
      rest_ = after;
      skip_attributes();
      return;
    }
    rest_ = {};
  }

  void skip_behind(std::string_view end, std::size_t from) {
    const std::size_t at = rest_.find(end, from);
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at + end.size());
  }

  // False: this '&' is text.
  bool take_reference() {
    if (rest_.size() > 2 && rest_[1] == '#') return take_number();
    const std::string_view near = rest_.substr(1, kLongestReference);
    const std::size_t end = near.find(';');
    if (end == std::string_view::npos) return false;
    const std::string_view name = near.substr(0, end);
    const auto* found = std::ranges::lower_bound(kReferences, name, {}, &Reference::name);
    if (found == std::end(kReferences) || found->name != name) return false;
    put_code(found->code);
    rest_.remove_prefix(end + 2);
    return true;
  }

  bool take_number() {
    const bool hexadecimal = rest_[2] == 'x' || rest_[2] == 'X';
    const std::size_t begin = hexadecimal ? 3 : 2;
    std::size_t end = begin;
    char32_t code = 0;
    for (; end < rest_.size(); ++end) {
      const int digit = hex_value(rest_[end]);
      if (digit < 0 || (!hexadecimal && digit > 9)) break;
      code = std::min<char32_t>(code * (hexadecimal ? 16 : 10) + static_cast<char32_t>(digit),
                                0x110000);
    }
    if (end == begin) return false;
    if (end < rest_.size() && rest_[end] == ';') ++end;
    rest_.remove_prefix(end);
    if (code >= 0x80 && code < 0xA0) code = kWindows[code - 0x80];
    if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) code = 0xFFFD;
    put_code(code);
    return true;
  }

  // --- what goes out

  void apply(Effect effect, bool closing) {
    switch (effect) {
      case Effect::nothing:
        break;
      case Effect::line:
      case Effect::removed:
        breaks_ = std::max(breaks_, effect == Effect::line ? 1 : 0);
        break;
      case Effect::paragraph:
        breaks_ = std::max(breaks_, 2);
        break;
      case Effect::item:
        breaks_ = std::max(breaks_, 1);
        item_ = !closing;
        break;
      case Effect::cell:
        space_ = true;
        break;
      case Effect::preformatted:
        breaks_ = std::max(breaks_, 2);
        preformatted_ = closing ? std::max(preformatted_ - 1, 0) : std::min(preformatted_ + 1, 9);
        break;
    }
  }

  void put_code(char32_t code) {
    if (code == 0) return;  // one that shows nothing
    if (code == 0xA0 || (code < 0x20 && code != '\n') || code == 0x7F) code = ' ';
    std::string bytes;
    append_utf8(bytes, code);
    put(bytes);
  }

  // One character, or one byte of one.
  void put(std::string_view bytes) {
    if (is_space(bytes[0])) {
      if (preformatted_ == 0) {
        space_ = true;
        return;
      }
      if (bytes[0] == '\r') return;
      flush();
      append(bytes[0] == '\n' ? "\n" : " ");
      return;
    }
    flush();
    append(bytes);
  }

  void flush() {
    if (!text_.empty()) {
      if (breaks_ > 0) {
        while (!text_.empty() && text_.back() == ' ')
          text_.pop_back();
        // The line ends that are there already count.
        int there = 0;
        for (std::size_t i = text_.size(); i > 0 && text_[i - 1] == '\n' && there < 2; --i)
          ++there;
        for (; there < breaks_; ++there)
          append("\n");
      } else if (space_ && text_.back() != '\n') {
        append(" ");
      }
    }
    breaks_ = 0;
    space_ = false;
    if (item_) append("- ");
    item_ = false;
  }

  void append(std::string_view bytes) {
    if (cut_) return;
    if (text_.size() + bytes.size() <= most_) {
      text_.append(bytes);
      return;
    }
    cut_ = true;
    // Not within a character whose first bytes are there.
    if ((static_cast<unsigned char>(bytes[0]) & 0xC0) == 0x80) {
      while (!text_.empty() && (static_cast<unsigned char>(text_.back()) & 0xC0) == 0x80)
        text_.pop_back();
      if (!text_.empty() && static_cast<unsigned char>(text_.back()) >= 0xC0) text_.pop_back();
    }
  }

  std::string_view rest_;
  std::size_t most_;
  std::string text_;
  int breaks_ = 0;  // line ends that are due before the next character
  bool space_ = false, item_ = false, cut_ = false;
  int preformatted_ = 0;
};

}  // namespace

HtmlText html_to_text(std::string_view html, std::size_t most) {
  return Conversion(html, most).run();
}

}  // namespace sallyport
