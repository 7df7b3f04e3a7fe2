#include "input/schema_compile.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "input/schema_check.h"
#include "input/schema_metaschema.h"
#include "input/schema_resolve.h"
#include "input/schema_uri.h"
#include "input/schema_value.h"

namespace sallyport {
namespace {

using Program = std::shared_ptr<const SchemaProgram>;

constexpr unsigned kMostMetaschemas = 4;  // a metaschema of a metaschema of …
constexpr std::size_t kMostValuesNamed = 12;

constexpr std::pair<std::string_view, TypeSet> kTypes[] = {
    {"null", kNull},     {"boolean", kBoolean}, {"integer", kInteger}, {"number", kNumber},
    {"string", kString}, {"array", kArray},     {"object", kObject}};

std::string_view view(json::string_view text) {
  return {text.data(), text.size()};
}

// A bound of a count: 3 or 3.0; one that is beyond counting is the largest.
std::uint64_t count_of(const json::value& value) {
  if (value.is_int64())
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, value.get_int64()));
  if (value.is_uint64()) return value.get_uint64();
  constexpr double kBeyond = 1e19;
  const double number = value.is_double() ? value.get_double() : 0;
  if (number >= kBeyond) return std::numeric_limits<std::uint64_t>::max();
  return number > 0 ? static_cast<std::uint64_t>(number) : 0;
}

std::string sentence_of(const json::array& values) {
  if (values.empty()) return "has no allowed value";
  std::string sentence = values.size() == 1 ? "must be " : "must be one of ";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) sentence += ", ";
    if (i == kMostValuesNamed) return sentence + "… (" + std::to_string(values.size()) + " in all)";
    const json::string* text = values[i].if_string();
    sentence += quoted(text ? std::string(*text) : canonical_json(values[i]));
  }
  return sentence;
}

class SchemaCompiler {
 public:
  SchemaCompiler(const SchemaOptions& options, SchemaResolver::DialectCheck check, unsigned nesting)
      : resolver_(options, check, nesting) {
    program_->max_depth = options.max_depth;
    program_->max_steps = options.max_steps;
  }

  Result<Program> compile(const json::value& schema) {
    auto root = resolver_.add_main(schema);
    if (!root) return std::unexpected(std::move(root.error()));
    node_of(*root);
    // Building one schema may name others: references are followed from here, not by recursion.
    do {
      while (!waiting_.empty()) {
        const auto [id, spot] = std::move(waiting_.back());
        waiting_.pop_back();
        auto built = build(spot);
        if (!built) return std::unexpected(std::move(built.error()));
        program_->nodes[id] = std::move(*built);
      }
      add_dynamic_anchors();
    } while (!waiting_.empty());
    return std::move(program_);
  }

 private:
  using Check = Result<void>;

  // The node of a schema; it is built later if it is new.
  NodeId node_of(const SchemaSpot& spot) {
    const auto [known, is_new] =
        ids_.emplace(spot.value, static_cast<NodeId>(program_->nodes.size()));
    if (is_new) {
      program_->nodes.emplace_back();
      waiting_.emplace_back(known->second, spot);
    }
    return known->second;
  }

  NodeId node_of(const json::value& value) { return node_of(resolver_.spot(value)); }

  // Where a `$dynamicRef` may end up, in every resource that it could be used from.
  void add_dynamic_anchors() {
    for (ResourceId id = 0; id < resolver_.resources().size(); ++id) {
      const SchemaResource& resource = resolver_.resources()[id];
      auto& anchors = program_->dynamic_anchors;
      if (anchors.size() <= id) anchors.resize(id + 1);
      anchors[id].clear();
      for (const auto& [name, anchor] : anchor_ids_)
        if (const auto found = resource.dynamic_anchors.find(name);
            found != resource.dynamic_anchors.end())
          anchors[id].emplace_back(anchor, node_of(*found->second));
    }
  }

