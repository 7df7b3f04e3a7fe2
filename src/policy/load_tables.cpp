// Tables and columns, of roles and of the sql tool.
#include "base/text.h"
#include "input/sql_identifier.h"
#include "policy/load.h"

namespace sallyport {
namespace {

constexpr const char* kOnce = "capital letters make no other table; list it once";

// Whether a table, perhaps with its schema, or a column can have this name.
bool check_identifier(const Spot& at, Place place, std::string_view name, bool qualified) {
  const auto parsed = SqlIdentifier::parse(name, {.qualified = qualified});
  if (!parsed) at.refuse_at(place, parsed.error().message, parsed.error().hint);
  return parsed.has_value();
}

template <bool Qualified>
std::optional<std::string> read_identifier(const Spot& at) {
  auto name = read_text(at);
  if (!name || (Qualified && *name == "*")) return name;
  if (!check_identifier(at, at.node().place, *name, Qualified)) return std::nullopt;
  return name;
}

// `all`, or a list of columns that is not empty.
std::optional<std::vector<std::string>> read_columns(const Spot& at) {
  if (at.node().kind == Node::Kind::scalar) {
    constexpr std::string_view kAll[] = {"all"};
    if (!read_choice(at, kAll)) return std::nullopt;
    return std::vector<std::string>();
  }
  auto columns = read_list<read_identifier<false>>(at);
  if (!columns || columns->size() != at.node().items.size()) return std::nullopt;
  if (!columns->empty()) return columns;
  if (at.node().items.empty())
    at.refuse("an empty list of columns allows nothing", "write all, or leave the table out");
  return std::nullopt;
}

}  // namespace

std::optional<TableRules> read_tables(const Spot& at) {
  TableRules rules;
  if (at.node().kind == Node::Kind::list) {
    const auto names = read_list<read_identifier<true>>(at);
    if (!names) return std::nullopt;
    json::object meaning;
    for (const std::string& name : *names) {
      if (name == "*")
        rules.all_tables = true;
      else if (!rules.tables.try_emplace(name).second)
        at.refuse("the table " + quoted(name) + " is listed twice", kOnce);
      meaning[name] = "all";
    }
    at.means(std::move(meaning));
    return rules;
  }
  if (at.node().kind == Node::Kind::scalar && at.node().text == "*") {
    at.refuse("a list or a mapping of tables is wanted here", "write [\"*\"] for all tables");
    return std::nullopt;
  }
  for_each_entry(at, [&](const Node& key, const Spot& value) {
    auto columns = read_columns(value);
    if (!columns) return;
    if (key.text != "*") {
      if (!check_identifier(value, key.place, key.text, true)) return;
      if (!rules.tables.try_emplace(key.text, std::move(*columns)).second)
        value.refuse_at(key.place, "the table " + quoted(key.text) + " is listed twice", kOnce);
    } else if (columns->empty()) {
      rules.all_tables = true;
    } else {
      value.refuse("columns of all tables cannot be listed", "write \"*\": all");
    }
  });
  if (at.node().kind != Node::Kind::map) return std::nullopt;
  return rules;
}

}  // namespace sallyport
