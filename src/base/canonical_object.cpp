#include "base/canonical_object.h"

#include <stdexcept>

namespace sallyport {

void CanonicalObject::key(std::string_view key) {
  // Two members of one name, or another order, would be another text of the same value.
  if (key <= last_) throw std::invalid_argument("members of canonical JSON are not in order");
  if (!last_.empty()) out_.push_back(',');
  last_ = key;
  append_canonical_text(out_, key);
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
