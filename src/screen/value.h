// What an expression may be when the code runs, as far as that can be told without running it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "screen/report.h"

namespace sallyport {

struct CodeValue;
using CodeRef = std::shared_ptr<const CodeValue>;

// Any of these; empty: nobody knows.
using CodeValues = std::vector<CodeRef>;
constexpr std::size_t kMostValues = 6;
constexpr std::size_t kLongestFolded = std::size_t{64} << 10;
constexpr std::size_t kMostFoldedItems = 4096;

struct CodeValue {
  enum class Kind : std::uint8_t {
    text,  // a string
    number,
    name,      // something of a module or of the language: "os.system"; "()" is what a call of it
               // gives: "pathlib.Path()"
    list,      // items
    table,     // keys and items
    function,  // of the code itself: `scope`
    type,      // a class of the code itself, or an object of it: `scope`
    names,     // the variables of the module, by name: globals()
    getter,    // a function that takes the member `text` of what it is given
  };
  Kind kind = Kind::text;
  std::string text;
  std::int64_t number = 0;
  std::vector<CodeValues> items;
  std::vector<std::string> keys;
  std::uint32_t scope = 0;
};

inline CodeRef make_value(CodeValue value) {
  return std::make_shared<const CodeValue>(std::move(value));
}
inline CodeRef text_value(std::string text) {
  return make_value({.kind = CodeValue::Kind::text, .text = std::move(text)});
}
inline CodeRef number_value(std::int64_t number) {
  return make_value({.kind = CodeValue::Kind::number, .number = number});
}
inline CodeRef name_value(std::string path) {
  return make_value({.kind = CodeValue::Kind::name, .text = std::move(path)});
}

// Adds the values that are not there yet. Names come first when there are too many: they are what
// matters.
void merge(CodeValues& into, const CodeValues& more);

// The values of a name, which is bound in some places and asked for in many: `value_of(binding,
// values before it)` is asked once per binding. A name that is bound to itself has none on the way.
template <class Name, class ValueOf>
const CodeValues& values_of_bindings(Name& name, ValueOf&& value_of) {
  if (name.known || name.busy) return name.values;
  name.busy = true;
  CodeValues values;
  for (const auto& binding : name.bindings) {
    using How = decltype(binding.how);
    const CodeValues more = value_of(binding, values);
    // What is added to takes the place of what it was.
    if (binding.how == How::augment && !more.empty()) values.clear();
    merge(values, more);
  }
  name.values = std::move(values);
  name.busy = false;
  name.known = true;
  return name.values;
}

// The first text among the values, or null.
[[nodiscard]] std::shared_ptr<const std::string> text_of(const CodeValues& values);
[[nodiscard]] CodeRef first_of(const CodeValues& values, CodeValue::Kind kind);

// One row of what a language's names can do.
struct NameRow {
  enum class Match : std::uint8_t {
    exact,
    below,     // it and all that begins with it: a module that has no other use
    quietly,   // as `below`, but importing it is nothing yet
    harmless,  // it and all below, inside of a longer row that is not
  };
  std::string_view path;
  ScreenKind kind = ScreenKind::dynamic;
  Match match = Match::exact;
};

class NameTable {
 public:
  // `rows` must outlive the table.
  explicit NameTable(std::span<const NameRow> rows);

  // The row for a path, the longest that matches; null for none and for the harmless.
  [[nodiscard]] const NameRow* find(std::string_view path) const;
  // Whether something below the path is in the table.
  [[nodiscard]] bool has_below(std::string_view path) const;

 private:
  std::vector<NameRow> rows_;  // in the order of their paths
};

}  // namespace sallyport
