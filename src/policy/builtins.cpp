// The tools that Sallyport brings, with their arguments.
#include <algorithm>

#include "policy/load.h"

namespace sallyport {
namespace {

struct BuiltinText {
  Builtin builtin;
  std::string_view name;
  std::string_view args;  // as in the policy file
};

constexpr std::string_view kCode =
    R"({"code": {"type": "string", "minLength": 1, "maxLength": 100000, "multiline": true,
                 "description": "The program text."}})";

// File paths are resolved inside the cell, by the tool itself: to the gates they are strings.
constexpr BuiltinText kBuiltins[] = {
    {Builtin::run_python, "run_python", kCode},
    {Builtin::run_javascript, "run_javascript", kCode},
    {Builtin::run_shell, "run_shell", kCode},
    {Builtin::run_command, "run_command",
     R"({"command": {"type": "command",
                     "description": "One command and its arguments; no pipes, no redirection."}})"},
    {Builtin::read_file, "read_file",
     R"({"path": {"type": "string", "minLength": 1, "maxLength": 4096,
                  "description": "The file to read."},
         "offset": {"type": "integer", "minimum": 0, "default": 0,
                    "description": "Bytes to skip at the beginning."},
         "length": {"type": "integer", "minimum": 1, "optional": true,
                    "description": "How many bytes to read at most."}})"},
    {Builtin::write_file, "write_file",
     R"({"path": {"type": "string", "minLength": 1, "maxLength": 4096,
                  "description": "The file to write."},
         "content": {"type": "string", "maxLength": 1000000, "multiline": true,
                     "description": "What it is to hold."},
         "append": {"type": "boolean", "default": false,
                    "description": "Add to the end instead of replacing the file."}})"},
    {Builtin::edit_file, "edit_file",
     R"({"path": {"type": "string", "minLength": 1, "maxLength": 4096,
                  "description": "The text file to change."},
         "old": {"type": "string", "minLength": 1, "maxLength": 100000, "multiline": true,
                 "description": "The text to replace, exactly as it stands in the file; it must be there once only."},
         "new": {"type": "string", "maxLength": 1000000, "multiline": true,
                 "description": "What to put in its place; empty removes it."},
         "all": {"type": "boolean", "default": false,
                 "description": "Replace it wherever it stands."}})"},
    {Builtin::list_files, "list_files",
     R"({"path": {"type": "string", "minLength": 1, "maxLength": 4096, "default": ".",
                  "description": "The directory to list."},
         "recursive": {"type": "boolean", "default": false,
                       "description": "List the directories within it too."}})"},
    {Builtin::search_files, "search_files",
     R"({"pattern": {"type": "string", "minLength": 1, "maxLength": 1000,
                     "description": "The text to look for, within one line."},
         "path": {"type": "string", "minLength": 1, "maxLength": 4096, "default": ".",
                  "description": "The directory, or the one file, to search."},
         "regex": {"type": "boolean", "default": false,
                   "description": "The pattern is a regular expression (RE2)."},
         "ignore_case": {"type": "boolean", "default": false,
                         "description": "Capitals and small letters are the same."},
         "names": {"type": "string", "minLength": 1, "maxLength": 1000, "optional": true,
                   "description": "A glob of the files to search, such as *.py or src/**/*.h."},
         "context": {"type": "integer", "minimum": 0, "maximum": 10, "default": 0,
                     "description": "How many lines to show before and after each match."}})"},
    {Builtin::http_fetch, "http_fetch",
     R"({"url": {"type": "url", "maxLength": 2048, "description": "What to fetch."},
         "method": {"type": "string", "enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
                    "default": "GET", "description": "The HTTP method."},
         "headers": {"type": "object", "maxProperties": 50,
                     "additionalProperties": {"type": "string", "maxLength": 4000}, "default": {},
                     "description": "Headers of the request, such as Accept."},
         "body": {"type": "string", "maxLength": 1000000, "multiline": true, "optional": true,
                  "description": "What is sent; not with GET and HEAD."},
         "text": {"type": "boolean", "default": false,
                  "description": "A page of HTML comes back as plain text."}})"},
    {Builtin::sql, "sql",
     R"({"query": {"type": "string", "minLength": 1, "maxLength": 20000, "multiline": true,
                   "optional": true,
                   "description": "One SELECT; a parameter is ? or :name (SQLite), $1 (PostgreSQL)."},
         "params": {"type": ["array", "object"], "maxItems": 100, "maxProperties": 100,
                    "items": {"type": ["string", "number", "boolean", "null"],
                              "maxLength": 10000},
                    "additionalProperties": {"type": ["string", "number", "boolean", "null"],
                                             "maxLength": 10000},
                    "default": [],
                    "description": "The parameters: a list for ?, an object for :name."},
         "format": {"type": "string", "enum": ["rows", "json", "csv"], "default": "rows",
                    "description": "rows: a list for each row; json: an object for each; csv."},
         "action": {"type": "string", "enum": ["query", "list_tables", "describe_table"],
                    "default": "query",
                    "description": "list_tables and describe_table tell what may be read."},
         "table": {"type": "string", "minLength": 1, "maxLength": 127, "optional": true,
                   "description": "The table to describe."}})"},
};

std::vector<Argument> compile(std::string_view args) {
  const auto value = parse_json(args);
  if (!value) return {};
  auto compiled = compile_arguments(value->get_object(), "args");
  return compiled ? std::move(*compiled) : std::vector<Argument>();
}

}  // namespace

std::string_view name_of(Builtin builtin) {
  return std::ranges::find(kBuiltins, builtin, &BuiltinText::builtin)->name;
}

std::optional<Builtin> find_builtin(std::string_view name) {
  const auto found = std::ranges::find(kBuiltins, name, &BuiltinText::name);
  return found == std::end(kBuiltins) ? std::nullopt : std::optional(found->builtin);
}

std::span<const std::string_view> builtin_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const BuiltinText& row : kBuiltins)
      list.push_back(row.name);
    return list;
  }();
  return names;
}

const std::vector<Argument>& arguments_of(Builtin builtin) {
  static const std::map<Builtin, std::vector<Argument>> compiled = [] {
    std::map<Builtin, std::vector<Argument>> map;
    for (const BuiltinText& row : kBuiltins)
      map.emplace(row.builtin, compile(row.args));
    return map;
  }();
  return compiled.at(builtin);
}

}  // namespace sallyport
