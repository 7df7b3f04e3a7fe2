// A compiled schema: what schema_compile.cpp writes and schema_check.cpp reads. Immutable once
// built.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/json.h"
#include "input/schema_pattern.h"

namespace sallyport {

using NodeId = std::uint32_t;  // an index into SchemaProgram::nodes
inline constexpr NodeId kNoNode = std::numeric_limits<NodeId>::max();

using ResourceId = std::uint32_t;  // a schema with an `$id`, or a whole document
using AnchorId = std::uint32_t;    // a name of `$dynamicAnchor`
inline constexpr AnchorId kNoAnchor = std::numeric_limits<AnchorId>::max();

using TypeSet = std::uint8_t;
enum TypeBit : TypeSet {
  kNull = 1,
  kBoolean = 2,
  kInteger = 4,
  kNumber = 8,
  kString = 16,
  kArray = 32,
  kObject = 64,
};

// Looks up by string_view, so that checking does not copy keys.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;
using TextSet = std::unordered_set<std::string, TextHash, std::equal_to<>>;

// How many there may be, of characters, items or properties.
struct CountRange {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

// `const` and `enum`
struct AllowedValues {
  std::string_view keyword;
  TextSet strings;
  std::vector<std::pair<json::value, std::uint64_t>> others;  // with the steps a comparison counts
  std::string sentence;                                       // "must be 1 or 'a'"
};

struct SchemaNumberRules {
  std::optional<json::value> minimum, exclusive_minimum, maximum, exclusive_maximum, multiple_of;
};

struct SchemaStringRules {
  CountRange length;  // in characters
  std::optional<EcmaPattern> pattern;
  std::string pattern_text;  // as the schema has it
};

struct SchemaArrayRules {
  CountRange count;
  CountRange contained{.least = 1};
  bool unique = false;
  std::vector<NodeId> prefix;
  NodeId items = kNoNode, contains = kNoNode;
};

struct SchemaPropertyRule {
  NodeId node = kNoNode;  // kNoNode: it is only required
  bool required = false;
};

struct SchemaObjectRules {
  CountRange count;
  TextMap<SchemaPropertyRule> properties;
  std::vector<std::string> required;  // in the order of the schema, each also in `properties`
  std::vector<std::pair<EcmaPattern, NodeId>> patterns;
  NodeId additional = kNoNode, names = kNoNode;
  std::vector<std::pair<std::string, std::vector<std::string>>> dependent_required;
  std::vector<std::pair<std::string, NodeId>> dependent_schemas;
};

// What applies other schemas to the same value.
struct SchemaInPlaceRules {
  NodeId reference = kNoNode;
  NodeId dynamic_reference = kNoNode;   // where it leads when nothing in scope redefines the anchor
  AnchorId dynamic_anchor = kNoAnchor;  // kNoAnchor: it is an ordinary reference
  std::vector<NodeId> all, any, one;
  NodeId none = kNoNode, condition = kNoNode, then = kNoNode, otherwise = kNoNode;
};

// One schema. Blocks that it does not need are null, so that checking skips them.
struct SchemaNode {
  enum class Kind : std::uint8_t { anything, nothing, rules };
  Kind kind = Kind::anything;
  TypeSet types = 0;  // 0: any
  ResourceId resource = 0;
  NodeId unevaluated_items = kNoNode, unevaluated_properties = kNoNode;
  std::vector<AllowedValues> allowed;
  std::unique_ptr<SchemaNumberRules> number;
  std::unique_ptr<SchemaStringRules> string;
  std::unique_ptr<SchemaArrayRules> array;
  std::unique_ptr<SchemaObjectRules> object;
  std::unique_ptr<SchemaInPlaceRules> in_place;
  std::string place;  // "#/properties/a"
};

struct SchemaProgram {
  std::vector<SchemaNode> nodes;  // the first is the schema itself
  // By resource: where its dynamic anchors are.
  std::vector<std::vector<std::pair<AnchorId, NodeId>>> dynamic_anchors;
  unsigned max_depth = 0;
  std::uint64_t max_steps = 0;
};

}  // namespace sallyport
