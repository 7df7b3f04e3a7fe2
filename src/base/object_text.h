// An object of JSON as text, written member by member in the order in which they come: for answers
// that are made too often to build a value first.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/json_key.h"

namespace sallyport {

// What json::serialize writes for a text, with its quotes. Bytes that are not UTF-8 are replaced.
void append_json_text(std::string& out, std::string_view text);

template <std::integral Number>
  requires(!std::same_as<Number, bool>)
void append_json_number(std::string& out, Number number) {
  constexpr std::size_t kLongest = 24;
  const std::size_t at = out.size();
  out.resize_and_overwrite(at + kLongest, [=](char* bytes, std::size_t end) {
    return static_cast<std::size_t>(std::to_chars(bytes + at, bytes + end, number).ptr - bytes);
  });
}

class ObjectText {
 public:
  // Appends to `out`, which outlives it.
  explicit ObjectText(std::string& out) : out_(out) { out_.push_back('{'); }

  // The value is what is appended to out() next. Nobody looks whether a key comes twice.
  [[gnu::always_inline]] void key(JsonKey key) {
    const bool first = std::exchange(empty_, false);
    if (key.is_plain()) return key.append_to(out_, first);
    append_escaped_key(key.text(), first);
  }
  void text(JsonKey name, std::string_view value) {
    key(name);
    append_json_text(out_, value);
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
  void append_escaped_key(std::string_view key, bool first);

  std::string& out_;
  bool empty_ = true;
};

}  // namespace sallyport
