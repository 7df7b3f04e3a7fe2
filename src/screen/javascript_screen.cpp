// What a JavaScript program does, from what its expressions may be.
#include <algorithm>

#include "base/text.h"
#include "screen/javascript_reader.h"

namespace sallyport {
namespace {

using Match = NameRow::Match;

constexpr std::string_view kOnlyLooks[] = {
    "log",         "info",          "warn",       "error",    "debug",   "startsWith", "endsWith",
    "includes",    "replace",       "replaceAll", "split",    "indexOf", "match",      "test",
    "Error",       "get",           "post",       "put",      "use",     "push",       "route",
    "lastIndexOf", "localeCompare", "TypeError",  "describe", "it",      "expect",     "toBe",
    "toEqual",     "has",           "set",        "add"};

template <std::size_t N>
bool among(const std::string_view (&list)[N], std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

}  // namespace

JavascriptReader::JavascriptReader(const SyntaxTree& tree, CodeReading reading)
    : tree_(tree), reading_(reading), memo_at_(tree.size(), 0) {}

void JavascriptReader::report(ScreenKind kind, NodeId id, std::string why) {
  if (reading_.within) why.append(" (in code within a string)");
  reading_.report.add(kind, reading_.within.value_or(span(id)), std::move(why));
}

void JavascriptReader::report_name(const NameRow& row, NodeId id, const std::string& path) {
  report(row.kind, id, escape_for_terminal(path) + " " + std::string(what_of(row.kind)));
}

NodeId JavascriptReader::callee_of(NodeId call) const {
  const NodeId function = tree_.child(call, Field::function);
  return function == kNoNode ? tree_.child(call, Field::constructor) : function;
}

NodeId JavascriptReader::argument(NodeId call, std::size_t at) const {
  const NodeId list = tree_.child(call, Field::arguments);
  if (list == kNoNode) return kNoNode;
  if (tree_.kind(list) == Kind::template_string) return at == 0 ? list : kNoNode;
  for (NodeId part = tree_[list].first; part != kNoNode; part = tree_[part].next)
    if (tree_[part].named && at-- == 0) return part;
  return kNoNode;
}

void JavascriptReader::read() {
  bind_all();
  for (NodeId id = 0; id < tree_.size(); ++id)
    check(id);
  if (exhausted_ || !reading_.report.spend_step())
    report(ScreenKind::dynamic, 0, "the code is too tangled to be followed");
}

bool JavascriptReader::is_loaded(NodeId id) const {
  const SyntaxNode& node = tree_[id];
  switch (tree_.kind(node.parent)) {
    case Kind::member_expression:
    case Kind::import_specifier:
    case Kind::import_clause:
    case Kind::namespace_import:
    case Kind::formal_parameters:
    case Kind::array_pattern:
    case Kind::rest_pattern:
    case Kind::pair_pattern:
    case Kind::catch_clause:
      return false;
    case Kind::subscript_expression:
      return node.field == Field::index;
    case Kind::call_expression:
      return node.field != Field::function;
    case Kind::new_expression:
      return node.field != Field::constructor;
    case Kind::variable_declarator:
    case Kind::function_declaration:
    case Kind::function_expression:
    case Kind::class_declaration:
      return node.field != Field::name;
    case Kind::assignment_expression:
    case Kind::assignment_pattern:
    case Kind::for_in_statement:
      return node.field != Field::left;
    case Kind::arrow_function:
      return node.field != Field::parameter;
    case Kind::unary_expression:  // typeof fetch
      return false;
    case Kind::binary_expression: {
      // What is compared is not run; what is chosen by || or && may be.
      for (NodeId part = tree_[node.parent].first; part != kNoNode; part = tree_[part].next) {
        const std::string_view sign = tree_[part].named ? "" : tree_.text(part);
        if (sign == "||" || sign == "&&" || sign == "??") return true;
      }
      return false;
    }
    default:
      return true;
  }
}

void JavascriptReader::check_module(NodeId id, const std::string& name) {
  const std::string path = javascript_path(name);
  const NameRow* row = javascript_names().find(path);
  if (row != nullptr &&
      (row->match == Match::below || (row->match == Match::exact && path != "fs")))
    report(row->kind, id,
           "imports " + escape_for_terminal(path) + ", which " + std::string(what_of(row->kind)));
}

void JavascriptReader::check(NodeId id) {
  switch (tree_.kind(id)) {
    case Kind::import_statement:
    case Kind::export_statement: {
      const NodeId source = tree_.child(id, Field::source);
      if (source == kNoNode) break;
      if (const auto name = text_of(value(source))) {
        check_module(id, *name);
        std::vector<NodeId> parts = tree_.named(id);
        while (!parts.empty()) {
          const NodeId part = parts.back();
          parts.pop_back();
          if (tree_.kind(part) == Kind::import_specifier)
            check_module(id, *name + "." + identifier(tree_.child(part, Field::name)));
          else if (tree_.kind(part) == Kind::import_clause ||
                   tree_.kind(part) == Kind::named_imports)
            for (const NodeId inner : tree_.named(part))
              parts.push_back(inner);
        }
      }
      break;
    }
    case Kind::call_expression:
    case Kind::new_expression:
      check_call(id);
      check_reference(id);
      break;
    case Kind::identifier:
    case Kind::shorthand_property_identifier:
    case Kind::member_expression:
      check_reference(id);
      break;
    case Kind::shorthand_property_identifier_pattern:
    case Kind::pair_pattern: {
      // const {exec: run} = require('child_process')
      const NodeId name = tree_.kind(id) == Kind::pair_pattern ? tree_.child(id, Field::value) : id;
      if (tree_.kind(name) != Kind::identifier && name != id) break;
      for (const CodeRef& one : look_up(identifier(name), scope_of_[id]))
        if (one->kind == CodeValue::Kind::name && !one->text.ends_with("()"))
          if (const NameRow* row = javascript_names().find(one->text);
              row != nullptr && row->path != one->text.substr(0, one->text.find('.')))
            report_name(*row, id, one->text);
      break;
    }
    case Kind::subscript_expression: {
      check_reference(id);
      const NodeId index = tree_.child(id, Field::index);
      const CodeValues key = value(index);
      if (text_of(key) != nullptr || first_of(key, CodeValue::Kind::number) != nullptr) break;
      for (const CodeRef& one : value(tree_.child(id, Field::object)))
        if (one->kind == CodeValue::Kind::name && !one->text.contains("()") &&
            !one->text.starts_with('?') &&
            (one->text == "globalThis" || javascript_names().has_below(one->text)))
          report(ScreenKind::dynamic, id, "takes a computed name of " + one->text);
      break;
    }
    default:
      break;
  }
}

void JavascriptReader::check_reference(NodeId id) {
  if (!is_loaded(id)) return;
  for (const CodeRef& one : value(id)) {
    if (one->kind != CodeValue::Kind::name || one->text.ends_with("()")) continue;
    const NameRow* row = javascript_names().find(one->text);
    if (row == nullptr || (row->match != Match::exact && row->path == one->text)) continue;
    report_name(*row, id, one->text);
  }
}

void JavascriptReader::check_call(NodeId id) {
  const NodeId callee = callee_of(id);
  std::string method;
  if (tree_.kind(callee) == Kind::member_expression)
    method = identifier(tree_.child(callee, Field::property));
  if (tree_.kind(callee) == Kind::import)
    report(ScreenKind::dynamic_import, id, "import() loads a module while it runs");
  for (const CodeRef& function : value(callee))
    if (function->kind == CodeValue::Kind::name)
      check_named_call(id, function->text, method == "call" || method == "apply" ? 1 : 0);
  check_paths(id, method.empty() ? tree_.text(callee) : std::string_view(method));
}

void JavascriptReader::check_paths(NodeId id, std::string_view callee) {
  if (among(kOnlyLooks, callee)) return;
  const NodeId list = tree_.child(id, Field::arguments);
  if (tree_.kind(list) != Kind::arguments) return;
  for (NodeId part = tree_[list].first; part != kNoNode; part = tree_[part].next)
    if (tree_[part].named)
      for (const CodeRef& one : value(part))
        if (one->kind == CodeValue::Kind::text && is_system_path(one->text)) {
          report(ScreenKind::system_path, part, quoted(one->text) + " is a file of the system");
          break;
        }
}

void JavascriptReader::check_named_call(NodeId id, const std::string& path, std::size_t skip) {
  const NodeId callee = callee_of(id);
  const auto given = [&](std::size_t at) { return value(argument(id, at + skip)); };
  if (path == "require") {
    if (const auto name = text_of(given(0)))
      check_module(id, *name);
    else
      report(ScreenKind::dynamic_import, id, "loads a module by a computed name");
    return;
  }
  if (path == "Reflect.apply" || path == "Reflect.construct") {
    for (const CodeRef& one : given(0))
      if (one->kind == CodeValue::Kind::name)
        if (const NameRow* row = javascript_names().find(one->text))
          report_name(*row, id, one->text);
    return;
  }
  if (path == "Reflect.get" || path == "Object.getOwnPropertyDescriptor") {
    if (!given(1).empty()) return;
    for (const CodeRef& one : given(0))
      if (one->kind == CodeValue::Kind::name &&
          (one->text == "globalThis" || javascript_names().has_below(one->text)))
        report(ScreenKind::dynamic, id, "takes a computed name of " + one->text);
    return;
  }
  if (path == "setTimeout" || path == "setInterval" || path == "setImmediate") {
    const NodeId code = argument(id, skip);
    if (const auto text = text_of(value(code))) {
      report(ScreenKind::dynamic_code, callee, path + " runs text as code");
      read_inner(*text, Language::javascript, reading_, span(id));
    } else if (tree_.kind(code) == Kind::binary_expression ||
               tree_.kind(code) == Kind::template_string) {
      report(ScreenKind::dynamic_code, callee, path + " runs text as code");
    }
    return;
  }
  if (path == "fs.open") {
    const NodeId flags = argument(id, skip + 1);
    const CodeValues values = value(flags);
    if (const auto text = text_of(values)) {
      if (text->find_first_of("wa+") != std::string::npos)
        report(ScreenKind::file_write, callee, "opens a file for writing");
    } else if (flags != kNoNode && tree_.kind(flags) != Kind::arrow_function &&
               tree_.kind(flags) != Kind::function_expression &&
               first_of(values, CodeValue::Kind::function) == nullptr) {
      report(ScreenKind::dynamic, id, "opens a file in a way that only the run decides");
    }
    return;
  }
  const NameRow* row = javascript_names().find(path);
  if (row == nullptr) return;
  report_name(*row, callee, path);
  const CodeSpan at = span(id);
  if (row->kind == ScreenKind::dynamic_code) {
    // The last argument of Function is its body.
    for (std::size_t i = 0; i < 8; ++i)
      for (const CodeRef& one : given(i))
        if (one->kind == CodeValue::Kind::text && one->text.size() > 3) {
          const bool body = path == "Function";
          read_inner(body ? "(function(){" + one->text + "\n})" : one->text, Language::javascript,
                     reading_, at);
        }
  } else if (path == "child_process.exec") {
    if (const auto text = text_of(given(0))) read_inner(*text, Language::shell, reading_, at);
  } else if (path.starts_with("child_process.")) {
    const auto program = text_of(given(0));
    if (program == nullptr) return;
    if (tree_.text(id).contains("shell: true") || tree_.text(id).contains("shell:true"))
      report(ScreenKind::os_command, callee, path + " runs a command in a shell");
    std::vector<std::string> words{*program};
    if (const CodeRef list = first_of(given(1), CodeValue::Kind::list))
      for (const CodeValues& item : list->items) {
        const auto word = text_of(item);
        words.push_back(word == nullptr ? "" : *word);
      }
    read_command(words, reading_, at);
  }
}

void screen_javascript(const SyntaxTree& tree, const CodeReading& reading) {
  JavascriptReader(tree, reading).read();
}

}  // namespace sallyport
