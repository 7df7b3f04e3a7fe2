#include "base/canonical_object.h"

#include <stdexcept>

namespace sallyport {

void CanonicalObject::refuse() {
  throw std::invalid_argument("members of canonical JSON are not plain, or not in order");
}

void CanonicalObject::value(JsonKey name, const json::value& value) {
  key(name);
  append_canonical_json(out_, value);
}

}  // namespace sallyport
