#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory_resource>
#include <vector>

#include "base/canonical_object.h"
#include "base/json.h"
#include "base/object_text.h"
#include "base/text.h"

namespace sallyport {
namespace {

__extension__ using Wide = __int128;

Wide integer_of(const json::value& value) {
  return value.is_uint64() ? static_cast<Wide>(value.get_uint64())
                           : static_cast<Wide>(value.get_int64());
}

std::strong_ordering order(Wide a, Wide b) {
  return a < b   ? std::strong_ordering::less
         : a > b ? std::strong_ordering::greater
                 : std::strong_ordering::equal;
}

std::strong_ordering compare_with_double(Wide a, double b) {
  constexpr double kBeyondIntegers = 1e20;
  if (b > kBeyondIntegers) return std::strong_ordering::less;
  if (b < -kBeyondIntegers) return std::strong_ordering::greater;
  const double whole = std::trunc(b);
  const auto by_whole = order(a, static_cast<Wide>(whole));
  if (by_whole != 0) return by_whole;
  if (b > whole) return std::strong_ordering::less;
  return b < whole ? std::strong_ordering::greater : std::strong_ordering::equal;
}

// Which texts are written as they are: those where nothing is escaped, or those of ASCII alone.
enum class Plain { unescaped, ascii };

// Whether none of the next eight bytes is escaped: a control character, a quote or a backslash.
constexpr std::size_t kWord = sizeof(std::uint64_t);
template <Plain plain>
bool is_plain_word(const char* text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101, kHigh = 0x8080808080808080;
  constexpr std::uint64_t kRefused = plain == Plain::ascii ? kHigh : 0;
  std::uint64_t word = 0;
  std::memcpy(&word, text, kWord);
  // The high bit of every byte that is below `least`, if it is ASCII; others may be set beside it.
  const auto below = [](std::uint64_t bytes, std::uint64_t least) {
    return (bytes - kOnes * least) & ~bytes & kHigh;
  };
  return (below(word, 0x20) | below(word ^ kOnes * '"', 1) | below(word ^ kOnes * '\\', 1) |
          (word & kRefused)) == 0;
}

template <Plain plain>
bool is_plain(std::string_view text) {
  if (text.size() >= kWord) {
    for (std::size_t i = 0; text.size() - i >= kWord; i += kWord)
      if (!is_plain_word<plain>(text.data() + i)) return false;
    // The rest, together with some that have been looked at.
    return is_plain_word<plain>(text.data() + text.size() - kWord);
  }
  return std::ranges::none_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || c == '"' || c == '\\' || (plain == Plain::ascii && byte >= 0x80);
  });
}

// Writes a text with its quotes, if it is plain.
template <Plain plain>
bool append_plain(std::string& out, std::string_view text) {
  if (!is_plain<plain>(text)) return false;
  const std::size_t at = out.size(), end = at + text.size() + 2;
  out.resize_and_overwrite(end, [&](char* bytes, std::size_t) {
    bytes[at] = bytes[end - 1] = '"';
    text.copy(bytes + at + 1, text.size());
    return end;
  });
  return true;
}

// Writes any text with its quotes; `escape` writes a control character.
template <class Escape>
void append_escaped(std::string& out, std::string_view text, Escape escape) {
  out.push_back('"');
  std::size_t begin = 0;  // of what has not been written yet
  for (std::size_t i = 0; i < text.size();) {
    if (text.size() - i >= kWord && is_plain_word<Plain::unescaped>(text.data() + i)) {
      i += kWord;
      continue;
    }
    const char c = text[i++];
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text.substr(begin, i - 1 - begin));
    begin = i;
    if (byte < 0x20)
      escape(out, c);
    else
      out.append({'\\', c});
  }
  out.append(text.substr(begin)).push_back('"');
}

void append_code(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  out.append("\\u00").append({kHex[byte / 16], kHex[byte % 16]});
}

template <class Number>
void append_number(std::string& out, Number number) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  const std::string_view text(digits, static_cast<std::size_t>(end - digits));
  out.append(text);
  // Without it, 1.0 would read back as an integer.
  if (std::is_floating_point_v<Number> && text.find_first_of(".en") == std::string_view::npos)
    out.append(".0");
}

std::size_t mix(std::size_t seed, std::size_t hash) {
  return (seed ^ hash) * 0x9E3779B97F4A7C15ULL + (seed >> 29);
}

std::size_t hash_text(json::string_view text) {
  return std::hash<std::string_view>{}({text.data(), text.size()});
}

}  // namespace

void append_canonical_text(std::string& out, std::string_view text) {
  if (append_plain<Plain::unescaped>(out, text)) return;  // nearly always
  append_escaped(out, text, [](std::string& to, char c) { append_code(to, c); });
}

