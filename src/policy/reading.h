// How a section of the policy file becomes typed values: each section is one table of fields, from
// which come its reader, its unknown-key errors, the published JSON Schema and the reference.
//
// Readers report what is wrong and go on, so that one look at a file finds all of it. Beside the
// typed value, every reader leaves the meaning of what it read, in one spelling; the hash of the
// policy is made from that.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json.h"
#include "policy/node.h"
#include "sallyport/call_rate.h"
#include "sallyport/error.h"
#include "sallyport/policy.h"

namespace sallyport {

// What one load has to say.
struct Notes {
  std::string file;
  std::vector<PolicyProblem> problems, warnings;

  // A file of a million mistakes is not worth a million sentences.
  [[nodiscard]] bool full() const { return problems.size() >= 1000; }
};

// A value in the file together with its place in the policy, "tools.python.limits". Lives on the
// stack of the readers, below the Spot that it is a part of.
class Spot {
 public:
  Spot(const Node& node, Notes& notes, json::value* meaning)
      : node_(&node), notes_(&notes), meaning_(meaning) {}
  // The value of a key of `parent`.
  Spot(const Spot& parent, const NodeEntry& entry, json::value* meaning)
      : node_(&entry.value),
        notes_(parent.notes_),
        parent_(&parent),
        key_(entry.key.text),
        meaning_(meaning) {}
  // An item of a list.
  Spot(const Spot& parent, const Node& item, std::size_t index, json::value* meaning)
      : node_(&item), notes_(parent.notes_), parent_(&parent), index_(index), meaning_(meaning) {}

  [[nodiscard]] const Node& node() const { return *node_; }
  [[nodiscard]] Notes& notes() const { return *notes_; }
  [[nodiscard]] std::string_view key() const { return key_; }
  [[nodiscard]] std::string rule() const;

  void refuse(std::string message, std::string hint = {}) const;
  void refuse(const Error& error) const { refuse(error.message, error.hint); }
  void refuse_at(Place place, std::string message, std::string hint = {}) const;
  // The wrong or missing key `key` of this map.
  void refuse_key(std::string_view key, Place place, std::string message, std::string hint) const;
  void warn(std::string message, std::string hint = {}) const;

  // What was read, in the one spelling that the hash sees.
  void means(json::value value) const { *meaning_ = std::move(value); }

