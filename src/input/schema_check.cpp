#include "input/schema_check.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "input/schema_evaluated.h"
#include "input/schema_number.h"
#include "input/schema_value.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostViolations = 64;
// Schemas within each other that look at the same value. Only one that refers to itself goes on.
constexpr unsigned kMostInPlace = 256;
// All schemas within each other: bounds the stack.
constexpr unsigned kMostNested = 1024;

std::string_view view(json::string_view text) {
  return {text.data(), text.size()};
}

// The resources that evaluation has gone through, the innermost first.
struct Scope {
  const Scope* around = nullptr;
  ResourceId resource = 0;
};

// Where evaluation is.
struct Position {
  const ValuePlace* place = nullptr;
  const Scope* scope = nullptr;
  unsigned in_place = 0;  // schemas within each other at this value
  unsigned nested = 0;    // schemas within each other in all
};

class Evaluation {
 public:
  // Collects into `found`, or, when it is null, ends with the first violation.
  Evaluation(const SchemaProgram& program, std::vector<Violation>* found)
      : program_(program), steps_(program.max_steps), found_(found) {}

  bool run(const json::value& instance) {
    const ValuePlace root;
    if (!is_plain_json(instance, program_.max_depth))
      return stop("is nested deeper than is allowed, or has a number that is not finite");
    const bool accepted = evaluate(0, instance, {.place = &root}, nullptr);
    return accepted && !stopped_;
  }

  // Why evaluation ended early; null if it did not.
  [[nodiscard]] const char* stopped() const { return stopped_; }

 private:
  // Counts steps. Once they are spent, everything is refused, whatever `not` and `anyOf` make of
  // it.
  bool spend(std::uint64_t steps) {
    if (steps > steps_) return stop("takes more steps to check than are allowed");
    steps_ -= steps;
    return !stopped_;
  }

  bool stop(const char* why) {
    if (!stopped_) stopped_ = why;
    return false;
  }

  // Notes a violation; the message is built only if someone wants it.
  template <class Message>
  bool refuse(const SchemaNode& node, std::string_view keyword, const ValuePlace& place,
              const Message& message) {
    if (found_ && found_->size() < kMostViolations)
      found_->push_back(
          {.instance_place = pointer_of(place),
           .schema_place = node.place + (keyword.empty() ? "" : "/") + std::string(keyword),
           .message = message()});
    return false;
  }

  // After a violation: whether to look for more.
  [[nodiscard]] bool goes_on() const {
    return found_ && !stopped_ && found_->size() < kMostViolations;
  }

  // Evaluates without noting violations.
  bool try_silently(NodeId id, const json::value& instance, const Position& at,
                    EvaluatedSet* evaluated) {
    std::vector<Violation>* const kept = std::exchange(found_, nullptr);
    const bool accepted = evaluate(id, instance, at, evaluated);
    found_ = kept;
    return accepted;
  }

  bool evaluate(NodeId id, const json::value& instance, Position at, EvaluatedSet* evaluated) {
    const SchemaNode& node = program_.nodes[id];
    if (!spend(1)) return false;
    if (node.kind == SchemaNode::Kind::anything) return true;
    if (node.kind == SchemaNode::Kind::nothing)
      return refuse(node, "", *at.place, [] { return std::string("is not allowed here"); });
    if (++at.in_place > kMostInPlace || ++at.nested > kMostNested)
      return stop("refers to itself without an end");

    const Scope scope{.around = at.scope, .resource = node.resource};
    if (!at.scope || at.scope->resource != node.resource) at.scope = &scope;

    const bool keeps_own = (node.unevaluated_items != kNoNode && instance.is_array()) ||
                           (node.unevaluated_properties != kNoNode && instance.is_object());
    if (!keeps_own) return evaluate_rules(node, instance, at, evaluated);
    return evaluate_with_unevaluated(node, instance, at, evaluated);
  }

