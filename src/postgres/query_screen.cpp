#include "postgres/query_screen.h"

#include <pg_query.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "postgres/known_functions.h"

namespace sallyport {
namespace {

constexpr JsonLimits kTreeLimits{.max_depth = 1000, .max_bytes = std::size_t{64} << 20};
constexpr const char* kWriteOne =
    "write one SELECT (or WITH, or VALUES); action list_tables and describe_table tell what is "
    "there";

// Every kind of node that a query which only reads is made of. What a later PostgreSQL adds is not
// among them.
constexpr std::string_view kNodes[] = {
    "A_ArrayExpr",      "A_Const",         "A_Expr",       "A_Indices",     "A_Indirection",
    "A_Star",           "BitString",       "BoolExpr",     "Boolean",       "BooleanTest",
    "CaseExpr",         "CaseWhen",        "CoalesceExpr", "CollateClause", "ColumnDef",
    "ColumnRef",        "CommonTableExpr", "Float",        "FuncCall",      "GroupingFunc",
    "GroupingSet",      "Integer",         "JoinExpr",     "List",          "MinMaxExpr",
    "NamedArgExpr",     "NullTest",        "ParamRef",     "RangeFunction", "RangeSubselect",
    "RangeTableSample", "RangeVar",        "ResTarget",    "RowExpr",       "SQLValueFunction",
    "SelectStmt",       "SortBy",          "String",       "SubLink",       "TypeCast",
    "TypeName",         "WindowDef",
};
static_assert(std::ranges::is_sorted(kNodes));

struct FreeTree {
  PgQueryParseResult result;
  ~FreeTree() { ::pg_query_free_parse_result(result); }
};

std::unexpected<Error> refuse(std::string what, std::string hint = kWriteOne) {
  return fail(Reason::argument, std::move(what), std::move(hint));
}

std::string_view text_at(const json::object& node, std::string_view key) {
  const json::value* value = node.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : "";
}

// The last part of a name, and what stands before it: [{"String": {"sval": …}}, …].
struct Name {
  std::string schema, name;
  bool good = false;
};
Name name_at(const json::object& node, std::string_view key) {
  const json::value* list = node.if_contains(key);
  if (list == nullptr || !list->is_array()) return {};
  std::vector<std::string> parts;
  for (const json::value& part : list->get_array()) {
    const json::object* wrapper = part.if_object();
    const json::value* text = wrapper != nullptr ? wrapper->if_contains("String") : nullptr;
    if (text == nullptr || !text->is_object()) return {};
    parts.emplace_back(text_at(text->get_object(), "sval"));
  }
  if (parts.size() == 1) return {.schema = {}, .name = parts[0], .good = true};
  if (parts.size() == 2) return {.schema = parts[0], .name = parts[1], .good = true};
  return {};
}

bool is_own_schema(std::string_view schema) {
  return schema.empty() || schema == "pg_catalog";
}

class Screen {
 public:
  explicit Screen(const MayRead& may_read) : may_read_(may_read) {}

  std::set<std::string> behind_dots;

  Result<void> look(const json::value& value) {
    if (const json::array* list = value.if_array()) {
      for (const json::value& each : *list)
        if (auto looked = look(each); !looked) return looked;
      return {};
    }
    const json::object* node = value.if_object();
    return node != nullptr ? look_at_node(*node) : Result<void>();
  }

 private:
  Result<void> look_at_node(const json::object& node) {
    if (node.contains("intoClause"))
      return refuse("this tool only reads, and SELECT … INTO makes a table");
    if (node.contains("lockingClause"))
      return refuse("this tool only reads, and FOR UPDATE or FOR SHARE locks rows", "leave it out");
    // Names of WITH are tables within the query that has it, and nowhere else.
    const std::size_t known = names_.size();
    Result<void> looked;
    if (const json::value* with = node.if_contains("withClause"); with != nullptr)
      looked = look_at_with(*with);
    for (const auto& [key, value] : node) {
      if (!looked) break;
      if (key == "withClause") continue;
      if (key == "typeName") looked = look_at_type(value);
      if (looked && key[0] >= 'A' && key[0] <= 'Z') looked = look_at_kind(key, value);
      if (looked) looked = look(value);
    }
    names_.resize(known);
    return looked;
  }

  Result<void> look_at_with(const json::value& with) {
    const json::object* clause = with.if_object();
    const json::value* list = clause != nullptr ? clause->if_contains("ctes") : nullptr;
    if (list == nullptr || !list->is_array()) return refuse("WITH is not understood");
    const auto name_of = [](const json::value& cte) {
      const json::value* inner =
          cte.is_object() ? cte.get_object().if_contains("CommonTableExpr") : nullptr;
      return std::string(inner != nullptr && inner->is_object()
                             ? text_at(inner->get_object(), "ctename")
                             : std::string_view());
    };
    const bool recursive = clause->contains("recursive");
    if (recursive)
      for (const json::value& cte : list->get_array())
        names_.push_back(name_of(cte));
    // Without RECURSIVE a name is there for those that come after it.
    for (const json::value& cte : list->get_array()) {
      if (auto looked = look(cte); !looked) return looked;
      if (!recursive) names_.push_back(name_of(cte));
    }
    return {};
  }

