// An object of JSON as text, written member by member in the order in which they come: for answers
// that are made too often to build a value first.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/json_key.h"

namespace sallyport {

// What json::serialize writes for a text, with its quotes. Bytes that are not UTF-8 are replaced.
void append_json_text(std::string& out, std::string_view text);

template <std::integral Number>
  requires(!std::same_as<Number, bool>)
void append_json_number(std::string& out, Number number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
}

class ObjectText {
 public:
  // Appends to `out`, which outlives it.
  explicit ObjectText(std::string& out) : out_(out) { out_.push_back('{'); }

  // The value is what is appended to out() next. Nobody looks whether a key comes twice.
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
  // A list, of which `append` writes one item.
  template <class List, class Append>
  void list(JsonKey name, const List& items, Append append) {
    key(name);
    char before = '[';
    for (const auto& item : items) {
      out_.push_back(before);
      append(item);
      before = ',';
    }
    out_.append(before == '[' ? "[]" : "]");
  }
  // An object within this one, to be closed before the next member comes.
  [[nodiscard]] ObjectText object(JsonKey name) {
    key(name);
    return ObjectText(out_);
  }
  void close() { out_.push_back('}'); }
  [[nodiscard]] std::string& out() { return out_; }

 private:
  std::string& out_;
  bool empty_ = true;
};

}  // namespace sallyport