  // What the schema and those in place within it have evaluated, and then what is left.
  bool evaluate_with_unevaluated(const SchemaNode& node, const json::value& instance,
                                 const Position& at, EvaluatedSet* evaluated) {
    EvaluatedSet own(elements_of(instance));
    if (!spend(own.cost())) return false;
    bool good = evaluate_rules(node, instance, at, &own);
    if (!good && !goes_on()) return false;
    if (instance.is_object())
      good = evaluate_unevaluated_properties(node, instance.get_object(), at, own) && good;
    else
      good = evaluate_unevaluated_items(node, instance.get_array(), at, own) && good;
    if (good && evaluated) evaluated->add_all();  // all of it has been looked at now
    return good;
  }

  static std::size_t elements_of(const json::value& value) {
    if (const json::array* array = value.if_array()) return array->size();
    const json::object* object = value.if_object();
    return object ? object->size() : 0;
  }

  bool evaluate_rules(const SchemaNode& node, const json::value& instance, const Position& at,
                      EvaluatedSet* evaluated) {
    bool good = true;
    if (node.types != 0 && (node.types & types_of(instance)) == 0) {
      good = refuse(node, "type", *at.place, [&] {
        return "must be " + names_of(node.types) + ", and is " + name_of(instance);
      });
      if (!goes_on()) return false;
    }
    for (const AllowedValues& allowed : node.allowed)
      if (!is_allowed(allowed, instance)) {
        good = refuse(node, allowed.keyword, *at.place, [&] { return allowed.sentence; });
        if (!goes_on()) return false;
      }
    if (node.in_place && !evaluate_in_place(node, instance, at, evaluated)) {
      good = false;
      if (!goes_on()) return false;
    }
    if (node.string && instance.is_string())
      return check_string(node, view(instance.get_string()), at) && good;
    if (node.number && instance.is_number()) return check_number(node, instance, at) && good;
    if (node.object && instance.is_object())
      return check_object(node, instance, at, evaluated) && good;
    if (node.array && instance.is_array())
      return check_array(node, instance.get_array(), at, evaluated) && good;
    return good;
  }

  bool is_allowed(const AllowedValues& allowed, const json::value& instance) {
    if (const json::string* text = instance.if_string())
      return spend(1 + text->size() / 64) && allowed.strings.contains(view(*text));
    return std::ranges::any_of(allowed.others, [&](const auto& other) {
      return spend(other.second) && json_equal(other.first, instance);
    });
  }

  bool check_string(const SchemaNode& node, std::string_view text, const Position& at) {
    const SchemaStringRules& rules = *node.string;
    bool good = true;
    // A character is at most four bytes, so most strings need no counting.
    const bool surely_long_enough = text.size() / 4 >= rules.length.least;
    const bool surely_short_enough = text.size() <= rules.length.most;
    if (!surely_long_enough || !surely_short_enough) {
      if (!spend(text.size() / 64)) return false;
      good = check_count(node, rules.length, count_code_points(text), "Length", "characters", at);
      if (!good && !goes_on()) return false;
    }
    if (rules.pattern) {
      if (!spend(rules.pattern->cost(text.size()))) return false;
      if (!rules.pattern->matches(text))
        good = refuse(node, "pattern", *at.place,
                      [&] { return "must match the pattern " + quoted(rules.pattern_text); });
    }
    return good;
  }

  bool check_count(const SchemaNode& node, const CountRange& range, std::uint64_t count,
                   std::string_view keyword, std::string_view unit, const Position& at) {
    if (count >= range.least && count <= range.most) return true;
    const bool few = count < range.least;
    const std::string full = found_ ? (few ? "min" : "max") + std::string(keyword) : std::string();
    return refuse(node, full, *at.place, [&] {
      return std::string(few ? "must have at least " : "must have at most ") +
             std::to_string(few ? range.least : range.most) + " " + std::string(unit) +
             ", and has " + std::to_string(count);
    });
  }

