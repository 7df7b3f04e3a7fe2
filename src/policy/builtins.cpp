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
    {Builtin::list_files, "list_files",
     R"({"path": {"type": "string", "minLength": 1, "maxLength": 4096, "default": ".",
                  "description": "The directory to list."},
         "recursive": {"type": "boolean", "default": false,
                       "description": "List the directories within it too."}})"},
    {Builtin::http_fetch, "http_fetch",
     R"({"url": {"type": "url", "description": "What to fetch."},
         "method": {"type": "string", "enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
                    "default": "GET", "description": "The HTTP method."}})"},
    {Builtin::sql, "sql",
     R"({"query": {"type": "string", "minLength": 1, "maxLength": 20000, "multiline": true,
                   "description": "One SQL statement, with ? where a parameter goes."},
         "params": {"type": "array", "maxItems": 100,
                    "items": {"type": ["string", "number", "boolean", "null"],
                              "maxLength": 10000},
                    "default": [], "description": "The parameters, in order."}})"},
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