  Result<SchemaNode> build(const SchemaSpot& spot) {
    SchemaNode node;
    node.place = spot.place;
    node.resource = spot.resource;
    if (spot.value->is_bool()) {
      node.kind = spot.value->get_bool() ? SchemaNode::Kind::anything : SchemaNode::Kind::nothing;
      return node;
    }
    const json::object* schema = spot.value->if_object();
    if (!schema)
      return refuse_schema(spot.place, "a schema is an object or a boolean", "write {} or true");
    node.kind = SchemaNode::Kind::rules;

    const SchemaDialect dialect = resolver_.resources()[spot.resource].dialect;
    if (auto done = add_references(node, *schema, spot); !done)
      return std::unexpected(std::move(done.error()));
    if (dialect.applicator)
      if (auto done = add_applicators(node, *schema); !done)
        return std::unexpected(std::move(done.error()));
    if (dialect.unevaluated) {
      node.unevaluated_items = child(*schema, "unevaluatedItems");
      node.unevaluated_properties = child(*schema, "unevaluatedProperties");
    }
    if (dialect.validation)
      if (auto done = add_validation(node, *schema); !done)
        return std::unexpected(std::move(done.error()));
    return node;
  }

  NodeId child(const json::object& schema, std::string_view keyword) {
    const json::value* value = schema.if_contains(keyword);
    return value ? node_of(*value) : kNoNode;
  }

  std::vector<NodeId> children(const json::object& schema, std::string_view keyword) {
    std::vector<NodeId> ids;
    const json::value* value = schema.if_contains(keyword);
    if (value && value->is_array())
      for (const json::value& item : value->get_array())
        ids.push_back(node_of(item));
    return ids;
  }

  template <class Rules>
  static Rules& block(std::unique_ptr<Rules>& rules) {
    if (!rules) rules = std::make_unique<Rules>();
    return *rules;
  }

  static std::unexpected<Error> wrong_value(const SchemaNode& node, std::string_view keyword) {
    return refuse_schema(node.place + "/" + std::string(keyword), "the keyword has a wrong value",
                         "see JSON Schema 2020-12");
  }

  Check add_references(SchemaNode& node, const json::object& schema, const SchemaSpot& spot) {
    if (const json::value* reference = schema.if_contains("$ref")) {
      if (!reference->is_string()) return wrong_value(node, "$ref");
      auto target = follow(spot, "$ref", view(reference->get_string()));
      if (!target) return std::unexpected(std::move(target.error()));
      block(node.in_place).reference = node_of(*target);
    }
    if (const json::value* reference = schema.if_contains("$dynamicRef")) {
      if (!reference->is_string()) return wrong_value(node, "$dynamicRef");
      std::string_view text = view(reference->get_string());
      auto target = follow(spot, "$dynamicRef", text);
      if (!target) return std::unexpected(std::move(target.error()));
      SchemaInPlaceRules& rules = block(node.in_place);
      rules.dynamic_reference = node_of(*target);
      // Dynamic only if it leads to a dynamic anchor by name; else it is an ordinary reference.
      const std::string name = percent_decode(take_fragment(text).value_or("")).value_or("");
      const auto& anchors = resolver_.resources()[target->resource].dynamic_anchors;
      const auto anchor = anchors.find(name);
      if (anchor != anchors.end() && anchor->second == target->value)
        rules.dynamic_anchor =
            anchor_ids_.emplace(name, static_cast<AnchorId>(anchor_ids_.size())).first->second;
    }
    return {};
  }

  Result<SchemaSpot> follow(SchemaSpot from, std::string_view keyword, std::string_view reference) {
    from.place.append("/").append(keyword);
    return resolver_.find(from, reference);
  }

