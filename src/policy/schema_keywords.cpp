#include "policy/schema_keywords.h"

#include <algorithm>

#include "base/text.h"

namespace sallyport {
namespace {

using Holds = SchemaKeyword::Holds;

constexpr SchemaKeyword kKeywords[] = {
    {"type", Holds::value, "A type of JSON, or a list of them."},
    {"enum", Holds::value, "The values that it may have."},
    {"const", Holds::value, "The one value that it may have."},
    {"minimum", Holds::value, "The least number."},
    {"maximum", Holds::value, "The greatest number."},
    {"exclusiveMinimum", Holds::value, "The number that it must exceed."},
    {"exclusiveMaximum", Holds::value, "The number that it must stay below."},
    {"multipleOf", Holds::value, "What it must be a multiple of."},
    {"minLength", Holds::value, "The least number of characters."},
    {"maxLength", Holds::value, "The greatest number of characters; 1000 for a string."},
    {"pattern", Holds::value,
     "A regular expression (RE2) that must match; write ^ and $ for the whole text."},
    {"items", Holds::schema, "What each item of an array is."},
    {"prefixItems", Holds::schemas, "What the first items of an array are, in order."},
    {"contains", Holds::schema, "What at least one item of an array is."},
    {"minContains", Holds::value, "How many items at least are what `contains` says."},
    {"maxContains", Holds::value, "How many items at most are what `contains` says."},
    {"minItems", Holds::value, "The least number of items."},
    {"maxItems", Holds::value, "The greatest number of items."},
    {"uniqueItems", Holds::value, "No two items are equal."},
    {"unevaluatedItems", Holds::schema, "What items are that no other keyword looked at."},
    {"properties", Holds::named_schemas, "What the members of an object are."},
    {"patternProperties", Holds::named_schemas, "What members are whose names match."},
    {"additionalProperties", Holds::schema, "What all other members are; false for none."},
    {"propertyNames", Holds::schema, "What the names of members are."},
    {"required", Holds::value, "The members that must be there."},
    {"minProperties", Holds::value, "The least number of members."},
    {"maxProperties", Holds::value, "The greatest number of members."},
    {"dependentRequired", Holds::value, "Members that must be there if another one is."},
    {"dependentSchemas", Holds::named_schemas, "What it must be if a member is there."},
    {"unevaluatedProperties", Holds::schema, "What members are that no other keyword looked at."},
    {"allOf", Holds::schemas, "Schemas that must all accept it."},
    {"anyOf", Holds::schemas, "Schemas of which one must accept it."},
    {"oneOf", Holds::schemas, "Schemas of which exactly one must accept it."},
    {"not", Holds::schema, "A schema that must refuse it."},
    {"if", Holds::schema, "If this accepts it, `then` must, and else `else`."},
    {"then", Holds::schema, "What must accept it if `if` does."},
    {"else", Holds::schema, "What must accept it if `if` does not."},
    {"title", Holds::value, "A name, for models and people."},
    {"description", Holds::value, "What it is, for models and people."},
    {"examples", Holds::value, "Values that it may have, for models and people."},
    {"deprecated", Holds::value, "It should not be used any more."},
    {"default", Holds::value, "What to assume; within a schema a comment only."},
    {"$ref", Holds::value, "Another schema of the same argument."},
    {"$defs", Holds::named_schemas, "Schemas for `$ref`."},
    {"$anchor", Holds::value, "A name for `$ref`."},
    {"$comment", Holds::value, "A comment."},
    {"$schema", Holds::value, "The dialect: 2020-12."},
    {"$id", Holds::value, "The address of the schema."},
};

}  // namespace

std::span<const SchemaKeyword> schema_keywords() {
  return kKeywords;
}

void check_schema_entry(const Spot& at, const Node& key, const Spot& value) {
  if (key.text == "format")
    return at.refuse_key(key.text, key.place,
                         "`format` is a comment in JSON Schema 2020-12 and would check nothing",
                         "use a pattern, or for an argument type: url or type: host");
  const auto keyword =
      std::ranges::find(kKeywords, std::string_view(key.text), &SchemaKeyword::name);
  if (keyword == std::end(kKeywords)) {
    static const std::vector<std::string_view> names = [] {
      std::vector<std::string_view> list;
      for (const SchemaKeyword& row : kKeywords)
        list.push_back(row.name);
      for (const std::string_view own :
           {"optional", "dash", "multiline", "below", "exists", "schemes", "hosts"})
        list.push_back(own);
      return list;
    }();
    const auto meant = nearest(key.text, names);
    return at.refuse_key(key.text, key.place,
                         "there is no keyword " + quoted(key.text) + " in JSON Schema",
                         meant ? "did you mean '" + std::string(*meant) + "'?"
                               : "docs/policy-reference.md lists the keywords");
  }
  json::value ignored;
  switch (keyword->holds) {
    case Holds::value:
      return;
    case Holds::schema:
      return check_schema(value);
    case Holds::schemas:
      if (is_list(value))
        for (std::size_t i = 0; i < value.node().items.size(); ++i)
          check_schema(Spot(value, value.node().items[i], i, &ignored));
      return;
    case Holds::named_schemas:
      if (is_map(value))
        for (const NodeEntry& entry : value.node().entries)
          check_schema(Spot(value, entry, &ignored));
      return;
  }
}

void check_schema(const Spot& at) {
  const Node& node = at.node();
  const bool truth = node.kind == Node::Kind::scalar && !node.quoted &&
                     (node.text == "true" || node.text == "false");
  if (truth || !is_map(at)) return;
  json::value ignored;
  for (const NodeEntry& entry : node.entries)
    check_schema_entry(at, entry.key, Spot(at, entry, &ignored));
}

}  // namespace sallyport
