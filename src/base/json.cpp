#include "base/json.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

// What the guard itself refuses, beside what Boost's parser does.
enum class Refusal { none, integer, number, twin };

// "line 2, column 7" of a byte; columns count characters.
std::string place_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  std::size_t column = 1;
  for (const char c : before.substr(line_start))
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) ++column;
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

std::unexpected<Error> refuse(std::string_view text, std::size_t offset, std::string_view what,
                              std::string hint) {
  return fail(Reason::argument,
              std::string("the JSON is refused at ").append(place_of(text, offset)) + ": " +
                  std::string(what),
              std::move(hint));
}

// Boost's own reading of a double is not the nearest one in this version; from_chars is exact.
// Empty for what no double holds: 1e400, and 1e-400, which would silently become 0.
std::optional<double> nearest_double(std::string_view digits) {
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size() || !std::isfinite(number))
    return std::nullopt;
  return number;
}

// The events that both readers of a text share: everything is allowed and nothing is kept.
struct IgnoreAll {
  static constexpr std::size_t max_object_size = kNoLimit;
  static constexpr std::size_t max_array_size = kNoLimit;
  static constexpr std::size_t max_key_size = kNoLimit;
  static constexpr std::size_t max_string_size = kNoLimit;
  using Code = json::error_code;
  using Text = json::string_view;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return true; }
  bool on_object_end(std::size_t, Code&) { return true; }
  bool on_array_begin(Code&) { return true; }
  bool on_array_end(std::size_t, Code&) { return true; }
  bool on_key_part(Text, std::size_t, Code&) { return true; }
  bool on_key(Text, std::size_t, Code&) { return true; }
  bool on_string_part(Text, std::size_t, Code&) { return true; }
  bool on_string(Text, std::size_t, Code&) { return true; }
  bool on_number_part(Text, Code&) { return true; }
  bool on_int64(std::int64_t, Text, Code&) { return true; }
  bool on_uint64(std::uint64_t, Text, Code&) { return true; }
  bool on_double(double, Text, Code&) { return true; }
  bool on_bool(bool, Code&) { return true; }
  bool on_null(Code&) { return true; }
  bool on_comment_part(Text, Code&) { return true; }
  bool on_comment(Text, Code&) { return true; }
};

// Builds the value, and counts the keys that the text has.
struct ValueReader : IgnoreAll {
  unsigned char room[512];  // for the values of small texts, until they are whole
  json::value_stack values{{}, room, sizeof(room)};
  std::size_t keys = 0;
  Refusal refusal = Refusal::none;

  bool stop(Refusal why, Code& code) {
    refusal = why;
    code = json::error::syntax;
    return false;
  }

  bool on_document_begin(Code&) {
    values.reset();
    return true;
  }
  bool on_object_end(std::size_t count, Code&) {
    keys += count;
    values.push_object(count);
    return true;
  }
  bool on_array_end(std::size_t count, Code&) {
    values.push_array(count);
    return true;
  }
  bool on_key_part(Text text, std::size_t, Code&) {
    values.push_chars(text);
    return true;
  }
  bool on_key(Text text, std::size_t, Code&) {
    values.push_key(text);
    return true;
  }
  bool on_string_part(Text text, std::size_t, Code&) {
    values.push_chars(text);
    return true;
  }
  bool on_string(Text text, std::size_t, Code&) {
    values.push_string(text);
    return true;
  }
  bool on_int64(std::int64_t number, Text, Code&) {
    values.push_int64(number);
    return true;
  }
  bool on_uint64(std::uint64_t, Text, Code& code) { return stop(Refusal::integer, code); }
  bool on_double(double, Text digits, Code& code) {
    // Boost makes a double of an integer that is too long: the text tells.
    const std::string_view text(digits.data(), digits.size());
    if (text.find_first_of(".eE") == std::string_view::npos) return stop(Refusal::integer, code);
    const auto number = nearest_double(text);
    if (!number) return stop(Refusal::number, code);
    values.push_double(*number);
    return true;
  }
  bool on_bool(bool yes, Code&) {
    values.push_bool(yes);
    return true;
  }
  bool on_null(Code&) {
    values.push_null();
    return true;
  }
};

// Finds the second of two equal keys, as they are after unescaping.
struct TwinFinder : IgnoreAll {
  std::vector<std::unordered_set<std::string>> open;  // the keys of the objects around
  std::string key;