  Check add_applicators(SchemaNode& node, const json::object& schema) {
    SchemaInPlaceRules in_place;
    if (node.in_place) in_place = *node.in_place;
    in_place.all = children(schema, "allOf");
    in_place.any = children(schema, "anyOf");
    in_place.one = children(schema, "oneOf");
    in_place.none = child(schema, "not");
    in_place.condition = child(schema, "if");
    if (in_place.condition != kNoNode) {
      in_place.then = child(schema, "then");
      in_place.otherwise = child(schema, "else");
    }
    if (!in_place.all.empty() || !in_place.any.empty() || !in_place.one.empty() ||
        in_place.none != kNoNode || in_place.condition != kNoNode)
      block(node.in_place) = std::move(in_place);

    for (const std::string_view keyword : {"prefixItems", "items", "contains"}) {
      if (!schema.contains(keyword)) continue;
      block(node.array).prefix = children(schema, "prefixItems");
      block(node.array).items = child(schema, "items");
      block(node.array).contains = child(schema, "contains");
    }
    return add_object_applicators(node, schema);
  }

  Check add_object_applicators(SchemaNode& node, const json::object& schema) {
    for (const json::key_value_pair& member : schema) {
      const std::string_view keyword = view(member.key());
      const json::object* map = member.value().if_object();
      if (keyword == "additionalProperties") {
        block(node.object).additional = node_of(member.value());
      } else if (keyword == "propertyNames") {
        block(node.object).names = node_of(member.value());
      } else if (keyword == "properties") {
        if (!map) return wrong_value(node, keyword);
        for (const json::key_value_pair& property : *map)
          block(node.object).properties[std::string(property.key())].node =
              node_of(property.value());
      } else if (keyword == "patternProperties") {
        if (!map) return wrong_value(node, keyword);
        for (const json::key_value_pair& property : *map) {
          auto pattern = pattern_of(node, "patternProperties", view(property.key()));
          if (!pattern) return std::unexpected(std::move(pattern.error()));
          block(node.object).patterns.emplace_back(std::move(*pattern), node_of(property.value()));
        }
      } else if (keyword == "dependencies") {
        // Of older drafts, and still meant by those who write it: to ignore it would accept more.
        if (auto done = add_dependencies(node, member.value()); !done) return done;
      } else if (keyword == "dependentSchemas") {
        if (!map) return wrong_value(node, keyword);
        for (const json::key_value_pair& property : *map)
          block(node.object)
              .dependent_schemas.emplace_back(std::string(property.key()),
                                              node_of(property.value()));
      }
    }
    return {};
  }

  Check add_dependencies(SchemaNode& node, const json::value& value) {
    if (!value.is_object()) return wrong_value(node, "dependencies");
    for (const json::key_value_pair& member : value.get_object()) {
      std::string name(member.key());
      if (auto names = names_of(member.value()))
        block(node.object).dependent_required.emplace_back(std::move(name), std::move(*names));
      else
        block(node.object).dependent_schemas.emplace_back(std::move(name), node_of(member.value()));
    }
    return {};
  }

  Check add_validation(SchemaNode& node, const json::object& schema) {
    for (const json::key_value_pair& member : schema) {
      const std::string_view keyword = view(member.key());
      const json::value& value = member.value();
      Check done;
      if (keyword == "type")
        done = add_types(node, value);
      else if (keyword == "const")
        done = add_allowed(node, "const", json::array{value});
      else if (keyword == "enum")
        done = value.is_array() ? add_allowed(node, "enum", value.get_array())
                                : wrong_value(node, keyword);
      else if (keyword == "pattern")
        done = add_pattern(node, value);
      else if (keyword == "required")
        done = add_required(node, value);
      else if (keyword == "dependentRequired")
        done = add_dependent_required(node, value);
      else if (keyword == "uniqueItems")
        done = add_unique(node, value);
      else if (value.is_number())
        add_bound(node, keyword, value);
      else if (is_bound(keyword))
        done = wrong_value(node, keyword);
      if (!done) return done;
    }
    return {};
  }

  static Check add_types(SchemaNode& node, const json::value& value) {
    const auto add = [&node](const json::value& name) {
      const json::string* text = name.if_string();
      const auto* row = std::ranges::find_if(
          kTypes, [text](const auto& type) { return text && *text == type.first; });
      if (row == std::end(kTypes)) return false;
      node.types |= row->second;
      return true;
    };
    const json::array* list = value.if_array();
    if (list ? !list->empty() && std::ranges::all_of(*list, add) : add(value)) return {};
    return wrong_value(node, "type");
  }

