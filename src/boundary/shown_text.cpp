#include "boundary/shown_text.h"

namespace sallyport {

ShownText::ShownText(const std::shared_ptr<const Redactions>& redactions)
    : redactor_(redactions ? std::make_unique<Redactor>(redactions) : nullptr) {}

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

bool ShownText::failed() const {
  return redactor_ != nullptr && redactor_->failed();
}

bool make_shown(const std::shared_ptr<const Redactions>& redactions, std::string& text,
                RedactionCounts& counts) {
  ShownText shown(redactions);
  std::string out;
  shown.feed(text, out);
  shown.finish(out);
  shown.add_counts(counts);
  text = shown.failed() ? std::string() : std::move(out);
  return !shown.failed();
}

bool make_shown(const std::shared_ptr<const Redactions>& redactions, json::value& value,
                RedactionCounts& counts) {
  if (json::string* text = value.if_string()) {
    std::string shown(*text);
    const bool good = make_shown(redactions, shown, counts);
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
      if (!make_shown(redactions, key, counts) || !make_shown(redactions, member.value(), counts))
        return false;
      made[key] = std::move(member.value());
    }
    *object = std::move(made);
  }
  return true;
}

}  // namespace sallyport