  Result<void> look_at_kind(std::string_view kind, const json::value& value) {
    if (!std::ranges::binary_search(kNodes, kind)) {
      if (kind.ends_with("Stmt"))
        return refuse("this tool runs queries only, and no " +
                      quoted(folded_kind(kind.substr(0, kind.size() - 4))));
      return refuse("the query has something in it that this tool does not know: " + quoted(kind));
    }
    const json::object* node = value.if_object();
    if (node == nullptr) return {};
    if (kind == "RangeVar") return look_at_table(*node);
    if (kind == "FuncCall") return look_at_function(*node);
    if (kind == "TypeName") return look_at_type(value);
    if (kind == "A_Expr") return look_at_operator(*node);
    if (kind == "A_Indirection") return look_at_selection(*node);
    if (kind == "ColumnRef") note_name(*node);
    return {};
  }

  static std::string folded_kind(std::string_view kind) {
    std::string text(kind);
    for (char& c : text)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return text;
  }

  Result<void> look_at_table(const json::object& node) const {
    const std::string_view catalog = text_at(node, "catalogname");
    const std::string_view schema = text_at(node, "schemaname");
    const std::string_view name = text_at(node, "relname");
    if (catalog.empty() && schema.empty() && std::ranges::find(names_, name) != names_.end())
      return {};
    if (catalog.empty() && may_read_(schema, name)) return {};
    return refuse(
        "there is no table " +
            quoted((schema.empty() ? "" : std::string(schema) + ".") + std::string(name)) +
            " that this tool may read",
        "action list_tables tells what may be read");
  }

  static Result<void> look_at_function(const json::object& node) {
    const Name function = name_at(node, "funcname");
    if (function.good && is_own_schema(function.schema) && is_known_function(function.name))
      return {};
    return refuse("the function " + quoted(function.name) + " is not available",
                  "there are the usual functions of PostgreSQL on numbers, text, dates, arrays and "
                  "JSON, its aggregates and its window functions");
  }

  // 'orders'::regclass asks the catalogue, with no table in sight.
  static Result<void> look_at_type(const json::value& value) {
    const json::object* node = value.if_object();
    const Name type = node != nullptr ? name_at(*node, "names") : Name{};
    if (type.good && is_own_schema(type.schema) && is_known_type(type.name)) return {};
    return refuse("the type " + quoted(type.name) + " is not available",
                  "there are the types that data is made of");
  }

  // (x).f is f(x), whatever f is; x[1] is not.
  static Result<void> look_at_selection(const json::object& node) {
    const json::value* parts = node.if_contains("indirection");
    const json::array* list = parts != nullptr ? parts->if_array() : nullptr;
    const auto is_index = [](const json::value& part) {
      return part.is_object() && part.get_object().contains("A_Indices");
    };
    if (list != nullptr && std::ranges::all_of(*list, is_index)) return {};
    return refuse("a part of a value is asked for as (value).part, which is not available",
                  "name the columns: table.column");
  }

  void note_name(const json::object& node) {
    const json::value* parts = node.if_contains("fields");
    const json::array* list = parts != nullptr ? parts->if_array() : nullptr;
    if (list == nullptr || list->size() < 2 || !list->back().is_object()) return;
    const json::value* last = list->back().get_object().if_contains("String");
    if (last != nullptr && last->is_object())
      behind_dots.emplace(text_at(last->get_object(), "sval"));
  }

  static Result<void> look_at_operator(const json::object& node) {
    const Name name = name_at(node, "name");
    if (name.good && is_own_schema(name.schema)) return {};
    return refuse("the operator is not available", "write operators without a schema");
  }

  const MayRead& may_read_;
  std::vector<std::string> names_;  // of WITH, in sight
};

std::string place_of(std::string_view query, int position) {
  std::size_t line = 1, column = 1;
  const auto end = std::min(query.size(), static_cast<std::size_t>(std::max(position - 1, 0)));
  for (const char c : query.substr(0, end)) {
    ++column;
    if (c == '\n') ++line, column = 1;
  }
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

}  // namespace

Result<std::set<std::string>> screen_query(std::string_view query, const MayRead& may_read) {
  if (query.size() > kLongestQuery)
    return refuse("the query has " + std::to_string(query.size()) + " bytes",
                  "the longest has " + std::to_string(kLongestQuery) +
                      "; long values go into "
                      "`params`");
  if (query.contains('\0')) return refuse("the query has a NUL character in it", "leave it out");
  const FreeTree tree{::pg_query_parse(std::string(query).c_str())};
  if (const PgQueryError* error = tree.result.error)
    return refuse("the query is not right: " + to_utf8(error->message) + " (" +
                      place_of(query, error->cursorpos) + ")",
                  "write one SELECT as PostgreSQL understands it");
  if (tree.result.parse_tree == nullptr) return refuse("the query cannot be read");
  const auto parsed = parse_json(tree.result.parse_tree, kTreeLimits);
  if (!parsed) return refuse("the query is nested too deeply", "write it with fewer levels");
  const json::object* root = parsed->if_object();
  const json::value* statements = root != nullptr ? root->if_contains("stmts") : nullptr;
  const json::array* list = statements != nullptr ? statements->if_array() : nullptr;
  if (list == nullptr || list->empty()) return refuse("the query is empty", "write one SELECT");
  if (list->size() != 1)
    return refuse("there are " + std::to_string(list->size()) + " statements", "write one");
  const json::object* statement = list->front().if_object();
  const json::value* inner = statement != nullptr ? statement->if_contains("stmt") : nullptr;
  if (inner == nullptr) return refuse("the query is empty", "write one SELECT");
  Screen screen(may_read);
  if (auto looked = screen.look(*inner); !looked) return std::unexpected(std::move(looked.error()));
  return std::move(screen.behind_dots);
}

}  // namespace sallyport