 private:
  const Node* node_;
  Notes* notes_;
  const Spot* parent_ = nullptr;
  std::string_view key_;
  std::optional<std::size_t> index_;
  json::value* meaning_;
};

// --- scalars ----------------------------------------------------------------------------------
// Each reports what is wrong at the spot and returns nothing.

// A text. A bare scalar that some reader of YAML takes for something else (yes, 012, 1.10, ~) has
// to be quoted.
[[nodiscard]] std::optional<std::string> read_text(const Spot& at);
[[nodiscard]] std::optional<std::string> read_text_or_empty(const Spot& at);
[[nodiscard]] std::optional<bool> read_switch(const Spot& at);
[[nodiscard]] std::optional<std::uint64_t> read_count(const Spot& at, std::uint64_t least,
                                                      std::uint64_t most);
[[nodiscard]] std::optional<double> read_amount(const Spot& at);  // a number from 0
[[nodiscard]] std::optional<Duration> read_duration(const Spot& at);
// One of a few words.
[[nodiscard]] std::optional<std::string> read_choice(const Spot& at,
                                                     std::span<const std::string_view> choices);
// The text of a scalar that a parser of its own reads next: 10s, 256MiB, 10/min. Not empty.
[[nodiscard]] std::optional<std::string_view> read_bare(const Spot& at, std::string_view wanted);

// Names of roles, tools, arguments ...: letters, digits, '_' and '-' (and, for callers, '.' and
// '@'), at most 64, beginning with a letter or '_'.
enum class NameKind { plain, caller, permission, argument, variable };
[[nodiscard]] Result<void> check_name(std::string_view name, NameKind kind);
[[nodiscard]] std::optional<std::string> read_name(const Spot& at);
[[nodiscard]] std::optional<std::string> read_permission(const Spot& at);

// Any value as JSON, by the core schema of YAML, without its traps.
[[nodiscard]] std::optional<json::value> read_json(const Spot& at);
[[nodiscard]] std::optional<json::object> read_json_object(const Spot& at);

// The same value as a tree, without places.
[[nodiscard]] Node node_from_json(const json::value& value);

// What a reader left of `node` in `meaning`, or, where it left nothing, what was written: a reader
// that forgets makes the hash too sensitive, never too blunt.
void settle_meaning(json::value& meaning, const Node& node);

// --- lists and maps ---------------------------------------------------------------------------

// Whether this is a list, or a map; says so if not.
[[nodiscard]] bool is_list(const Spot& at);
[[nodiscard]] bool is_map(const Spot& at);

// Calls read(item) for each item of a list.
template <class Read>
void for_each_item(const Spot& at, Read read) {
  if (!is_list(at)) return;
  json::array meaning;
  meaning.reserve(at.node().items.size());
  for (std::size_t i = 0; i < at.node().items.size(); ++i) {
    json::value part;
    read(Spot(at, at.node().items[i], i, &part));
    settle_meaning(part, at.node().items[i]);
    meaning.push_back(std::move(part));
  }
  at.means(std::move(meaning));
}

// Calls read(key, value) for each entry of a map. A key that has to be quoted is reported.
template <class Read>
void for_each_entry(const Spot& at, Read read) {
  if (!is_map(at)) return;
  json::object meaning;
  meaning.reserve(at.node().entries.size());
  for (const NodeEntry& entry : at.node().entries) {
    json::value part;
    read(entry.key, Spot(at, entry, &part));
    settle_meaning(part, entry.value);
    meaning[entry.key.text] = std::move(part);
  }
  at.means(std::move(meaning));
}

// Reports a key of a map of names that is no such name; whether it is one.
[[nodiscard]] bool check_key(const Spot& value, const Node& key, NameKind kind);

// Reports a text that is listed twice.
void refuse_twins(const Spot& at, const std::vector<std::string>& list);

// A list of distinct texts, each read by `read`.
template <auto Read>
std::optional<std::vector<std::string>> read_list(const Spot& at) {
  std::vector<std::string> list;
  for_each_item(at, [&](const Spot& item) {
    if (auto value = Read(item)) list.push_back(std::move(*value));
  });
  if (at.node().kind != Node::Kind::list) return std::nullopt;
  refuse_twins(at, list);
  return list;
}
// One rate or a list of them.
[[nodiscard]] std::optional<std::vector<CallRate>> read_rates(const Spot& at);

// --- sections ---------------------------------------------------------------------------------

enum class Presence { optional, required };

template <class T>
struct Field {
  std::string_view key;
  std::string_view schema;  // of the value, as JSON Schema
  std::string_view about;   // what it is, as a sentence
  void (*read)(const Spot& at, T& into);
  Presence presence = Presence::optional;
};

// The same without the reader: for the JSON Schema and the reference.
struct FieldText {
  std::string_view key, schema, about;
  Presence presence = Presence::optional;
};

// A section as it is published. `name` is its place in "$defs".
struct SectionText {
  std::string_view name;
  std::string_view about;
  std::vector<FieldText> fields;
  // JSON Schema of another form that the whole section may take, such as a plain list.
  std::string_view short_form = {};
};

template <class T>
std::vector<FieldText> texts_of(std::span<const Field<T>> fields) {
  std::vector<FieldText> texts;
  for (const Field<T>& field : fields)
    texts.push_back({field.key, field.schema, field.about, field.presence});
  return texts;
}

void refuse_unknown_key(const Spot& at, const Node& key, std::span<const std::string_view> known);
void refuse_missing_key(const Spot& at, std::string_view key, std::string_view about);

// Reads a map by the table, in the order of the table. Whether it was a map.
template <class T>
bool read_section(const Spot& at, std::span<const Field<T>> fields, T& into) {
  if (!is_map(at)) return false;
  json::object meaning;
  std::size_t known = 0;
  for (const Field<T>& field : fields) {
    const NodeEntry* found = nullptr;
    for (const NodeEntry& entry : at.node().entries)
      if (entry.key.text == field.key) found = &entry;
    if (!found) {
      if (field.presence == Presence::required) refuse_missing_key(at, field.key, field.about);
      continue;
    }
    ++known;
    json::value part;
    field.read(Spot(at, *found, &part), into);
    settle_meaning(part, found->value);
    meaning[field.key] = std::move(part);
  }
  if (known < at.node().entries.size()) {
    std::vector<std::string_view> keys;
    for (const Field<T>& field : fields)
      keys.push_back(field.key);
    for (const NodeEntry& entry : at.node().entries)
      refuse_unknown_key(at, entry.key, keys);
  }
  at.means(std::move(meaning));
  return true;
}

// A field reader: stores what `Read` makes of the value.
template <auto Member, auto Read>
constexpr auto into = [](const Spot& at, auto& object) {
  auto value = Read(at);
  if (!value) return;
  if constexpr (std::is_same_v<std::remove_cvref_t<decltype(object.*Member)>, decltype(value)>)
    object.*Member = std::move(value);
  else
    object.*Member = std::move(*value);
};

// A whole number between two others, as a reader for `into`.
template <std::uint64_t Least, std::uint64_t Most, class Number = std::uint64_t>
std::optional<Number> count_between(const Spot& at) {
  const auto value = read_count(at, Least, Most);
  return value ? std::optional(static_cast<Number>(*value)) : std::nullopt;
}

// JSON Schemas that many fields share.
inline constexpr std::string_view kTextValue = R"({"type": "string", "minLength": 1})";
inline constexpr std::string_view kNameValue = R"({"$ref": "#/$defs/name"})";
inline constexpr std::string_view kSwitchValue = R"({"type": "boolean"})";
inline constexpr std::string_view kCountValue = R"({"type": "integer", "minimum": 1})";
inline constexpr std::string_view kTextsValue =
    R"({"type": "array", "items": {"type": "string", "minLength": 1}, "uniqueItems": true})";
inline constexpr std::string_view kDurationValue = R"({"$ref": "#/$defs/duration"})";
inline constexpr std::string_view kSizeValue = R"({"$ref": "#/$defs/size"})";
inline constexpr std::string_view kRatesValue = R"({"$ref": "#/$defs/rate"})";
inline constexpr std::string_view kLimitsValue = R"({"$ref": "#/$defs/limits"})";
inline constexpr std::string_view kPermissionsValue =
    R"({"type": "array", "items": {"$ref": "#/$defs/permission"}, "uniqueItems": true})";

}  // namespace sallyport
