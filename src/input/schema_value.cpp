#include "input/schema_value.h"

#include <algorithm>

#include "input/schema_number.h"
#include "input/schema_uri.h"

namespace sallyport {
namespace {

std::string shown_token(std::string_view key) {
  constexpr std::size_t kMostBytes = 256;
  if (key.size() <= kMostBytes) return pointer_token(key);
  std::size_t end = kMostBytes;
  while (end > 0 && (static_cast<unsigned char>(key[end]) & 0xC0) == 0x80)
    --end;
  return pointer_token(key.substr(0, end)) + "…";
}

}  // namespace

TypeSet types_of(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return kNull;
    case json::kind::bool_:
      return kBoolean;
    case json::kind::int64:
    case json::kind::uint64:
      return kInteger | kNumber;
    case json::kind::double_:
      return is_integer(value) ? kInteger | kNumber : kNumber;
    case json::kind::string:
      return kString;
    case json::kind::array:
      return kArray;
    case json::kind::object:
      return kObject;
  }
  return 0;
}

std::string names_of(TypeSet types) {
  constexpr std::pair<TypeSet, std::string_view> kNames[] = {
      {kNull, "null"},       {kBoolean, "a boolean"}, {kInteger, "an integer"},
      {kNumber, "a number"}, {kString, "a string"},   {kArray, "an array"},
      {kObject, "an object"}};
  std::string text;
  for (const auto& [type, name] : kNames)
    if (types & type) text.append(text.empty() ? "" : " or ").append(name);
  return text;
}

std::string name_of(const json::value& value) {
  const TypeSet types = types_of(value);
  return names_of(types & kInteger ? TypeSet{kInteger} : types);
}

std::size_t count_code_points(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::uint64_t weight_of(const json::value& value) {
  std::uint64_t weight = 1;
  if (const json::string* text = value.if_string()) {
    weight += text->size() / 64;
  } else if (const json::array* array = value.if_array()) {
    for (const json::value& item : *array)
      weight += weight_of(item);
  } else if (const json::object* object = value.if_object()) {
    for (const json::key_value_pair& member : *object)
      weight += 1 + weight_of(member.value());
  }
  return weight;
}

std::string pointer_of(const ValuePlace& place) {
  if (!place.above) return {};
  const std::string token = place.is_item ? std::to_string(place.index) : shown_token(place.key);
  return pointer_of(*place.above) + "/" + token;
}

}  // namespace sallyport