  bool check_number(const SchemaNode& node, const json::value& number, const Position& at) {
    const SchemaNumberRules& rules = *node.number;
    bool good = true;
    const auto hold = [&](const std::optional<json::value>& bound, std::string_view keyword,
                          std::string_view sentence, auto holds) {
      if (!bound || (!good && !goes_on()) || holds(*bound)) return;
      good = refuse(node, keyword, *at.place,
                    [&] { return std::string(sentence) + canonical_json(*bound); });
    };
    hold(rules.minimum, "minimum", "must be at least ",
         [&](const json::value& bound) { return compare_numbers(number, bound) >= 0; });
    hold(rules.maximum, "maximum", "must be at most ",
         [&](const json::value& bound) { return compare_numbers(number, bound) <= 0; });
    hold(rules.exclusive_minimum, "exclusiveMinimum", "must be more than ",
         [&](const json::value& bound) { return compare_numbers(number, bound) > 0; });
    hold(rules.exclusive_maximum, "exclusiveMaximum", "must be less than ",
         [&](const json::value& bound) { return compare_numbers(number, bound) < 0; });
    hold(rules.multiple_of, "multipleOf", "must be a multiple of ",
         [&](const json::value& bound) { return is_multiple(number, bound); });
    return good;
  }

  bool evaluate_in_place(const SchemaNode& node, const json::value& instance, const Position& at,
                         EvaluatedSet* evaluated) {
    const SchemaInPlaceRules& rules = *node.in_place;
    bool good = true;
    // What must hold anyway may write into our set: if it fails, so do we, and the set is dropped.
    const auto require = [&](NodeId id) {
      if (id == kNoNode || (!good && !goes_on())) return;
      good = evaluate(id, instance, at, evaluated) && good;
    };
    require(rules.reference);
    require(dynamic_target(rules, at));
    for (const NodeId id : rules.all)
      require(id);
    if (!rules.any.empty() && (good || goes_on()))
      good = evaluate_any(node, instance, at, evaluated) && good;
    if (!rules.one.empty() && (good || goes_on()))
      good = evaluate_one(node, instance, at, evaluated) && good;
    if (rules.none != kNoNode && (good || goes_on()) &&
        try_silently(rules.none, instance, at, nullptr))
      good = refuse(node, "not", *at.place,
                    [] { return std::string("is what the schema rules out"); });
    if (rules.condition != kNoNode && (good || goes_on())) {
      EvaluatedSet branch(evaluated ? elements_of(instance) : 0);
      const bool holds = try_silently(rules.condition, instance, at, evaluated ? &branch : nullptr);
      if (stopped_) return false;
      if (holds && evaluated) merge(*evaluated, branch);
      require(holds ? rules.then : rules.otherwise);
    }
    return good && !stopped_;
  }

  NodeId dynamic_target(const SchemaInPlaceRules& rules, const Position& at) {
    NodeId target = rules.dynamic_reference;
    if (rules.dynamic_anchor == kNoAnchor) return target;
    // The outermost resource in scope that has the anchor.
    for (const Scope* scope = at.scope; scope; scope = scope->around) {
      if (!spend(1)) break;
      for (const auto& [anchor, node] : program_.dynamic_anchors[scope->resource])
        if (anchor == rules.dynamic_anchor) target = node;
    }
    return target;
  }

  void merge(EvaluatedSet& into, const EvaluatedSet& from) {
    if (spend(from.cost())) into.add(from);
  }

  bool evaluate_any(const SchemaNode& node, const json::value& instance, const Position& at,
                    EvaluatedSet* evaluated) {
    bool good = false;
    std::vector<Violation> closest;
    for (const NodeId id : node.in_place->any) {
      EvaluatedSet branch(evaluated ? elements_of(instance) : 0);
      if (evaluate_branch(id, instance, at, evaluated ? &branch : nullptr, closest)) {
        good = true;
        if (!evaluated) break;
        merge(*evaluated, branch);
      }
      if (stopped_) return false;
    }
    if (good) return true;
    refuse(node, "anyOf", *at.place, [&] {
      return "matches none of the " + std::to_string(node.in_place->any.size()) + " alternatives";
    });
    return add_closest(closest);
  }

