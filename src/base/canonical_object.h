// An object of canonical JSON, written member by member: for texts that are made too often to build
// a value first.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/json_key.h"
#include "base/object_text.h"

namespace sallyport {

// What append_canonical_json writes for a text, with its quotes, and for an object.
void append_canonical_text(std::string& out, std::string_view text);
void append_canonical_json(std::string& out, const json::object& object);

class CanonicalObject {
 public:
  // Appends to `out`, which outlives it.
  explicit CanonicalObject(std::string& out) : out_(out) { out_.push_back('{'); }

  // The value is what is appended to `out` next. Keys have to come in rising order, and to be
  // plain; throws std::invalid_argument otherwise.
  void key(JsonKey key);
  void text(JsonKey key, std::string_view value);
  void flag(JsonKey key, bool value);
  void value(JsonKey key, const json::value& value);
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  void number(JsonKey name, Number number) {
    key(name);
    append_json_number(out_, number);
  }
  void close() { out_.push_back('}'); }

 private:
  std::string& out_;
  std::size_t last_ = 0, last_size_ = 0;  // the last key, as it stands in `out_`
};

}  // namespace sallyport