  bool on_object_begin(Code&) {
    open.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, Code&) {
    open.pop_back();
    return true;
  }
  bool on_key_part(Text text, std::size_t, Code&) {
    key.append(text.data(), text.size());
    return true;
  }
  bool on_key(Text text, std::size_t, Code& code) {
    key.append(text.data(), text.size());
    if (!open.back().insert(key).second) {
      code = json::error::syntax;
      return false;
    }
    key.clear();
    return true;
  }
};

// How many keys are in all objects of a value.
std::size_t count_keys(const json::value& value) {
  std::size_t keys = 0;
  if (const json::array* array = value.if_array()) {
    for (const json::value& item : *array)
      if (item.is_structured()) keys += count_keys(item);
  } else if (const json::object* object = value.if_object()) {
    keys = object->size();
    for (const json::key_value_pair& member : *object)
      if (member.value().is_structured()) keys += count_keys(member.value());
  }
  return keys;
}

json::parse_options options_of(const JsonLimits& limits) {
  json::parse_options options;
  options.max_depth = limits.max_depth;
  return options;
}

std::unexpected<Error> refuse_twin(std::string_view text, const JsonLimits& limits) {
  json::basic_parser<TwinFinder> parser(options_of(limits));
  json::error_code code;
  std::size_t at = parser.write_some(false, text.data(), text.size(), code);
  // Back from the closing quote of the key to its opening one: within it, quotes are escaped.
  at = at > 1 ? at - 1 : at;
  while (at > 1) {
    at = text.rfind('"', at - 1);
    if (at == std::string_view::npos) return refuse(text, 0, "a key is given twice", {});
    std::size_t slashes = 0;
    while (slashes < at && text[at - 1 - slashes] == '\\')
      ++slashes;
    if (slashes % 2 == 0) break;
  }
  return refuse(text, at, "the key " + quoted(parser.handler().key) + " is given twice",
                "give each key once");
}

std::unexpected<Error> explain(std::string_view text, std::size_t at, const json::error_code& code,
                               Refusal refusal, const JsonLimits& limits) {
  if (refusal == Refusal::integer)
    return refuse(text, at, "the integer does not fit into 64 bits",
                  "write an integer of at most 9223372036854775807, or a string");
  if (refusal == Refusal::number || code == json::error::exponent_overflow)
    return refuse(text, at, "the number is larger or smaller than a double can hold",
                  "write a number of at most 1.7976931348623157e308, or a string");
  if (code == json::error::too_deep)
    return refuse(text, at,
                  "arrays and objects are nested deeper than " + std::to_string(limits.max_depth),
                  "nest them at most " + std::to_string(limits.max_depth) + " deep");
  if (code == json::error::incomplete)
    return refuse(text, text.size(), "the text ends within the value",
                  "write one whole JSON value");
  if (code == json::error::extra_data)
    return refuse(text, at, "there is more behind the value", "write one JSON value");
  if (code == json::error::illegal_leading_surrogate ||
      code == json::error::illegal_trailing_surrogate)
    return refuse(text, at, "half of a surrogate pair is not a character",
                  "write both halves, or the character itself");
  const std::string_view rest = text.substr(std::min(at, text.size()));
  if (!rest.empty() && !first_utf8_char(rest).valid)
    return refuse(text, at, "the bytes are not UTF-8", "write the text in UTF-8");
  return refuse(text, at, "this is not JSON (" + code.message() + ")",
                "write one JSON value as RFC 8259 has it, without comments or trailing commas");
}

}  // namespace

Result<json::value> parse_json(std::string_view text, const JsonLimits& limits) try {
  if (text.size() > limits.max_bytes)
    return fail(Reason::argument,
                "the JSON is refused: it has " + std::to_string(text.size()) + " bytes",
                "write at most " + std::to_string(limits.max_bytes) + " bytes");
  if (text.starts_with(kByteOrderMark))
    return refuse(text, 0, "it begins with a byte order mark", "write the text without it");
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return refuse(text, text.size(), "there is no value", "write one JSON value");

  json::basic_parser<ValueReader> parser(options_of(limits));
  json::error_code code;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), code);
  if (!code && used < text.size()) code = json::error::extra_data;
  if (code) return explain(text, used, code, parser.handler().refusal, limits);

  // Of equal keys, Boost keeps the last: then the value has fewer keys than the text.
  json::value value = parser.handler().values.release();
  if (parser.handler().keys != count_keys(value)) return refuse_twin(text, limits);
  return value;
} catch (const std::exception& error) {
  return fail(Reason::internal, std::string("the JSON cannot be read: ") + error.what());
}

}  // namespace sallyport
