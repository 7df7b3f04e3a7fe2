// Arguments of tools: JSON Schema 2020-12, and what it cannot say (types that are made safe by
// parsing them, `default`, `optional` ...).
#include <algorithm>

#include "base/text.h"
#include "input/command.h"
#include "input/path.h"
#include "input/sql_identifier.h"
#include "input/string_value.h"
#include "input/url.h"
#include "policy/load.h"
#include "policy/schema_keywords.h"

namespace sallyport {
namespace {

// A type of ours, and the JSON Schema that it is to a model.
struct TypeText {
  std::string_view name;
  ArgumentType type;
  std::uint64_t max_length;
};
constexpr TypeText kOwnTypes[] = {
    {"path", ArgumentType::path, 4096},
    {"sql_identifier", ArgumentType::sql_identifier, 127},
    {"url", ArgumentType::url, 2048},
    {"host", ArgumentType::host, 253},
    {"command", ArgumentType::command, kLongestCommand},
};
constexpr std::string_view kJsonTypes[] = {"string", "integer", "number", "boolean",
                                           "array",  "object",  "null"};
constexpr std::string_view kTypes[] = {"string",         "integer", "number", "boolean",
                                       "array",          "object",  "null",   "path",
                                       "sql_identifier", "url",     "host",   "command"};

// An argument while it is read: a Schema has no empty value.
struct ArgumentParts {
  ArgumentType type = ArgumentType::json;
  bool string = false;  // a string, among other types perhaps
  std::uint64_t max_length = 1000;
  std::optional<json::value> fallback;
  bool optional = false, dash = false, multiline = false;
  std::string below;
  std::optional<bool> exists;
  std::vector<std::string> schemes;
  std::vector<HostPattern> hosts;
  json::object schema;  // pure JSON Schema
};

void read_type(const Spot& at, ArgumentParts& parts) {
  if (at.node().kind == Node::Kind::list) {
    json::array types;
    for_each_item(at, [&](const Spot& item) {
      // The word is the name of a type here, and not nothing.
      if (item.node().text == "null" || read_choice(item, kJsonTypes))
        types.emplace_back(item.node().text);
      parts.string = parts.string || item.node().text == "string";
    });
    if (at.node().items.empty()) at.refuse("the list of types is empty", "write type: string");
    at.means(types);
    parts.schema["type"] = std::move(types);
    return;
  }
  const bool null = at.node().kind == Node::Kind::scalar && at.node().text == "null";
  const auto name = null ? std::optional(at.node().text) : read_choice(at, kTypes);
  if (!name) return;
  at.means(json::value(*name));
  const auto own = std::ranges::find(kOwnTypes, std::string_view(*name), &TypeText::name);
  if (own != std::end(kOwnTypes)) {
    parts.type = own->type;
    parts.max_length = own->max_length;
    parts.schema["type"] = "string";
    return;
  }
  parts.schema["type"] = *name;
  if (*name == "string") {
    parts.type = ArgumentType::string;
    parts.string = true;
  }
}

void read_below(const Spot& at, ArgumentParts& parts) {
  if (auto path = read_absolute_path(at)) parts.below = std::move(*path);
}

std::optional<std::string> read_url_scheme(const Spot& at) {
  constexpr std::string_view kSchemes[] = {"https", "http"};
  return read_choice(at, kSchemes);
}

void read_default(const Spot& at, ArgumentParts& parts) {
  parts.fallback = read_json(at);
}

constexpr Field<ArgumentParts> kArgument[] = {
    {"type", R"({"$ref": "#/$defs/argument_type"})",
     "A type of JSON, or one that is made safe by parsing it: `path`, `sql_identifier`, `url`, "
     "`host`, `command`.",
     read_type},
    {"default", "{}", "The value when the caller gives none.", read_default},
    {"optional", kSwitchValue, "It may be missing although it has no default.",
     into<&ArgumentParts::optional, read_switch>},
    {"dash", kSwitchValue, "It may begin with '-' as an element of an argv.",
     into<&ArgumentParts::dash, read_switch>},
    {"multiline", kSwitchValue, "string: it may hold line ends.",
     into<&ArgumentParts::multiline, read_switch>},
    {"below", kTextValue,
     "path: the directory of the host that it must lie in. A caller names the path as the tool "
     "sees it, or relative to this.",
     read_below},
    {"exists", kSwitchValue, "path: it must be there already; true.",
     into<&ArgumentParts::exists, read_switch>},
    {"schemes", R"({"type": "array", "items": {"enum": ["https", "http"]}, "minItems": 1})",
     "url: the schemes that it may have; https and http.",
     into<&ArgumentParts::schemes, read_list<read_url_scheme>>},
    {"hosts", R"({"$ref": "#/$defs/hosts"})", "url, host: the hosts that it may name.",
     into<&ArgumentParts::hosts, read_hosts>},
};

// Reads the map: our own keys by their table, everything else as JSON Schema.
std::optional<ArgumentParts> read_parts(const Spot& at) {
  if (at.node().kind == Node::Kind::scalar && !at.node().text.empty()) {
    at.refuse("a mapping is wanted here, and this is " + quoted(at.node().text),
              "write {type: " + escape_for_terminal(at.node().text.substr(0, 40)) + "}");
    return std::nullopt;
  }
  ArgumentParts parts;
  for_each_entry(at, [&](const Node& key, const Spot& value) {
    const auto field =
        std::ranges::find(kArgument, std::string_view(key.text), &Field<ArgumentParts>::key);
    if (field != std::end(kArgument)) return field->read(value, parts);
    if (key.text == "required")
      return at.refuse_key(key.text, key.place, "there is no key 'required' here",
                           "every argument is required unless it has a default or says optional: "
                           "true");
    if (key.text == "description" || key.text == "title") {
      if (auto text = read_text(value)) parts.schema[key.text] = *text;
      return;
    }
    const std::size_t problems = at.notes().problems.size();
    check_schema_entry(at, key, value);
    if (at.notes().problems.size() != problems) return;
    if (auto json = read_json(value)) parts.schema[key.text] = std::move(*json);
  });
  if (at.node().kind != Node::Kind::map) return std::nullopt;
  return parts;
}

// Keys that go with some types only. `sound`: nothing was wrong with them one by one.
void check_combinations(const Spot& at, const ArgumentParts& parts, bool sound) {
  const auto only = [&](std::string_view key, bool fits, std::string_view where) {
    if (const Node* value = at.node().find(key); value && !fits)
      at.refuse_key(key, value->place, "'" + std::string(key) + "' does not go with this type",
                    "it belongs to " + std::string(where));
  };
  only("multiline", parts.type == ArgumentType::string, "type: string");
  only("below", parts.type == ArgumentType::path, "type: path");
  only("exists", parts.type == ArgumentType::path, "type: path");
  only("schemes", parts.type == ArgumentType::url, "type: url");
  only("hosts", parts.type == ArgumentType::url || parts.type == ArgumentType::host,
       "type: url and type: host");
  if (const Node* optional = at.node().find("optional"); optional && parts.fallback)
    at.refuse_key("optional", optional->place, "an argument with a default is optional already",
                  "leave `optional` out");
  if (parts.type == ArgumentType::path && parts.below.empty() && !at.node().find("below"))
    at.refuse("a path needs the directory that it must lie in", "write below: /srv/data");
  const bool says_something = std::ranges::any_of(parts.schema, [](const auto& member) {
    return member.key() != "description" && member.key() != "title" && member.key() != "examples";
  });
  if (!says_something && sound)
    at.refuse("this argument would take any value", "write its type, such as type: string");
}

// Whether a text of ours is one: the same parsers as at the time of a call.
Result<void> check_text(const Argument& argument, std::string_view text) {
  const auto verdict = [](const auto& parsed) -> Result<void> {
    if (!parsed) return std::unexpected(parsed.error());
    return {};
  };
  switch (argument.type) {
    case ArgumentType::json:
      return {};
    case ArgumentType::string:
      return verdict(parse_string_value(
          text, {.max_length = argument.max_length, .multiline = argument.multiline}));
    case ArgumentType::path:
      // Relative only: where the tool will see the directory is not known yet.
      return verdict(parse_relative_path(text, {.below = {}}));
    case ArgumentType::sql_identifier:
      return verdict(SqlIdentifier::parse(text, {.qualified = true}));
    case ArgumentType::url: {
      UrlRules rules;
      if (!argument.schemes.empty()) rules.schemes = argument.schemes;
      rules.hosts = argument.hosts;
      return verdict(Url::parse(text, rules));
    }
    case ArgumentType::host:
      return verdict(HostName::parse(text));
    case ArgumentType::command:
      return verdict(parse_command(text));
  }
  return {};
}

void check_fallback(const Spot& at, const Argument& argument) {
  if (!argument.fallback) return;
  const Node* node = at.node().find("default");
  const Place place = node ? node->place : at.node().place;
  if (const auto violations = argument.schema.check(*argument.fallback); !violations.empty())
    return at.refuse_key("default", place,
                         "the default is refused by its own schema: " + violations[0].message, {});
  if (const json::string* text = argument.fallback->if_string())
    if (auto checked = check_text(argument, {text->data(), text->size()}); !checked)
      at.refuse_key("default", place, "the default is refused: " + checked.error().message,
                    checked.error().hint);
}

// Stands for an argument with mistakes, in a policy that does not load.
Argument anything(const Node& key) {
  return {.name = key.text,
          .place = key.place,
          .schema = *Schema::compile(json::object()),
          .definition = {},
          .fallback = {},
          .below = {},
          .schemes = {},
          .hosts = {}};
}

std::optional<Argument> read_argument(const Node& key, const Spot& at) {
  const std::size_t problems = at.notes().problems.size();
  const auto sound = [&] { return at.notes().problems.size() == problems; };
  auto parts = read_parts(at);
  if (!parts) return std::nullopt;
  // Of a type that was not understood, nobody can say what goes with it.
  if (parts->schema.contains("type") || !at.node().find("type"))
    check_combinations(at, *parts, sound());
  if (!sound()) return std::nullopt;

  json::object& pure = parts->schema;
  const bool is_text = parts->string || (parts->type != ArgumentType::json);
  if (const json::value* longest = pure.if_contains("maxLength")) {
    if (longest->is_int64() && longest->get_int64() >= 0)
      parts->max_length = static_cast<std::uint64_t>(longest->get_int64());
  } else if (is_text && !pure.contains("enum") && !pure.contains("const")) {
    pure["maxLength"] = parts->max_length;
  }
  auto schema = Schema::compile(pure);
  if (!schema) {
    at.refuse(schema.error());
    return std::nullopt;
  }
  json::object definition = pure;
  if (parts->fallback) definition["default"] = *parts->fallback;
  Argument argument{.name = key.text,
                    .place = key.place,
                    .type = parts->type,
                    .schema = std::move(*schema),
                    .definition = std::move(definition),
                    .fallback = std::move(parts->fallback),
                    .optional = parts->optional,
                    .dash = parts->dash,
                    .multiline = parts->multiline,
                    .max_length = parts->max_length,
                    .below = std::move(parts->below),
                    .exists = parts->exists.value_or(true),
                    .schemes = std::move(parts->schemes),
                    .hosts = std::move(parts->hosts)};
  check_fallback(at, argument);
  return argument;
}

}  // namespace

std::optional<std::vector<Argument>> read_arguments(const Spot& at) {
  std::vector<Argument> arguments;
  for_each_entry(at, [&](const Node& key, const Spot& value) {
    std::optional<Argument> argument;
    if (check_key(value, key, NameKind::argument)) argument = read_argument(key, value);
    // What is declared wrongly is declared: its placeholders are not mistakes of their own.
    arguments.push_back(argument ? std::move(*argument) : anything(key));
  });
  if (at.node().kind != Node::Kind::map) return std::nullopt;
  return arguments;
}

std::optional<Schema> read_schema(const Spot& at, json::value& text) {
  const std::size_t problems = at.notes().problems.size();
  check_schema(at);
  auto value = read_json(at);
  if (!value || at.notes().problems.size() != problems) return std::nullopt;
  auto schema = Schema::compile(*value);
  if (!schema) {
    at.refuse(schema.error());
    return std::nullopt;
  }
  text = std::move(*value);
  return std::move(*schema);
}

std::expected<std::vector<Argument>, std::vector<PolicyProblem>> compile_arguments(
    const json::object& args, std::string_view rule) {
  const Node root = node_from_json(args);
  Notes notes;
  json::value meaning;
  auto arguments = read_arguments(Spot(root, notes, &meaning));
  if (arguments && notes.problems.empty()) return std::move(*arguments);
  for (PolicyProblem& problem : notes.problems)
    problem.rule = std::string(rule).append(problem.rule.empty() ? "" : ".").append(problem.rule);
  return std::unexpected(std::move(notes.problems));
}

SectionText argument_section() {
  SectionText section{
      "argument",
      "An argument: keywords of JSON Schema 2020-12, and these. What is not declared is refused.",
      texts_of<ArgumentParts>(kArgument)};
  for (const SchemaKeyword& keyword : schema_keywords())
    if (std::ranges::find(section.fields, keyword.name, &FieldText::key) == section.fields.end() &&
        !keyword.name.starts_with('$') && keyword.name != "required")
      section.fields.push_back({keyword.name, "{}", keyword.about});
  return section;
}

}  // namespace sallyport