  bool evaluate_one(const SchemaNode& node, const json::value& instance, const Position& at,
                    EvaluatedSet* evaluated) {
    std::size_t matches = 0;
    std::vector<Violation> closest;
    for (const NodeId id : node.in_place->one) {
      EvaluatedSet branch(evaluated ? elements_of(instance) : 0);
      if (evaluate_branch(id, instance, at, evaluated ? &branch : nullptr, closest)) {
        ++matches;
        if (evaluated) merge(*evaluated, branch);
        if (matches > 1) break;
      }
      if (stopped_) return false;
    }
    if (matches == 1) return true;
    refuse(node, "oneOf", *at.place, [&] {
      return "matches " + std::string(matches == 0 ? "none" : "more than one") + " of the " +
             std::to_string(node.in_place->one.size()) + " alternatives, and must match one";
    });
    return matches == 0 && add_closest(closest);
  }

  // One alternative. What is wrong with it is kept if it is the kind of value that the alternative
  // is about: of "a string, or an object with a name", an object without a name hears of the name.
  bool evaluate_branch(NodeId id, const json::value& instance, const Position& at,
                       EvaluatedSet* evaluated, std::vector<Violation>& closest) {
    if (!found_) return evaluate(id, instance, at, evaluated);
    std::vector<Violation> own;
    std::vector<Violation>* const kept = std::exchange(found_, &own);
    const bool accepted = evaluate(id, instance, at, evaluated);
    found_ = kept;
    const std::string here = pointer_of(*at.place);
    const bool is_other_kind = std::ranges::any_of(own, [&here](const Violation& violation) {
      return violation.instance_place == here && violation.schema_place.ends_with("/type");
    });
    if (!is_other_kind && (closest.empty() || own.size() < closest.size()))
      closest = std::move(own);
    return accepted;
  }

  bool add_closest(std::vector<Violation>& closest) {
    if (found_)
      for (Violation& violation : closest)
        if (found_->size() < kMostViolations) found_->push_back(std::move(violation));
    return false;
  }

  // A step into the value.
  bool evaluate_below(NodeId id, const json::value& value, const Position& at,
                      const ValuePlace& place) {
    return evaluate(id, value,
                    {.place = &place, .scope = at.scope, .in_place = 0, .nested = at.nested},
                    nullptr);
  }

  bool check_object(const SchemaNode& node, const json::value& instance, const Position& at,
                    EvaluatedSet* evaluated) {
    const SchemaObjectRules& rules = *node.object;
    const json::object& object = instance.get_object();
    bool good = check_count(node, rules.count, object.size(), "Properties", "properties", at);
    if (!good && !goes_on()) return false;
    good = check_members(node, object, at, evaluated) && good;
    for (const auto& [name, others] : rules.dependent_required) {
      if (!good && !goes_on()) return false;
      if (object.contains(name)) good = check_dependents(node, object, at, name, others) && good;
    }
    for (const auto& [name, schema] : rules.dependent_schemas) {
      if (!good && !goes_on()) return false;
      if (spend(1) && object.contains(name))
        good = evaluate(schema, instance, at, evaluated) && good;
    }
    return good && !stopped_;
  }

  bool check_dependents(const SchemaNode& node, const json::object& object, const Position& at,
                        std::string_view name, const std::vector<std::string>& others) {
    bool good = true;
    for (const std::string& other : others) {
      if (!spend(1)) return false;
      if (object.contains(other)) continue;
      good = refuse(node, "dependentRequired", *at.place, [&] {
        return "lacks the property " + quoted(other) + ", which " + quoted(name) + " needs";
      });
      if (!goes_on()) return false;
    }
    return good;
  }

