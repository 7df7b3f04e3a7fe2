#include "boundary/shown_text.h"

namespace sallyport {

ShownText::ShownText(const std::shared_ptr<const Redactions>& redactions, Invisible invisible)
    : cleaner_(invisible),
      redactor_(redactions ? std::make_unique<Redactor>(redactions) : nullptr) {}

void ShownText::feed(std::string_view bytes, std::string& out) {
  if (redactor_ == nullptr) return cleaner_.feed(bytes, out);
  cleaned_.clear();
  cleaner_.feed(bytes, cleaned_);
  redactor_->feed(cleaned_, out);
}

void ShownText::finish(std::string& out) {
  if (redactor_ == nullptr) return cleaner_.finish(out);
  cleaned_.clear();
  cleaner_.finish(cleaned_);
  redactor_->feed(cleaned_, out);
  redactor_->finish(out);
}

void ShownText::add_counts(RedactionCounts& counts) const {
  if (redactor_ == nullptr) return;
  for (const auto& [rule, count] : redactor_->counts())
    counts[rule] += count;
}

bool ShownText::has_invisible() const {
  return cleaner_.counts().invisible > 0;
}

bool ShownText::failed() const {
  return redactor_ != nullptr && redactor_->failed();
}

bool make_shown(const std::shared_ptr<const Redactions>& redactions, std::string& text,
                RedactionCounts& counts, Invisible invisible) {
  if (text.empty()) return true;
  ShownText shown(redactions, invisible);
  std::string out;
  shown.feed(text, out);
  shown.finish(out);
  shown.add_counts(counts);
  text = shown.failed() ? std::string() : std::move(out);
  return !shown.failed();
}

namespace {

// Of data nothing is lost silently: who reads a file wants to find again what it read. But what is
// taken out is looked for without what nobody sees, so that nothing hides behind it; only where
// there is nothing to take out are the invisible characters shown.
bool make_data_shown(const std::shared_ptr<const Redactions>& redactions, std::string& text,
                     RedactionCounts& counts) {
  ShownText removed(redactions);
  std::string out;
  removed.feed(text, out);
  removed.finish(out);
  RedactionCounts taken;
  removed.add_counts(taken);
  if (!removed.failed() && removed.has_invisible() && taken.empty())
    return make_shown(redactions, text, counts, Invisible::shown);
  removed.add_counts(counts);
  text = removed.failed() ? std::string() : std::move(out);
  return !removed.failed();
}

}  // namespace

bool make_shown(const std::shared_ptr<const Redactions>& redactions, json::value& value,
                RedactionCounts& counts) {
  if (json::string* text = value.if_string()) {
    std::string shown(*text);
    const bool good = make_data_shown(redactions, shown, counts);
    *text = shown;
    return good;
  }
  if (json::array* array = value.if_array()) {
    for (json::value& item : *array)
      if (!make_shown(redactions, item, counts)) return false;
  } else if (json::object* object = value.if_object()) {
    json::object made(object->storage());
    for (auto& member : *object) {
      std::string key(member.key());
      if (!make_data_shown(redactions, key, counts) ||
          !make_shown(redactions, member.value(), counts))
        return false;
      made[key] = std::move(member.value());
    }
    *object = std::move(made);
  }
  return true;
}

}  // namespace sallyport
