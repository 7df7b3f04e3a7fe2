// An object of canonical JSON, written member by member: for texts that are made too often to build
// a value first.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace sallyport {

// What append_canonical_json writes for a text, with its quotes, and for an object.
void append_canonical_text(std::string& out, std::string_view text);
void append_canonical_json(std::string& out, const json::object& object);

class CanonicalObject {
 public:
  // Appends to `out`, which outlives it.
  explicit CanonicalObject(std::string& out) : out_(out) { out_.push_back('{'); }

  // The value is what is appended to `out` next. Keys have to come in rising order, with nothing
  // in them that is escaped; throws std::invalid_argument otherwise.
  void key(std::string_view key);
  void text(std::string_view key, std::string_view value);
  void flag(std::string_view key, bool value);
  void value(std::string_view key, const json::value& value);
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  void number(std::string_view key, Number number) {
    value(key, json::value(number));
  }
  void close() { out_.push_back('}'); }

 private:
  std::string& out_;
  std::size_t last_ = 0, last_size_ = 0;  // the last key, as it stands in `out_`
};

}  // namespace sallyport
