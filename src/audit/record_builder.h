// A record of a call on its way to the log, made as the text that it will be: every call has two of
// them, and values of JSON in between would cost more than all gates.
#pragma once

#include <concepts>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "audit/record_line.h"
#include "base/canonical_object.h"

namespace sallyport {

class RecordBuilder {
 public:
  // In the memory of a record that is needed no more.
  explicit RecordBuilder(DraftRecord used = {});
  RecordBuilder(const RecordBuilder&) = delete;
  RecordBuilder& operator=(const RecordBuilder&) = delete;

  // Members in the rising order of their keys; `prev`, `seq` and `time` come by themselves. Throws
  // std::invalid_argument for another order, and for what is no JSON.
  [[gnu::always_inline]] void text(JsonKey name, std::string_view value) {
    key(name);
    const std::size_t begin = draft_.text_.size() + 1;
    append_canonical_text(draft_.text_, value);
    if (DraftRecord::Part* const part = draft_.part_of(name.text()))
      *part = {begin, draft_.text_.size() - 1 - begin};
  }
  void flag(JsonKey key, bool value);
  void value(JsonKey key, const json::value& value);
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  void number(JsonKey name, Number number) {
    key(name);
    append_json_number(draft_.text_, number);
  }
  // An object within the record, to be closed before the next member comes.
  [[nodiscard]] CanonicalObject object(JsonKey key);
  void object(JsonKey key, const json::object& members);

  // As DraftRecord::make. Nothing more can be added.
  [[nodiscard]] Result<DraftRecord> finish();

 private:
  // Those of the log itself, in their order.
  static constexpr JsonKey kOwn[] = {"prev", "seq", "time"};

  [[gnu::always_inline]] void key(JsonKey key) {
    add_own_before(key.text());
    object_.key(key);
  }
  void add_own_before(std::string_view key) {
    while (own_ < std::size(kOwn) && stands_before(kOwn[own_].text(), key))
      add_own();
  }
  void add_own();
  [[nodiscard]] static DraftRecord emptied(DraftRecord used);

  DraftRecord draft_;
  CanonicalObject object_{draft_.text_};
  std::size_t own_ = 0;  // members of the log itself that are written
};

}  // namespace sallyport
