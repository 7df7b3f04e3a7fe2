#include "base/object_text.h"

#include "base/text.h"

namespace sallyport {

void ObjectText::key(JsonKey key) {
  if (!empty_) out_.push_back(',');
  empty_ = false;
  if (key.is_plain()) return key.append_to(out_);
  append_json_text(out_, key.text());
  out_.push_back(':');
}

void ObjectText::text(JsonKey name, std::string_view value) {
  key(name);
  append_json_text(out_, value);
}

void ObjectText::flag(JsonKey name, bool value) {
  key(name);
  out_.append(value ? "true" : "false");
}

void ObjectText::value(JsonKey name, const json::value& value) {
  key(name);
  if (const json::string* text = value.if_string())
    append_json_text(out_, *text);
  else
    out_.append(json::serialize(value));
}

}  // namespace sallyport
