#include "base/canonical_object.h"

#include <stdexcept>

namespace sallyport {

void CanonicalObject::key(JsonKey key) {
  // Two members of one name, or another order, would be another text of the same value.
  if (!stands_before(std::string_view(out_).substr(last_, last_size_), key.text()) ||
      !key.is_plain())
    throw std::invalid_argument("members of canonical JSON are not plain, or not in order");
  if (last_size_ > 0) out_.push_back(',');
  last_ = out_.size() + 1;
  last_size_ = key.text().size();
  key.append_to(out_);
}

void CanonicalObject::text(JsonKey name, std::string_view value) {
  key(name);
  append_canonical_text(out_, value);
}

void CanonicalObject::flag(JsonKey name, bool value) {
  key(name);
  out_.append(value ? "true" : "false");
}

void CanonicalObject::value(JsonKey name, const json::value& value) {
  key(name);
  append_canonical_json(out_, value);
}

}  // namespace sallyport