  bool check_members(const SchemaNode& node, const json::object& object, const Position& at,
                     EvaluatedSet* evaluated) {
    const SchemaObjectRules& rules = *node.object;
    bool good = true;
    std::size_t required = 0, position = 0;
    const bool looks_at_members = !rules.properties.empty() || !rules.patterns.empty() ||
                                  rules.additional != kNoNode || rules.names != kNoNode;
    if (!looks_at_members) return true;
    for (const json::key_value_pair& member : object) {
      const ValuePlace place{.above = at.place, .key = view(member.key())};
      bool is_required = false;
      good = check_member(node, member, at, place, is_required, evaluated, position++) && good;
      if (is_required) ++required;
      if (!good && !goes_on()) return false;
    }
    if (required < rules.required.size()) good = refuse_missing(node, object, at);
    return good;
  }

  bool refuse_missing(const SchemaNode& node, const json::object& object, const Position& at) {
    for (const std::string& name : node.object->required)
      if (!object.contains(name))
        refuse(node, "required", *at.place,
               [&] { return "lacks the property " + quoted(name) + ", which is required"; });
    return false;
  }

  bool check_member(const SchemaNode& node, const json::key_value_pair& member, const Position& at,
                    const ValuePlace& place, bool& is_required, EvaluatedSet* evaluated,
                    std::size_t position) {
    const SchemaObjectRules& rules = *node.object;
    if (!spend(1)) return false;
    bool good = true, is_known = false;
    if (const auto rule = rules.properties.find(place.key); rule != rules.properties.end()) {
      is_required = rule->second.required;
      if (rule->second.node != kNoNode) {
        is_known = true;
        good = evaluate_below(rule->second.node, member.value(), at, place);
      }
    }
    for (const auto& [pattern, schema] : rules.patterns) {
      if (!spend(pattern.cost(place.key.size()))) return false;
      if (!pattern.matches(place.key)) continue;
      is_known = true;
      good = evaluate_below(schema, member.value(), at, place) && good;
      if (!good && !goes_on()) return false;
    }
    if (!is_known && rules.additional != kNoNode) {
      is_known = true;
      good = check_rest(node, "additionalProperties", rules.additional, member, at, place) && good;
    }
    if (is_known && evaluated) evaluated->add(position);
    if (rules.names != kNoNode && (good || goes_on()))
      good = evaluate_below(rules.names, json::value(member.key()), at, place) && good;
    return good;
  }

  // A property that no other keyword has taken.
  bool check_rest(const SchemaNode& node, std::string_view keyword, NodeId schema,
                  const json::key_value_pair& member, const Position& at, const ValuePlace& place) {
    if (program_.nodes[schema].kind != SchemaNode::Kind::nothing)
      return evaluate_below(schema, member.value(), at, place);
    return refuse(node, keyword, place, [&] {
      return "the property " + quoted(view(member.key())) + " is not one that is allowed";
    });
  }

  bool evaluate_unevaluated_properties(const SchemaNode& node, const json::object& object,
                                       const Position& at, const EvaluatedSet& evaluated) {
    bool good = true;
    std::size_t position = 0;
    for (const json::key_value_pair& member : object) {
      if (!spend(1)) return false;
      if (evaluated.has(position++)) continue;
      const ValuePlace place{.above = at.place, .key = view(member.key())};
      good = check_rest(node, "unevaluatedProperties", node.unevaluated_properties, member, at,
                        place) &&
             good;
      if (!good && !goes_on()) return false;
    }
    return good;
  }

  bool check_array(const SchemaNode& node, const json::array& array, const Position& at,
                   EvaluatedSet* evaluated) {
    const SchemaArrayRules& rules = *node.array;
    bool good = check_count(node, rules.count, array.size(), "Items", "items", at);
    if (!good && !goes_on()) return false;
    for (std::size_t i = 0; i < array.size(); ++i) {
      const NodeId schema = i < rules.prefix.size() ? rules.prefix[i] : rules.items;
      if (schema == kNoNode) break;
      const ValuePlace place{.above = at.place, .index = i, .is_item = true};
      good = evaluate_below(schema, array[i], at, place) && good;
      if (!good && !goes_on()) return false;
      if (evaluated) evaluated->add(i);
    }
    if (rules.contains != kNoNode) good = check_contains(node, array, at, evaluated) && good;
    if (!good && !goes_on()) return false;
    if (rules.unique && !are_unique(array))
      good = refuse(node, "uniqueItems", *at.place,
                    [] { return std::string("must not have an item twice"); });
    return good;
  }

