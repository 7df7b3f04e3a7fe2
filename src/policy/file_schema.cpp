#include "policy/file_schema.h"

#include <algorithm>

#include "policy/load.h"

namespace sallyport {
namespace {

// Sections in the order in which a reader meets them.
std::vector<SectionText> sections() {
  return {
      policy_section(),   role_section(),          tenant_section(),          budget_section(),
      caller_section(),   lockout_section(),       limits_section(),          defaults_section(),
      ceiling_section(),  ceiling_files_section(), ceiling_network_section(), tool_section(),
      argument_section(), files_section(),         network_section(),         host_section(),
      http_section(),     approval_section(),      output_section(),          credential_section(),
      vault_section(),    pool_section(),          audit_section(),           price_section(),
      test_section()};
}

// Values that are no sections. The pattern of a unit is what an editor can check of it.
struct ValueText {
  std::string_view name;
  std::string_view schema;
  std::string_view about;
};
constexpr ValueText kValues[] = {
    {"name", R"x({"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_.@-]{0,63}$"})x",
     "Letters, digits, `_` and `-`, beginning with a letter or `_`; of callers also `.` and `@`."},
    {"permission",
     R"x({"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_.-]*(:[A-Za-z0-9_.-]+)?$"})x",
     "`VERB:OBJECT` or one word; `admin` implies every permission."},
    {"duration", R"x({"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(ms|s|min|h)$"})x",
     "A time with its unit: `ms`, `s`, `min`, `h`."},
    {"size", R"x({"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(B|kB|MB|GB|KiB|MiB|GiB)$"})x",
     "A number of bytes with its unit: `B`, `kB`, `MB`, `GB`, `KiB`, `MiB`, `GiB`."},
    {"bandwidth",
     R"x({"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(B|kB|MB|GB|KiB|MiB|GiB)/s$"})x",
     "A size per second, such as `20MB/s`."},
    {"rate",
     R"x({"anyOf": [{"$ref": "#/$defs/one_rate"}, {"type": "array", "items": {"$ref": "#/$defs/one_rate"}, "minItems": 1}]})x",
     "`N/s`, `N/min`, `N/h` or `N/day`, or a list of them. No more than N begin in any such time."},
    {"one_rate", R"x({"type": "string", "pattern": "^[1-9][0-9]*/(s|min|h|day)$"})x", ""},
    {"tables",
     R"x({"anyOf": [{"type": "array", "items": {"type": "string", "minLength": 1}}, {"type": "object", "additionalProperties": {"anyOf": [{"const": "all"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}}]})x",
     "A list of tables, or a mapping of tables to `all` or a list of columns; `\"*\"` is every "
     "table."},
    {"host", R"x({"type": "string", "pattern": "^(\\*\\.)?[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)*$"})x",
     "The name of a host, or `*.name` for all names below it."},
    {"hosts", R"x({"type": "array", "items": {"$ref": "#/$defs/host"}})x", "A list of hosts."},
    {"methods", R"x({"type": "array", "items": {"type": "string", "pattern": "^[A-Z]+$"}})x",
     "A list of HTTP methods, in capitals."},
    {"url_paths", R"x({"type": "array", "items": {"type": "string", "pattern": "^/"}})x",
     "A list of beginnings of paths of URLs."},
    {"screen",
     R"x({"anyOf": [{"enum": ["none", "warn", "approve", "block"]}, {"type": "object", "additionalProperties": {"enum": ["none", "warn", "approve", "block"]}}]})x",
     "`none`, `warn`, `approve` or `block`, or a mapping of categories to them; `\"*\"` is every "
     "other category."},
    {"argument_type",
     R"x({"anyOf": [{"enum": ["string", "integer", "number", "boolean", "array", "object", "null", "path", "sql_identifier", "url", "host", "command"]}, {"type": "array", "items": {"enum": ["string", "integer", "number", "boolean", "array", "object", "null"]}, "minItems": 1}]})x",
     "A type of JSON or a list of them, or `path`, `sql_identifier`, `url`, `host`, `command`."},
    {"json_schema", R"x({"type": ["object", "boolean"]})x",
     "JSON Schema 2020-12, without `format`."},
};

json::value parsed(std::string_view schema) {
  auto value = parse_json(schema);
  return value ? std::move(*value) : json::value(nullptr);
}

json::object schema_of(const SectionText& section) {
  json::object properties;
  json::array required;
  for (const FieldText& field : section.fields) {
    json::value value = parsed(field.schema);
    if (json::object* object = value.if_object()) (*object)["description"] = field.about;
    properties[field.key] = std::move(value);
    if (field.presence == Presence::required) required.emplace_back(field.key);
  }
  json::object schema{{"type", "object"}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["properties"] = std::move(properties);
  if (!section.short_form.empty())
    return {{"description", section.about},
            {"anyOf", json::array{parsed(section.short_form), std::move(schema)}}};
  schema["description"] = section.about;
  return schema;
}

std::string code(std::string_view text) {
  return "`" + std::string(text) + "`";
}

std::string link_to(std::string_view name) {
  return "[" + std::string(name) + "](#" + std::string(name) + ")";
}

std::string text_of(const json::value& value) {
  const json::string& text = value.get_string();
  return {text.data(), text.size()};
}

// A schema as a few words for the reference.
std::string words_for(const json::value& schema) {
  const json::object& object = schema.get_object();
  if (const json::value* ref = object.if_contains("$ref")) {
    const std::string path = text_of(*ref);
    return link_to(path.substr(path.rfind('/') + 1));
  }
  if (const json::value* only = object.if_contains("const"))
    return code(only->is_string() ? text_of(*only) : json::serialize(*only));
  if (const json::value* words = object.if_contains("enum")) {
    std::string list;
    for (const json::value& word : words->get_array())
      list.append(list.empty() ? "" : ", ").append(code(text_of(word)));
    return list;
  }
  const json::value* type = object.if_contains("type");
  if (!type || !type->is_string()) return "any value";
  if (*type == "array") {
    const json::value* items = object.if_contains("items");
    return "list of " + (items ? words_for(*items) : std::string("values"));
  }
  if (*type == "object") {
    const json::value* each = object.if_contains("additionalProperties");
    return "mapping of names to " + (each && each->is_object() ? words_for(*each) : "values");
  }
  if (*type == "integer") return "whole number";
  if (*type == "boolean") return "`true`, `false`";
  return *type == "string" ? "text" : text_of(*type);
}

}  // namespace

json::object policy_file_schema() {
  json::object defs;
  json::object whole;
  for (const SectionText& section : sections()) {
    if (section.name == "policy")
      whole = schema_of(section);
    else
      defs[section.name] = schema_of(section);
  }
  for (const ValueText& row : kValues) {
    json::value value = parsed(row.schema);
    if (json::object* object = value.if_object(); object && !row.about.empty())
      (*object)["description"] = row.about;
    defs[row.name] = std::move(value);
  }
  json::object schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                      {"title", "Sallyport policy"}};
  for (json::key_value_pair& member : whole)
    schema[member.key()] = std::move(member.value());
  schema["$defs"] = std::move(defs);
  return schema;
}

std::string policy_reference() {
  std::string text =
      "# The policy file, key by key\n\n"
      "Made from the tables of the loader; do not edit. `sallyport policy schema` prints the same "
      "as JSON Schema for editors, `sallyport policy init` a file to start from.\n";
  for (const SectionText& section : sections()) {
    text.append("\n## ").append(section.name).append("\n\n").append(section.about).append("\n\n");
    if (!section.short_form.empty())
      text.append("In short: ").append(words_for(parsed(section.short_form))).append(".\n\n");
    text.append("| key | value | what it is |\n| --- | --- | --- |\n");
    for (const FieldText& field : section.fields) {
      text.append("| `").append(field.key).append("` | ").append(words_for(parsed(field.schema)));
      text.append(" | ").append(field.about);
      text.append(field.presence == Presence::required ? " Must be written. |\n" : " |\n");
    }
  }
  text.append("\n## Values\n");
  for (const ValueText& row : kValues)
    if (!row.about.empty())
      text.append("\n### ").append(row.name).append("\n\n").append(row.about).append("\n");
  return text;
}

}  // namespace sallyport
