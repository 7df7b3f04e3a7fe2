#include "base/canonical_object.h"

#include <stdexcept>

namespace sallyport {

void CanonicalObject::key(std::string_view key) {
  // Two members of one name, or another order, would be another text of the same value.
  if (key <= std::string_view(out_).substr(last_, last_size_))
    throw std::invalid_argument("members of canonical JSON are not in order");
  if (last_size_ > 0) out_.push_back(',');
  last_ = out_.size() + 1;
  last_size_ = key.size();
  append_canonical_text(out_, key);
  if (out_.size() != last_ + last_size_ + 1)
    throw std::invalid_argument("a member of canonical JSON has a name that is escaped");
  out_.push_back(':');
}

void CanonicalObject::text(std::string_view name, std::string_view value) {
  key(name);
  append_canonical_text(out_, value);
}

void CanonicalObject::flag(std::string_view name, bool value) {
  key(name);
  out_.append(value ? "true" : "false");
}

void CanonicalObject::value(std::string_view name, const json::value& value) {
  key(name);
  append_canonical_json(out_, value);
}

}  // namespace sallyport