void append_json_text(std::string& out, std::string_view text) {
  if (append_plain<Plain::ascii>(out, text)) return;  // nearly always
  const auto append = [&out](std::string_view valid) {
    append_escaped(out, valid, [](std::string& to, char c) {
      constexpr std::string_view kNamed = "\b\t\n\f\r", kNames = "btnfr";
      if (const std::size_t place = kNamed.find(c); place != std::string_view::npos)
        to.append({'\\', kNames[place]});
      else
        append_code(to, c);
    });
  };
  if (is_utf8(text))
    append(text);
  else
    append(to_utf8(text));
}

bool is_plain_json(const json::value& value, std::size_t max_depth) {
  switch (value.kind()) {
    case json::kind::double_:
      return std::isfinite(value.get_double());
    case json::kind::array:
      return max_depth > 0 && std::ranges::all_of(value.get_array(), [=](const json::value& item) {
               return is_plain_json(item, max_depth - 1);
             });
    case json::kind::object:
      return max_depth > 0 && std::ranges::all_of(value.get_object(), [=](const auto& member) {
               return is_plain_json(member.value(), max_depth - 1);
             });
    default:
      return true;
  }
}

void append_canonical_json(std::string& out, const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      out.append("null");
      break;
    case json::kind::bool_:
      out.append(value.get_bool() ? "true" : "false");
      break;
    case json::kind::int64:
      append_number(out, value.get_int64());
      break;
    case json::kind::uint64:
      append_number(out, value.get_uint64());
      break;
    case json::kind::double_:
      append_number(out, value.get_double());
      break;
    case json::kind::string:
      append_canonical_text(out, {value.get_string().data(), value.get_string().size()});
      break;
    case json::kind::array: {
      char before = '[';
      for (const json::value& item : value.get_array()) {
        out.push_back(before);
        append_canonical_json(out, item);
        before = ',';
      }
      out.append(before == '[' ? "[]" : "]");
      break;
    }
    case json::kind::object:
      append_canonical_json(out, value.get_object());
      break;
  }
}

void append_canonical_json(std::string& out, const json::object& object) {
  // Small enough for the stack, nearly always.
  std::byte room[16 * sizeof(void*)];
  std::pmr::monotonic_buffer_resource memory(room, sizeof(room));
  std::pmr::vector<const json::key_value_pair*> members(&memory);
  members.reserve(object.size());
  for (const json::key_value_pair& member : object)
    members.push_back(&member);
  std::ranges::sort(members, {}, [](const json::key_value_pair* member) {
    return std::string_view(member->key().data(), member->key().size());
  });
  char before = '{';
  for (const json::key_value_pair* member : members) {
    out.push_back(before);
    append_canonical_text(out, {member->key().data(), member->key().size()});
    out.push_back(':');
    append_canonical_json(out, member->value());
    before = ',';
  }
  out.append(before == '{' ? "{}" : "}");
}

std::string canonical_json(const json::value& value) {
  std::string out;
  append_canonical_json(out, value);
  return out;
}

std::strong_ordering compare_numbers(const json::value& a, const json::value& b) {
  if (a.is_double() && b.is_double()) {
    const double x = a.get_double(), y = b.get_double();
    return x < y   ? std::strong_ordering::less
           : x > y ? std::strong_ordering::greater
                   : std::strong_ordering::equal;
  }
  if (b.is_double()) return compare_with_double(integer_of(a), b.get_double());
  if (a.is_double()) return 0 <=> compare_with_double(integer_of(b), a.get_double());
  return order(integer_of(a), integer_of(b));
}

bool json_equal(const json::value& a, const json::value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case json::kind::bool_:
      return a.get_bool() == b.get_bool();
    case json::kind::string:
      return a.get_string() == b.get_string();
    case json::kind::array:
      return std::ranges::equal(a.get_array(), b.get_array(), json_equal);
    case json::kind::object: {
      const json::object& other = b.get_object();
      return a.get_object().size() == other.size() &&
             std::ranges::all_of(a.get_object(), [&other](const json::key_value_pair& member) {
               const json::value* twin = other.if_contains(member.key());
               return twin && json_equal(member.value(), *twin);
             });
    }
    default:
      return true;
  }
}

std::size_t json_hash(const json::value& value) {
  std::size_t hash = value.is_number() ? 1 : static_cast<std::size_t>(value.kind()) + 2;
  switch (value.kind()) {
    case json::kind::bool_:
      return mix(hash, value.get_bool() ? 1 : 2);
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_: {
      // Equal numbers have the same nearest double. -0.0 equals 0.
      const double number = value.to_number<double>();
      return mix(hash, std::hash<double>{}(number == 0 ? 0.0 : number));
    }
    case json::kind::string:
      return mix(hash, hash_text(value.get_string()));
    case json::kind::array:
      for (const json::value& item : value.get_array())
        hash = mix(hash, json_hash(item));
      return hash;
    case json::kind::object: {
      std::size_t members = 0;  // a sum, as the order of keys must not matter
      for (const json::key_value_pair& member : value.get_object())
        members += mix(hash_text(member.key()), json_hash(member.value()));
      return mix(hash, members);
    }
    default:
      return hash;
  }
}

}  // namespace sallyport
