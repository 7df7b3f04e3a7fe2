#include "tool/file_order.h"

#include <algorithm>
#include <iterator>

#include "base/json.h"

namespace sallyport {
namespace {

struct ActionText {
  FileAction action;
  std::string_view name;
};
constexpr ActionText kActions[] = {
    {FileAction::read, "read"}, {FileAction::write, "write"},   {FileAction::edit, "edit"},
    {FileAction::list, "list"}, {FileAction::search, "search"},
};

// Behind everything that a caller may send, so that no order is refused for its size.
constexpr JsonLimits kOrderLimits{.max_depth = 8, .max_bytes = std::size_t{256} << 20};

std::string text_at(const json::object& order, std::string_view key) {
  const json::value* value = order.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::optional<std::uint64_t> count_at(const json::object& order, std::string_view key) {
  const json::value* value = order.if_contains(key);
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(value->get_int64());
}

bool flag_at(const json::object& order, std::string_view key) {
  const json::value* value = order.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

}  // namespace

std::string_view name_of(FileAction action) {
  return std::ranges::find(kActions, action, &ActionText::action)->name;
}

std::optional<FileAction> file_action(std::string_view name) {
  const auto* found = std::ranges::find(kActions, name, &ActionText::name);
  return found == std::end(kActions) ? std::nullopt : std::optional(found->action);
}

std::string to_text(const FileOrder& order) {
  const auto number = [](std::uint64_t count) { return static_cast<std::int64_t>(count); };
  json::object object{{"path", order.path},
                      {"offset", number(order.offset)},
                      {"content", order.content},
                      {"append", order.append},
                      {"old", order.old_text},
                      {"new", order.new_text},
                      {"all", order.all},
                      {"recursive", order.recursive},
                      {"pattern", order.pattern},
                      {"regex", order.regex},
                      {"ignore_case", order.ignore_case},
                      {"names", order.names},
                      {"context", number(order.context)},
                      {"max_answer", number(order.max_answer)}};
  if (order.length) object["length"] = number(*order.length);
  json::array places;
  for (const FilePlace& place : order.places)
    places.push_back(
        json::object{{"inside", place.inside}, {"names", place.names}, {"host", place.host}});
  object["places"] = std::move(places);
  object["denied"] = json::array(order.denied.begin(), order.denied.end());
  return canonical_json(object);
}

Result<FileOrder> parse_file_order(std::string_view text) {
  auto value = parse_json(text, kOrderLimits);
  if (!value) return std::unexpected(std::move(value.error()));
  const json::object* object = value->if_object();
  const json::value* places = object != nullptr ? object->if_contains("places") : nullptr;
  if (places == nullptr || !places->is_array())
    return fail(Reason::internal, "the order has no places");
  FileOrder order;
  order.path = text_at(*object, "path");
  order.offset = count_at(*object, "offset").value_or(0);
  order.length = count_at(*object, "length");
  order.content = text_at(*object, "content");
  order.append = flag_at(*object, "append");
  order.old_text = text_at(*object, "old");
  order.new_text = text_at(*object, "new");
  order.all = flag_at(*object, "all");
  order.recursive = flag_at(*object, "recursive");
  order.pattern = text_at(*object, "pattern");
  order.regex = flag_at(*object, "regex");
  order.ignore_case = flag_at(*object, "ignore_case");
  order.names = text_at(*object, "names");
  order.context = count_at(*object, "context").value_or(0);
  order.max_answer = count_at(*object, "max_answer").value_or(0);
  for (const json::value& place : places->get_array()) {
    if (!place.is_object()) return fail(Reason::internal, "a place of the order is not an object");
    order.places.push_back({.inside = text_at(place.get_object(), "inside"),
                            .names = text_at(place.get_object(), "names"),
                            .host = text_at(place.get_object(), "host")});
  }
  // A rule that cannot be read must not be a rule less.
  if (const json::value* denied = object->if_contains("denied")) {
    if (!denied->is_array()) return fail(Reason::internal, "what the order denies is not a list");
    for (const json::value& glob : denied->get_array()) {
      if (!glob.is_string()) return fail(Reason::internal, "the order denies what is not a text");
      order.denied.emplace_back(glob.get_string());
    }
  }
  return order;
}

}  // namespace sallyport
