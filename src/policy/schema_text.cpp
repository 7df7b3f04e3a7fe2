#include "policy/schema_text.h"

#include <algorithm>

#include "base/text.h"
#include "policy/words.h"

namespace sallyport {
namespace {

constexpr std::string_view kAnnotations[] = {"title",    "description", "default",
                                             "examples", "$comment",    "deprecated",
                                             "readOnly", "writeOnly",   "format"};

// Takes what it has put into words off a list of keywords.
class Keywords {
 public:
  explicit Keywords(const json::object& schema) : schema_(schema) {
    for (const auto& pair : schema)
      if (std::ranges::find(kAnnotations, std::string_view(pair.key())) == std::end(kAnnotations))
        left_.emplace_back(pair.key());
  }

  const json::value* take(std::string_view name) {
    const json::value* const value = schema_.if_contains(name);
    if (value) std::erase(left_, name);
    return value;
  }
  [[nodiscard]] bool all_taken() const { return left_.empty(); }

 private:
  const json::object& schema_;
  std::vector<std::string> left_;
};

std::string shown(const json::value& value) {
  return escape_for_terminal(json::serialize(value));
}

std::string type_sentence(const json::value* type) {
  if (!type) return "any JSON value";
  if (!type->is_string()) return "JSON of the type " + shown(*type);
  const std::string_view name = type->as_string();
  if (name == "integer") return "a whole number";
  if (name == "number") return "a number";
  if (name == "string") return "text";
  if (name == "boolean") return "true or false";
  if (name == "array") return "a list";
  if (name == "object") return "an object";
  if (name == "null") return "null";
  return "JSON of the type " + shown(*type);
}

void add_bounds(std::string& text, Keywords& keywords, std::string_view least,
                std::string_view most, std::string_view unit) {
  const json::value* const from = keywords.take(least);
  const json::value* const to = keywords.take(most);
  if (from && to)
    text.append(" of ").append(shown(*from)).append(" to ").append(shown(*to)).append(unit);
  else if (from)
    text.append(" of at least ").append(shown(*from)).append(unit);
  else if (to)
    text.append(" of at most ").append(shown(*to)).append(unit);
}

void add_number_bounds(std::string& text, Keywords& keywords) {
  const json::value* const from = keywords.take("minimum");
  const json::value* const to = keywords.take("maximum");
  const json::value* const above = keywords.take("exclusiveMinimum");
  const json::value* const below = keywords.take("exclusiveMaximum");
  if (from && to)
    text.append(" from ").append(shown(*from)).append(" to ").append(shown(*to));
  else if (from)
    text.append(" of at least ").append(shown(*from));
  else if (to)
    text.append(" of at most ").append(shown(*to));
  if (above) text.append(", greater than ").append(shown(*above));
  if (below) text.append(", less than ").append(shown(*below));
  if (const json::value* const step = keywords.take("multipleOf"))
    text.append(", a multiple of ").append(shown(*step));
}

std::string list_hosts(const std::vector<HostPattern>& hosts) {
  return list_names(host_texts(hosts), "or");
}

// What the schema does not say: the sanitiser of the type.
std::string typed_sentence(const Argument& argument) {
  switch (argument.type) {
    case ArgumentType::json:
    case ArgumentType::string:
      return schema_sentence(argument.definition);
    case ArgumentType::path:
      return (argument.exists ? "the path of something that exists" : std::string("a path")) +
             " below " + escape_for_terminal(argument.below) + " on this machine";
    case ArgumentType::sql_identifier:
      return "the name of a table or column";
    case ArgumentType::url:
      return "a URL" +
             (argument.schemes.empty() ? "" : " (" + list_names(argument.schemes, "or") + ")") +
             (argument.hosts.empty() ? " of any host" : " of " + list_hosts(argument.hosts));
    case ArgumentType::host:
      return argument.hosts.empty() ? "the name of any host" : list_hosts(argument.hosts);
    case ArgumentType::command:
      return "one command, as words, matched against `commands`";
  }
  return {};
}

}  // namespace

std::string schema_sentence(const json::object& schema) {
  Keywords keywords(schema);
  std::string text;
  const json::value* const type = keywords.take("type");
  const json::value* const choice = keywords.take("enum");
  const json::value* const constant = keywords.take("const");
  if (constant) {
    text = "only " + shown(*constant);
  } else if (choice && choice->is_array() && choice->as_array().size() == 1) {
    text = "only " + shown(choice->as_array()[0]);
  } else if (choice && choice->is_array()) {
    text = "one of " + list_names(each_text(choice->as_array(), shown), "or");
  } else {
    text = type_sentence(type);
  }
  add_number_bounds(text, keywords);
  add_bounds(text, keywords, "minLength", "maxLength", " characters");
  add_bounds(text, keywords, "minItems", "maxItems", " items");
  if (const json::value* const pattern = keywords.take("pattern"); pattern && pattern->is_string())
    text.append(" that matches ").append(escape_for_terminal(pattern->as_string()));
  const json::value* const items = schema.if_contains("items");
  if (items && items->is_object()) {
    keywords.take("items");
    text.append(", each ").append(schema_sentence(items->as_object()));
  }
  if (const json::value* const unique = keywords.take("uniqueItems");
      unique && unique->is_bool() && unique->as_bool())
    text.append(", none twice");
  if (!keywords.all_taken()) return "JSON that this schema accepts: " + shown(schema);
  return text;
}

std::string argument_sentence(const Argument& argument) {
  std::string text = typed_sentence(argument);
  const bool has_own_length = argument.definition.contains("maxLength") ||
                              argument.definition.contains("enum") ||
                              argument.definition.contains("const");
  const bool has_length =
      argument.type == ArgumentType::string || argument.type == ArgumentType::url;
  if (has_length && !has_own_length)
    text.append(", at most ").append(std::to_string(argument.max_length)).append(" characters");
  if (argument.multiline) text.append(", line ends allowed");
  if (argument.dash) text.append(", may begin with '-' and so be taken for an option");
  if (argument.fallback)
    text.append("; ").append(shown(*argument.fallback)).append(" if left out");
  else
    text.append(argument.optional ? "; may be left out" : "; has to be given");
  return text;
}

}  // namespace sallyport
