#include "base/object_text.h"

namespace sallyport {

void ObjectText::append_escaped_key(std::string_view key, bool first) {
  if (!first) out_.push_back(',');
  append_json_text(out_, key);
  out_.push_back(':');
}

void ObjectText::value(JsonKey name, const json::value& value) {
  key(name);
  if (const json::string* text = value.if_string())
    append_json_text(out_, *text);
  else
    out_.append(json::serialize(value));
}

}  // namespace sallyport
