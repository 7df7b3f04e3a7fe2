#include "input/schema_resolve.h"

#include <algorithm>
#include <span>

#include "base/parse.h"
#include "base/text.h"
#include "input/schema_metaschema.h"
#include "input/schema_uri.h"

namespace sallyport {
namespace {

// Keywords whose value is a schema, an array of them, or an object of them. Only there is an `$id`
// one: within `const` or an unknown keyword it is data.
constexpr std::string_view kSchemaKeywords[] = {"additionalProperties",
                                                "contains",
                                                "contentSchema",
                                                "else",
                                                "if",
                                                "items",
                                                "not",
                                                "propertyNames",
                                                "then",
                                                "unevaluatedItems",
                                                "unevaluatedProperties"};
constexpr std::string_view kSchemaArrayKeywords[] = {"allOf", "anyOf", "oneOf", "prefixItems"};
constexpr std::string_view kSchemaMapKeywords[] = {
    "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"};

constexpr std::string_view kVocabularies = "https://json-schema.org/draft/2020-12/vocab/";

bool contains(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::string_view view(json::string_view text) {
  return {text.data(), text.size()};
}

const json::string* string_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value ? value->if_string() : nullptr;
}

// The dialect that a metaschema's `$vocabulary` describes.
Result<SchemaDialect> read_vocabularies(std::string_view uri, const json::value& metaschema,
                                        const std::string& place) {
  SchemaDialect dialect{.uri = std::string(uri)};
  const json::object* schema = metaschema.if_object();
  const json::value* listed = schema ? schema->if_contains("$vocabulary") : nullptr;
  if (!listed) return dialect;
  if (!listed->is_object())
    return refuse_schema(place, "the $vocabulary of " + quoted(uri) + " is not an object", {});
  const json::object& vocabularies = listed->get_object();
  const auto has = [&](std::string_view name) {
    return vocabularies.contains(std::string(kVocabularies).append(name));
  };
  dialect.applicator = has("applicator");
  dialect.unevaluated = has("unevaluated");
  dialect.validation = has("validation");

  constexpr std::string_view kKnown[] = {"core",       "applicator", "unevaluated",
                                         "validation", "meta-data",  "format-annotation",
                                         "content"};
  for (const json::key_value_pair& member : vocabularies) {
    std::string_view name = view(member.key());
    const bool known =
        name.starts_with(kVocabularies) && contains(kKnown, name.substr(kVocabularies.size()));
    const bool required = !member.value().is_bool() || member.value().get_bool();
    if (!known && required)
      return refuse_schema(place,
                           "the dialect " + quoted(uri) + " requires the vocabulary " +
                               quoted(name) + ", which is not known",
                           "use the vocabularies of 2020-12; format is an annotation only");
  }
  return dialect;
}

}  // namespace

std::unexpected<Error> refuse_schema(std::string_view place, std::string_view what,
                                     std::string hint) {
  return fail(
      Reason::argument,
      std::string("the schema is refused at ").append(quoted(place)) + ": " + std::string(what),
      std::move(hint));
}

Result<SchemaSpot> SchemaResolver::add_main(const json::value& schema) {
  return add_document(schema, "");
}

Result<SchemaSpot> SchemaResolver::add_document(const json::value& document, std::string_view uri) {
  const std::string place = std::string(uri) + "#";
  if (!is_plain_json(document, options_.max_depth))
    return refuse_schema(place,
                         "it is nested deeper than " + std::to_string(options_.max_depth) +
                             ", or has a number that is not finite",
                         "move parts of it to $defs");
  const auto resource = static_cast<ResourceId>(resources_.size());
  resources_.push_back({.uri = std::string(uri), .dialect = {.uri = std::string(kDraft202012)}});
  roots_.emplace(std::string(uri), &document);
  if (auto added = add_schema(document, resource, place, true); !added)
    return std::unexpected(std::move(added.error()));
  return spots_.at(&document);
}

Result<void> SchemaResolver::add_schema(const json::value& value, ResourceId around,
                                        const std::string& place, bool is_root) {
  auto resource = enter_resource(value, around, place, is_root);
  if (!resource) return std::unexpected(std::move(resource.error()));
  const SchemaSpot spot{.value = &value, .resource = *resource, .place = place};
  if (!spots_.emplace(&value, spot).second) return {};
  const json::object* schema = value.if_object();
  if (!schema) return {};
  if (auto added = add_anchors(value, spot); !added) return added;

  for (const json::key_value_pair& member : *schema) {
    const std::string_view keyword = view(member.key());
    const std::string there = place + "/" + pointer_token(keyword);
    if (contains(kSchemaKeywords, keyword)) {
      if (auto added = add_schema(member.value(), *resource, there, false); !added) return added;
    } else if (const json::array* array = member.value().if_array();
               array && contains(kSchemaArrayKeywords, keyword)) {
      for (std::size_t i = 0; i < array->size(); ++i)
        if (auto added = add_schema((*array)[i], *resource, there + "/" + std::to_string(i), false);
            !added)
          return added;
    } else if (const json::object* map = member.value().if_object();
               map && contains(kSchemaMapKeywords, keyword)) {
      for (const json::key_value_pair& entry : *map)
        if (auto added = add_schema(entry.value(), *resource,
                                    there + "/" + pointer_token(view(entry.key())), false);
            !added)
          return added;
    }
  }
  return {};
}

// `$id` begins a resource, and `$schema` says at its root how to read it.
Result<ResourceId> SchemaResolver::enter_resource(const json::value& value, ResourceId around,
                                                  const std::string& place, bool is_root) {
  const json::object* schema = value.if_object();
  const json::string* id = schema ? string_at(*schema, "$id") : nullptr;
  const json::string* dialect_uri = schema ? string_at(*schema, "$schema") : nullptr;

  ResourceId resource = around;
  if (id) {
    const std::string resolved = resolve_uri(resources_[around].uri, view(*id));
    std::string_view uri = resolved;
    if (!take_fragment(uri).value_or("").empty())
      return refuse_schema(place + "/$id", "an $id has no fragment", "use $anchor");
    const auto [twin, is_new] = roots_.emplace(std::string(uri), &value);
    if (!is_new && twin->second != &value)
      return refuse_schema(place + "/$id", "the $id " + quoted(uri) + " is given twice",
                           "give each $id once");
    if (is_root) {
      resources_[resource].uri = uri;
    } else {
      resource = static_cast<ResourceId>(resources_.size());
      resources_.push_back({.uri = std::string(uri), .dialect = resources_[around].dialect});
    }
  }

  bool is_other = is_root;
  if (dialect_uri) {
    auto dialect = find_dialect(view(*dialect_uri), place + "/$schema");
    if (!dialect) return std::unexpected(std::move(dialect.error()));
    is_other = is_other || dialect->uri != resources_[resource].dialect.uri;
    if (is_other && !is_root && !id)
      return refuse_schema(place + "/$schema", "the dialect changes within a schema",
                           "write $schema only beside $id or at the root");
    resources_[resource].dialect = std::move(*dialect);
  }
  const SchemaResource& entered = resources_[resource];
  // A metaschema may be written in the dialect that it defines; and ours are as they are.
  if (is_other && check_ && entered.dialect.uri != entered.uri && !find_metaschema(entered.uri))
    if (auto checked = check_(value, place, entered.dialect, options_, nesting_); !checked)
      return std::unexpected(std::move(checked.error()));
  return resource;
}

Result<void> SchemaResolver::add_anchors(const json::value& value, const SchemaSpot& spot) {
  SchemaResource& owner = resources_[spot.resource];
  for (const std::string_view keyword : {"$anchor", "$dynamicAnchor"}) {
    const json::string* name = string_at(value.get_object(), keyword);
    if (!name) continue;
    const auto [twin, is_new] = owner.anchors.emplace(std::string(*name), &value);
    if (!is_new && twin->second != &value)
      return refuse_schema(spot.place + "/" + std::string(keyword),
                           "the anchor " + quoted(view(*name)) + " is given twice",
                           "name each anchor once");
    if (keyword == "$dynamicAnchor") owner.dynamic_anchors.emplace(std::string(*name), &value);
  }
  return {};
}

const json::value* SchemaResolver::given_document(std::string_view uri) const {
  for (const SchemaDocument& document : options_.documents) {
    std::string_view given = document.uri;
    (void)take_fragment(given);
    if (given == uri) return &document.value;
  }
  for (const SchemaDocument& document : options_.documents) {
    const json::object* schema = document.value.if_object();
    const json::string* id = schema ? string_at(*schema, "$id") : nullptr;
    if (id && resolve_uri(document.uri, view(*id)) == uri) return &document.value;
  }
  return nullptr;
}

Result<SchemaDialect> SchemaResolver::find_dialect(std::string_view uri,
                                                   const std::string& place) const {
  if (uri.ends_with('#')) uri.remove_suffix(1);
  if (uri == kDraft202012) return SchemaDialect{.uri = std::string(uri)};
  const json::value* metaschema = given_document(uri);
  if (!metaschema)
    return refuse_schema(place, "the dialect " + quoted(uri) + " is not known",
                         "write the schema for " + std::string(kDraft202012));
  return read_vocabularies(uri, *metaschema, place);
}

Result<SchemaSpot> SchemaResolver::find_document(const SchemaSpot& from, std::string_view uri) {
  if (const auto known = roots_.find(uri); known != roots_.end())
    if (const auto spot = spots_.find(known->second); spot != spots_.end()) return spot->second;
  const json::value* document = given_document(uri);
  if (!document) document = find_metaschema(uri);
  if (!document)
    return refuse_schema(
        from.place,
        "the reference leads to " + quoted(uri) + ", which is not among the documents given",
        "nothing is fetched: give the document along with the schema");
  return add_document(*document, uri);
}

Result<SchemaSpot> SchemaResolver::follow_pointer(const SchemaSpot& from, const SchemaSpot& root,
                                                  std::string_view pointer) {
  const auto nowhere = [&](std::string_view why) {
    return refuse_schema(from.place,
                         "the reference " + quoted(pointer) + " leads nowhere: " + std::string(why),
                         "name a place within the schema, as #/$defs/name");
  };
  const auto tokens = pointer_tokens(pointer);
  if (!tokens) return nowhere("it is not a JSON pointer");
  SchemaSpot at = root;  // the value we are at, with the resource that is around it
  for (const std::string& token : *tokens) {
    const json::value* next = nullptr;
    if (const json::object* object = at.value->if_object()) {
      next = object->if_contains(token);
    } else if (const json::array* array = at.value->if_array()) {
      const auto index = whole_number<std::size_t>(token);
      if (index && std::to_string(*index) == token && *index < array->size())
        next = &(*array)[*index];
    }
    if (!next) return nowhere("there is no " + quoted(token));
    at.value = next;
    at.place += "/" + pointer_token(token);
    if (const auto known = spots_.find(next); known != spots_.end()) at = known->second;
  }
  if (spots_.contains(at.value)) return at;

  // Not a place where a schema is expected, so that nobody has looked at it yet.
  if (check_)
    if (auto checked =
            check_(*at.value, at.place, resources_[at.resource].dialect, options_, nesting_);
        !checked)
      return std::unexpected(std::move(checked.error()));
  if (auto added = add_schema(*at.value, at.resource, at.place, false); !added)
    return std::unexpected(std::move(added.error()));
  return spots_.at(at.value);
}

Result<SchemaSpot> SchemaResolver::find(const SchemaSpot& from, std::string_view reference) {
  const std::string resolved = resolve_uri(resources_[from.resource].uri, reference);
  std::string_view uri = resolved;
  const std::string_view encoded = take_fragment(uri).value_or("");
  const auto fragment = percent_decode(encoded);
  if (!fragment)
    return refuse_schema(from.place, "the reference " + quoted(reference) + " is not a URI",
                         "write % as %25");
  auto root = find_document(from, uri);
  if (!root || fragment->empty()) return root;
  if (fragment->starts_with('/')) return follow_pointer(from, *root, *fragment);
  const auto& anchors = resources_[root->resource].anchors;
  const auto found = anchors.find(*fragment);
  if (found == anchors.end())
    return refuse_schema(from.place,
                         "the reference " + quoted(reference) +
                             " leads nowhere: there is no anchor " + quoted(*fragment),
                         "name it with $anchor");
  return spots_.at(found->second);
}

}  // namespace sallyport
