#include "audit/record_builder.h"

#include <algorithm>
#include <stdexcept>

namespace sallyport {
namespace {

constexpr std::size_t kUsualSize = 980;  // one of the small ones, which malloc is quick at

}  // namespace

RecordBuilder::RecordBuilder(DraftRecord used) : draft_(emptied(std::move(used))) {}

DraftRecord RecordBuilder::emptied(DraftRecord used) {
  DraftRecord draft;
  draft.text_ = std::move(used.text_);
  draft.text_.clear();
  draft.text_.reserve(kUsualSize);
  return draft;
}

void RecordBuilder::add_own() {
  std::string& text = draft_.text_;
  object_.key(kOwn[own_]);
  switch (own_++) {
    case 0:
      draft_.prev_ = {text.size() + 1, 2 * sizeof(Hash)};
      text.append(1, '"').append(2 * sizeof(Hash), '0').append(1, '"');
      break;
    case 1:
      draft_.seq_ = {text.size(), 1};
      text.push_back('0');
      break;
    default:
      text.push_back('"');
      append_time_text(text, wall_clock_us());
      text.push_back('"');
  }
}

void RecordBuilder::flag(JsonKey name, bool value) {
  add_own_before(name.text());
  object_.flag(name, value);
}

void RecordBuilder::value(JsonKey name, const json::value& value) {
  if (!is_plain_json(value, DraftRecord::kDeepest))
    throw std::invalid_argument("the record holds what is no JSON");
  add_own_before(name.text());
  object_.value(name, value);
}

void RecordBuilder::object(JsonKey name, const json::object& members) {
  if (!std::ranges::all_of(members, [](const auto& member) {
        return is_plain_json(member.value(), DraftRecord::kDeepest - 1);
      }))
    throw std::invalid_argument("the record holds what is no JSON");
  key(name);
  append_canonical_json(draft_.text_, members);
}

CanonicalObject RecordBuilder::object(JsonKey name) {
  key(name);
  return CanonicalObject(draft_.text_);
}

Result<DraftRecord> RecordBuilder::finish() {
  add_own_before("\x7f");
  object_.close();
  return DraftRecord::checked(std::move(draft_));
}

}  // namespace sallyport