  bool check_contains(const SchemaNode& node, const json::array& array, const Position& at,
                      EvaluatedSet* evaluated) {
    const SchemaArrayRules& rules = *node.array;
    std::uint64_t matches = 0;
    std::vector<Violation>* const kept = std::exchange(found_, nullptr);
    for (std::size_t i = 0; i < array.size() && !stopped_; ++i) {
      const ValuePlace place{.above = at.place, .index = i, .is_item = true};
      if (!evaluate_below(rules.contains, array[i], at, place)) continue;
      ++matches;
      if (evaluated) evaluated->add(i);
      const bool unbounded = rules.contained.most >= array.size();
      if (!evaluated && unbounded && matches >= rules.contained.least) break;
    }
    found_ = kept;
    if (stopped_) return false;
    return check_count(node, rules.contained, matches, "Contains", "items that match contains", at);
  }

  // By hash, so that long arrays are not compared item by item; items that only share a hash cost
  // steps, so that made collisions do not help.
  bool are_unique(const json::array& array) {
    if (array.size() < 2) return true;
    std::vector<std::pair<std::size_t, const json::value*>> items;
    items.reserve(array.size());
    for (const json::value& item : array) {
      if (!spend(weight_of(item))) return false;
      items.emplace_back(json_hash(item), &item);
    }
    std::ranges::sort(items, {}, &std::pair<std::size_t, const json::value*>::first);
    for (std::size_t i = 0; i < items.size(); ++i)
      for (std::size_t j = i + 1; j < items.size() && items[j].first == items[i].first; ++j) {
        if (!spend(weight_of(*items[j].second))) return false;
        if (json_equal(*items[i].second, *items[j].second)) return false;
      }
    return true;
  }

  bool evaluate_unevaluated_items(const SchemaNode& node, const json::array& array,
                                  const Position& at, const EvaluatedSet& evaluated) {
    bool good = true;
    const bool nothing = program_.nodes[node.unevaluated_items].kind == SchemaNode::Kind::nothing;
    for (std::size_t i = 0; i < array.size(); ++i) {
      if (!spend(1)) return false;
      if (evaluated.has(i)) continue;
      const ValuePlace place{.above = at.place, .index = i, .is_item = true};
      if (nothing)
        good = refuse(node, "unevaluatedItems", place,
                      [] { return std::string("is an item that is not allowed"); });
      else
        good = evaluate_below(node.unevaluated_items, array[i], at, place) && good;
      if (!good && !goes_on()) return false;
    }
    return good;
  }

  const SchemaProgram& program_;
  std::uint64_t steps_;
  std::vector<Violation>* found_;
  const char* stopped_ = nullptr;
};

}  // namespace

bool accepts_value(const SchemaProgram& program, const json::value& instance) {
  return Evaluation(program, nullptr).run(instance);
}

bool surely_refuses_value(const SchemaProgram& program, const json::value& instance) {
  Evaluation evaluation(program, nullptr);
  return !evaluation.run(instance) && evaluation.stopped() == nullptr;
}

std::vector<Violation> find_violations(const SchemaProgram& program, const json::value& instance) {
  if (accepts_value(program, instance)) return {};
  std::vector<Violation> found;
  Evaluation evaluation(program, &found);
  evaluation.run(instance);
  if (found.empty())
    found.push_back({.instance_place = "",
                     .schema_place = program.nodes.front().place,
                     .message = evaluation.stopped() ? evaluation.stopped() : "is not accepted"});
  return found;
}

}  // namespace sallyport