  static Check add_allowed(SchemaNode& node, std::string_view keyword, const json::array& values) {
    AllowedValues allowed{.keyword = keyword, .sentence = sentence_of(values)};
    for (const json::value& value : values) {
      if (const json::string* text = value.if_string())
        allowed.strings.emplace(*text);
      else
        allowed.others.emplace_back(value, weight_of(value));
    }
    node.allowed.push_back(std::move(allowed));
    return {};
  }

  Result<EcmaPattern> pattern_of(const SchemaNode& node, std::string_view keyword,
                                 std::string_view text) {
    if (const auto known = patterns_.find(text); known != patterns_.end()) return known->second;
    auto pattern = EcmaPattern::compile(text);
    if (!pattern) {
      std::string place = node.place + "/" + std::string(keyword);
      if (keyword == "patternProperties") place += "/" + pointer_token(text);
      return refuse_schema(place, pattern.error().message, pattern.error().hint);
    }
    patterns_.emplace(std::string(text), *pattern);
    return pattern;
  }

  Check add_pattern(SchemaNode& node, const json::value& value) {
    if (!value.is_string()) return wrong_value(node, "pattern");
    auto pattern = pattern_of(node, "pattern", view(value.get_string()));
    if (!pattern) return std::unexpected(std::move(pattern.error()));
    block(node.string).pattern = std::move(*pattern);
    node.string->pattern_text = view(value.get_string());
    return {};
  }

  static std::optional<std::vector<std::string>> names_of(const json::value& value) {
    std::vector<std::string> names;
    if (!value.is_array()) return std::nullopt;
    for (const json::value& name : value.get_array()) {
      if (!name.is_string()) return std::nullopt;
      names.emplace_back(name.get_string());
    }
    return names;
  }

  static Check add_required(SchemaNode& node, const json::value& value) {
    auto names = names_of(value);
    if (!names) return wrong_value(node, "required");
    for (const std::string& name : *names)
      block(node.object).properties[name].required = true;
    // A name may be there twice where nothing has checked the schema.
    std::ranges::sort(*names);
    names->erase(std::ranges::unique(*names).begin(), names->end());
    if (!names->empty()) block(node.object).required = std::move(*names);
    return {};
  }

  static Check add_dependent_required(SchemaNode& node, const json::value& value) {
    if (!value.is_object()) return wrong_value(node, "dependentRequired");
    for (const json::key_value_pair& member : value.get_object()) {
      auto names = names_of(member.value());
      if (!names) return wrong_value(node, "dependentRequired");
      block(node.object)
          .dependent_required.emplace_back(std::string(member.key()), std::move(*names));
    }
    return {};
  }

  static Check add_unique(SchemaNode& node, const json::value& value) {
    if (!value.is_bool()) return wrong_value(node, "uniqueItems");
    if (value.get_bool()) block(node.array).unique = true;
    return {};
  }

  static bool is_bound(std::string_view keyword) {
    SchemaNode unused;
    return add_bound(unused, keyword, json::value(1));
  }

  // Whether the keyword is one that takes a number.
  static bool add_bound(SchemaNode& node, std::string_view keyword, const json::value& value) {
    if (keyword == "minimum") return keep(block(node.number).minimum, value);
    if (keyword == "maximum") return keep(block(node.number).maximum, value);
    if (keyword == "exclusiveMinimum") return keep(block(node.number).exclusive_minimum, value);
    if (keyword == "exclusiveMaximum") return keep(block(node.number).exclusive_maximum, value);
    if (keyword == "multipleOf") return keep(block(node.number).multiple_of, value);
    if (keyword == "minLength") return keep(block(node.string).length.least, value);
    if (keyword == "maxLength") return keep(block(node.string).length.most, value);
    if (keyword == "minItems") return keep(block(node.array).count.least, value);
    if (keyword == "maxItems") return keep(block(node.array).count.most, value);
    if (keyword == "minContains") return keep(block(node.array).contained.least, value);
    if (keyword == "maxContains") return keep(block(node.array).contained.most, value);
    if (keyword == "minProperties") return keep(block(node.object).count.least, value);
    if (keyword == "maxProperties") return keep(block(node.object).count.most, value);
    return false;
  }

