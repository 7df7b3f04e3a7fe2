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
  [[gnu::always_inline]] void key(JsonKey key) {
    // Two members of one name, or another order, would be another text of the same value.
    if (!stands_before(std::string_view(out_).substr(last_, last_size_), key.text()) ||
        !key.is_plain())
      refuse();
    const bool first = last_size_ == 0;
    last_ = out_.size() + (first ? 1 : 2);
    last_size_ = key.text().size();
    key.append_to(out_, first);
  }
  void text(JsonKey name, std::string_view value) {
    key(name);
    append_canonical_text(out_, value);
  }
  void flag(JsonKey name, bool value) {
    key(name);
    out_.append(value ? "true" : "false");
  }
  void value(JsonKey key, const json::value& value);
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  void number(JsonKey name, Number number) {
    key(name);
    append_json_number(out_, number);
  }
  void close() { out_.push_back('}'); }

 private:
  [[noreturn]] static void refuse();

  std::string& out_;
  std::size_t last_ = 0, last_size_ = 0;  // the last key, as it stands in `out_`
};

}  // namespace sallyport
