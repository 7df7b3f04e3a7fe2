#include "base/object_text.h"

#include "base/text.h"

namespace sallyport {

void ObjectText::key(std::string_view key) {
  if (!empty_) out_.push_back(',');
  empty_ = false;
  append_json_text(out_, key);
  out_.push_back(':');
}

void ObjectText::text(std::string_view name, std::string_view value) {
  key(name);
  append_json_text(out_, value);
}

void ObjectText::flag(std::string_view name, bool value) {
  key(name);
  out_.append(value ? "true" : "false");
}

void ObjectText::value(std::string_view name, const json::value& value) {
  key(name);
  if (const json::string* text = value.if_string())
    append_json_text(out_, *text);
  else
    out_.append(json::serialize(value));
}

}  // namespace sallyport