  static bool keep(std::optional<json::value>& bound, const json::value& value) {
    bound = value;
    return true;
  }

  static bool keep(std::uint64_t& bound, const json::value& value) {
    bound = count_of(value);
    return true;
  }

  SchemaResolver resolver_;
  std::shared_ptr<SchemaProgram> program_ = std::make_shared<SchemaProgram>();
  std::unordered_map<const json::value*, NodeId> ids_;
  std::vector<std::pair<NodeId, SchemaSpot>> waiting_;
  std::map<std::string, AnchorId, std::less<>> anchor_ids_;
  std::map<std::string, EcmaPattern, std::less<>> patterns_;
};

Result<Program> compile_nested(const json::value& schema, const SchemaOptions& options,
                               unsigned nesting);

// The metaschema of 2020-12, compiled once.
const Result<Program>& standard_metaschema() {
  static const Result<Program> program = [] {
    const json::value* schema = find_metaschema(kDraft202012);
    return schema ? SchemaCompiler({}, nullptr, 0).compile(*schema)
                  : Result<Program>(fail(Reason::internal, "there is no metaschema"));
  }();
  return program;
}

// A `type` that there is not: "matches none of the 2 alternatives" helps nobody.
std::optional<Error> find_wrong_type(const json::value& schema, const Violation& violation) {
  if (!violation.instance_place.ends_with("/type") ||
      !violation.schema_place.contains("/properties/type"))
    return std::nullopt;
  boost::system::error_code error;
  const json::value* const value = schema.find_pointer(violation.instance_place, error);
  if (value == nullptr) return std::nullopt;
  std::vector<std::string_view> names;
  std::string list;
  for (const auto& [name, types] : kTypes) {
    names.push_back(name);
    list.append(list.empty() ? "" : ", ").append(name);
  }
  const json::array* const several = value->if_array();
  for (const json::value& item : several ? *several : json::array{*value}) {
    const json::string* const text = item.if_string();
    if (text && std::ranges::find(names, std::string_view(*text)) != names.end()) continue;
    const auto meant = text ? nearest(*text, names) : std::nullopt;
    return Error{
        Reason::argument, "there is no type " + (text ? quoted(*text) : json::serialize(item)),
        (meant ? "did you mean '" + std::string(*meant) + "'? " : "") + "the types are " + list};
  }
  return std::nullopt;
}

Result<void> check_dialect(const json::value& schema, const std::string& place,
                           const SchemaDialect& dialect, const SchemaOptions& options,
                           unsigned nesting) {
  Result<Program> metaschema = standard_metaschema();
  if (dialect.uri != kDraft202012) {
    if (nesting >= kMostMetaschemas)
      return refuse_schema(place, "its metaschema has too many metaschemas above it",
                           "write the metaschema for 2020-12");
    // A schema that does nothing but refer: the resolver finds and reads the metaschema itself.
    metaschema = compile_nested(json::object{{"$ref", dialect.uri}}, options, nesting + 1);
  }
  if (!metaschema) return std::unexpected(std::move(metaschema.error()));
  const std::vector<Violation> violations = find_violations(**metaschema, schema);
  if (violations.empty()) return {};
  if (auto wrong = find_wrong_type(schema, violations.front()))
    return refuse_schema(place + violations.front().instance_place, wrong->message, wrong->hint);
  return refuse_schema(place + violations.front().instance_place,
                       "it " + violations.front().message, "see JSON Schema 2020-12");
}

Result<Program> compile_nested(const json::value& schema, const SchemaOptions& options,
                               unsigned nesting) {
  return SchemaCompiler(options, check_dialect, nesting).compile(schema);
}

}  // namespace

Result<Program> compile_schema(const json::value& schema, const SchemaOptions& options) {
  return compile_nested(schema, options, 0);
}

}  // namespace sallyport
