// What a Python program does, from what its expressions may be.
#include <algorithm>

#include "base/text.h"
#include "screen/python_reader.h"

namespace sallyport {
namespace {

using Match = NameRow::Match;

// Calls that only look at a text: a path in them is a word.
constexpr std::string_view kOnlyLooks[] = {"startswith",
                                           "endswith",
                                           "replace",
                                           "split",
                                           "rsplit",
                                           "find",
                                           "index",
                                           "count",
                                           "strip",
                                           "lstrip",
                                           "rstrip",
                                           "print",
                                           "len",
                                           "format",
                                           "match",
                                           "search",
                                           "sub",
                                           "fullmatch",
                                           "findall",
                                           "compile",
                                           "debug",
                                           "info",
                                           "warning",
                                           "error",
                                           "critical",
                                           "exception",
                                           "log",
                                           "route",
                                           "removeprefix",
                                           "removesuffix",
                                           "add_argument",
                                           "join",
                                           "append",
                                           "add",
                                           "str",
                                           "repr",
                                           "isinstance",
                                           "sorted",
                                           "set",
                                           "assertEqual",
                                           "assertIn",
                                           "eq",
                                           "partition",
                                           "rpartition",
                                           "encode",
                                           "PurePosixPath",
                                           "ValueError",
                                           "RuntimeError",
                                           "Exception",
                                           "PermissionError",
                                           "FileNotFoundError",
                                           "help"};

constexpr std::string_view kOpeners[] = {
    "builtins.open",   "io.open",       "codecs.open",   "gzip.open",     "bz2.open",
    "lzma.open",       "os.fdopen",     "builtins.file", "io.FileIO",     "tarfile.open",
    "zipfile.ZipFile", "gzip.GzipFile", "bz2.BZ2File",   "lzma.LZMAFile", "tarfile.TarFile",
    "aiofiles.open",   "io.open_code"};

template <std::size_t N>
bool among(const std::string_view (&list)[N], std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

std::string last_part(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return std::string(dot == std::string_view::npos ? path : path.substr(dot + 1));
}

}  // namespace

PythonReader::PythonReader(const SyntaxTree& tree, CodeReading reading)
    : tree_(tree), reading_(reading), memo_at_(tree.size(), 0) {}

void PythonReader::report(ScreenKind kind, NodeId id, std::string why) {
  const CodeSpan at = reading_.within.value_or(span(id));
  if (reading_.within) why.append(" (in code within a string)");
  reading_.report.add(kind, at, std::move(why));
}

void PythonReader::report_name(const NameRow& row, NodeId id, const std::string& path) {
  std::string shown = path.starts_with("builtins.") ? path.substr(9) : path;
  report(row.kind, id,
         escape_for_terminal(shown) + " " +
             std::string(kScreenCategories[static_cast<std::size_t>(row.kind)].what));
}

NodeId PythonReader::argument(NodeId call, std::size_t at, std::string_view keyword) const {
  std::size_t next = 0;
  const NodeId list = tree_.child(call, Field::arguments);
  if (tree_.kind(list) == Kind::generator_expression) return at == 0 ? list : kNoNode;
  if (list == kNoNode) return kNoNode;
  for (NodeId part = tree_[list].first; part != kNoNode; part = tree_[part].next) {
    if (!tree_[part].named) continue;
    if (tree_.kind(part) == Kind::keyword_argument) {
      if (!keyword.empty() && identifier(tree_.child(part, Field::name)) == keyword)
        return tree_.child(part, Field::value);
      continue;
    }
    if (next++ == at) return part;
  }
  return kNoNode;
}

void PythonReader::read() {
  check_encoding();
  bind_all();
  for (NodeId id = 0; id < tree_.size(); ++id)
    check(id);
  if (exhausted_ || !reading_.report.spend_step())
    report(ScreenKind::dynamic, 0, "the code is too tangled to be followed");
}

// A comment in the first two lines says in which encoding the file is read: in utf-7 or rot13 it is
// another program.
void PythonReader::check_encoding() {
  std::string_view rest = tree_.code();
  for (int line = 0; line < 2 && !rest.empty(); ++line) {
    std::string_view text = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(text.size() + 1, rest.size()));
    const std::size_t hash = text.find_first_not_of(" \t\f");
    if (hash == std::string_view::npos || text[hash] != '#') continue;
    const std::size_t at = text.find("coding");
    if (at == std::string_view::npos) continue;
    text.remove_prefix(at + 6);
    if (!text.starts_with(':') && !text.starts_with('=')) continue;
    text.remove_prefix(1);
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    const std::string_view name =
        text.substr(0, text.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."));
    std::string plain;
    for (const char c : name)
      if (c != '-' && c != '_')
        plain.push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c));
    if (plain != "utf8" && plain != "ascii" && plain != "latin1" && plain != "utf8sig" &&
        !plain.starts_with("iso8859") && plain != "usascii" && !plain.empty())
      report(ScreenKind::dynamic, 0,
             "the encoding " + quoted(name) + " makes another program of this text");
  }
}

bool PythonReader::is_loaded(NodeId id) const {
  const SyntaxNode& node = tree_[id];
  const NodeId up = node.parent;
  switch (tree_.kind(up)) {
    case Kind::attribute:  // os in os.system; the name behind the dot
      return false;
    case Kind::call:
      return node.field != Field::function;
    case Kind::subscript:
      return node.field != Field::value;
    case Kind::keyword_argument:
      return node.field == Field::value;
    case Kind::assignment:
    case Kind::augmented_assignment:
    case Kind::for_statement:
    case Kind::for_in_clause:
      return node.field != Field::left;
    case Kind::named_expression:
    case Kind::function_definition:
    case Kind::class_definition:
    case Kind::default_parameter:
    case Kind::typed_default_parameter:
      return node.field != Field::name;
    case Kind::dotted_name:
    case Kind::aliased_import:
    case Kind::parameters:
    case Kind::lambda_parameters:
    case Kind::typed_parameter:
    case Kind::pattern_list:
    case Kind::tuple_pattern:
    case Kind::list_pattern:
    case Kind::list_splat_pattern:
    case Kind::dictionary_splat_pattern:
    case Kind::as_pattern_target:
    case Kind::global_statement:
    case Kind::nonlocal_statement:
    case Kind::comparison_operator:  // `f is eval` runs nothing
      return false;
    case Kind::parenthesized_expression:
      return is_loaded(up);
    default:
      return true;
  }
}

void PythonReader::check(NodeId id) {
  switch (tree_.kind(id)) {
    case Kind::import_statement:
    case Kind::import_from_statement:
      check_import(id);
      break;
    case Kind::call:
      check_call(id);
      check_reference(id);
      break;
    case Kind::attribute: {
      const std::string name = identifier(tree_.child(id, Field::attribute));
      // super().__getattribute__ and friends are how classes are written.
      const std::string_view object = tree_.text(tree_.child(id, Field::object));
      if (is_reflective(name) && object != "super()" && object != "object")
        report(ScreenKind::reflection, id, name + " reaches into the interpreter");
      check_reference(id);
      break;
    }
    case Kind::identifier:
      if (tree_.text(id) == "__builtins__" && find_name("__builtins__", 0) == nullptr)
        report(ScreenKind::reflection, id, "__builtins__ reaches every function of the language");
      check_reference(id);
      break;
    case Kind::subscript:
      check_index(id);
      check_reference(id);
      break;
    case Kind::string_start:
      // A string to the grammar, which reads Python 2 as well; an error to Python.
      if (tree_.text(id).ends_with('`') && !reading_.within)
        reading_.report.set_syntax_error(tree_[id].begin, "back quotes are not Python");
      break;
    case Kind::exec_statement:
      report(ScreenKind::dynamic_code, id, "exec runs text as code");
      break;
    default:
      break;
  }
}

void PythonReader::check_import(NodeId id) {
  const NodeId from = tree_.child(id, Field::module_name);
  if (tree_.kind(from) == Kind::relative_import) return;
  const std::string module = from == kNoNode ? "" : dotted(from);
  const auto look_at = [&](const std::string& written, bool as_module) {
    const std::string path = python_path(written);
    const NameRow* row = python_names().find(path);
    if (row == nullptr) return;
    if (as_module && row->match != Match::below) return;
    // What is imported quietly counts when it is used.
    if (!as_module && row->match == Match::quietly && path == row->path) return;
    report(row->kind, id,
           "imports " + escape_for_terminal(path) + ", which " +
               std::string(kScreenCategories[static_cast<std::size_t>(row->kind)].what));
  };
  for (const NodeId part : tree_.named(id)) {
    if (part == from) continue;
    const Kind kind = tree_.kind(part);
    if (kind == Kind::wildcard_import) {
      look_at(module, true);
      continue;
    }
    const std::string name =
        dotted(kind == Kind::aliased_import ? tree_.child(part, Field::name) : part);
    if (name.empty()) continue;
    if (from == kNoNode)
      look_at(name, true);
    else
      look_at(module + "." + name, false);
  }
}

void PythonReader::check_reference(NodeId id) {
  if (!is_loaded(id)) return;
  for (const CodeRef& one : value(id)) {
    if (one->kind != CodeValue::Kind::name || one->text.ends_with("()")) continue;
    const NameRow* row = python_names().find(one->text);
    if (row == nullptr || (row->match != Match::exact && row->path == one->text)) continue;
    report_name(*row, id, one->text);
  }
}

void PythonReader::check_index(NodeId id) {
  const CodeValues key = value(tree_.child(id, Field::subscript));
  if (const auto text = text_of(key)) {
    if (is_reflective(*text))
      report(ScreenKind::reflection, id, *text + " reaches into the interpreter");
    return;
  }
  if (tree_[id].field == Field::left) return;
  for (const CodeRef& one : value(tree_.child(id, Field::value))) {
    const bool names = one->kind == CodeValue::Kind::names;
    const bool module = one->kind == CodeValue::Kind::name &&
                        (one->text == "sys.modules" || one->text == "builtins" ||
                         (one->text.ends_with(".__dict__") &&
                          python_names().has_below(one->text.substr(0, one->text.size() - 9))));
    if (names || module) report(ScreenKind::dynamic, id, "takes what a computed name stands for");
  }
}

void PythonReader::check_call(NodeId id) {
  const NodeId callee = tree_.child(id, Field::function);
  const std::string_view text = tree_.text(callee);
  std::string method;
  if (tree_.kind(callee) == Kind::attribute)
    method = identifier(tree_.child(callee, Field::attribute));
  const CodeValues functions = value(callee);
  for (const CodeRef& function : functions) {
    if (function->kind == CodeValue::Kind::name) check_named_call(id, function->text);
    if (function->kind == CodeValue::Kind::getter)
      for (const CodeRef& one : member(value(argument(id, 0)), function->text))
        if (one->kind == CodeValue::Kind::name) check_named_call(id, one->text);
  }
  // Event loops have these, however they were come by.
  if (method == "subprocess_exec" || method == "subprocess_shell")
    report(ScreenKind::process, callee, "." + method + " starts a process");
  check_url(id, functions);
  // Nothing but a path has these.
  if (functions.empty() && (method == "write_text" || method == "write_bytes"))
    report(ScreenKind::file_write, callee, "." + method + " writes a file");
  if (functions.empty() && (method == "symlink_to" || method == "hardlink_to"))
    report(ScreenKind::file_system, callee, "." + method + " makes a link");
  if ((method == "to_csv" || method == "to_excel" || method == "to_parquet" ||
       method == "to_pickle" || method == "to_feather" || method == "savefig") &&
      text_of(value(argument(id, 0))) != nullptr)
    report(ScreenKind::file_write, callee, "." + method + " writes a file");
  check_paths(id, method.empty() ? last_part(text) : method);
}

// pandas.read_csv('https://...'): a reader of files that is given an address.
void PythonReader::check_url(NodeId id, const CodeValues& functions) {
  const auto text = text_of(value(argument(id, 0)));
  if (text == nullptr || text->size() > 4096) return;
  if (!text->starts_with("http://") && !text->starts_with("https://") &&
      !text->starts_with("ftp://") && !text->starts_with("s3://"))
    return;
  for (const CodeRef& function : functions) {
    if (function->kind != CodeValue::Kind::name) continue;
    const std::string name = last_part(function->text);
    for (const std::string_view reader :
         {"read", "load", "open", "download", "fetch", "retrieve", "imread", "scan_"})
      if (name.starts_with(reader))
        report(ScreenKind::http, id,
               escape_for_terminal(function->text) + " reads from the network");
  }
}

void PythonReader::check_paths(NodeId id, std::string_view callee) {
  if (among(kOnlyLooks, callee) || tree_.kind(tree_[id].parent) == Kind::decorator) return;
  const NodeId list = tree_.child(id, Field::arguments);
  if (tree_.kind(list) != Kind::argument_list) return;
  for (NodeId part = tree_[list].first; part != kNoNode; part = tree_[part].next) {
    if (!tree_[part].named) continue;
    const NodeId given =
        tree_.kind(part) == Kind::keyword_argument ? tree_.child(part, Field::value) : part;
    for (const CodeRef& one : value(given))
      if (one->kind == CodeValue::Kind::text && is_system_path(one->text)) {
        report(ScreenKind::system_path, given, quoted(one->text) + " is a file of the system");
        break;
      }
  }
}

void PythonReader::check_open(NodeId id, std::size_t mode_at, bool always_write) {
  const NodeId callee = tree_.child(id, Field::function);
  const NodeId mode = argument(id, mode_at, "mode");
  if (mode == kNoNode) {
    const NodeId list = tree_.child(id, Field::arguments);
    const std::string_view given = tree_.text(list);
    // open(*args), open(path, **options)
    bool spread = false;
    for (const NodeId part : tree_.named(list))
      spread = spread || tree_.text(part).starts_with('*');
    if (spread) report(ScreenKind::dynamic, id, "opens a file in a way that only the run decides");
    if (always_write && !given.empty()) report(ScreenKind::file_write, callee, "writes a file");
    return;
  }
  const CodeValues modes = value(mode);
  bool writes = false;
  for (const CodeRef& one : modes)
    writes = writes || (one->kind == CodeValue::Kind::text &&
                        one->text.find_first_of("wax+") != std::string::npos);
  if (writes)
    report(ScreenKind::file_write, callee, "opens a file for writing");
  else if (modes.empty())
    report(ScreenKind::dynamic, id, "opens a file in a mode that only the run decides");
}

void PythonReader::check_named_call(NodeId id, const std::string& path) {
  const NodeId callee = tree_.child(id, Field::function);
  const auto given = [&](std::size_t at, std::string_view keyword = {}) {
    return value(argument(id, at, keyword));
  };
  const auto is_true = [&](std::string_view keyword) {
    const NodeId set = argument(id, 10'000, keyword);
    return set != kNoNode && tree_.text(set) != "False" && tree_.text(set) != "None" &&
           tree_.text(set) != "0";
  };

  if (among(kOpeners, path)) {
    check_open(id, 1, false);
    return;
  }
  if (path == "pathlib.Path().open") {
    check_open(id, 0, false);
    return;
  }
  if (path == "os.open") {
    // Every flag must be a reading one.
    bool reads = true;
    const CodeValues flags = given(1, "flags");
    for (const CodeRef& one : flags)
      reads = reads && (one->text == "os.O_RDONLY" || one->text == "os.O_CLOEXEC" ||
                        one->text == "os.O_NONBLOCK" || one->text == "os.O_DIRECTORY" ||
                        (one->kind == CodeValue::Kind::number && one->number == 0));
    if (flags.empty())
      report(ScreenKind::dynamic, id, "opens a file in a way that only the run decides");
    else if (!reads)
      report(ScreenKind::file_write, callee, "os.open opens a file for writing");
    return;
  }
  if (path == "builtins.getattr") {
    if (const auto name = text_of(given(1))) {
      if (is_reflective(*name))
        report(ScreenKind::reflection, id, *name + " reaches into the interpreter");
      return;
    }
    for (const CodeRef& of : given(0))
      if (of->kind == CodeValue::Kind::name && !of->text.contains("()") &&
          python_names().has_below(of->text))
        report(ScreenKind::dynamic, id, "takes a computed name of " + of->text);
    return;
  }
  if (path == "builtins.setattr" || path == "builtins.delattr") {
    for (const CodeRef& of : given(0))
      if (of->kind == CodeValue::Kind::name && of->text == "builtins")
        report(ScreenKind::reflection, id, "changes the functions of the language");
    return;
  }
  if (path == "yaml.load" || path == "yaml.load_all") {
    const NodeId loader = argument(id, 1, "Loader");
    const std::string name = loader == kNoNode ? "" : last_part(tree_.text(loader));
    if (!name.contains("Safe") && name != "BaseLoader" && name != "CBaseLoader")
      report(ScreenKind::deserialisation, callee, "yaml.load without a safe loader can run code");
    return;
  }
  if (path == "numpy.load") {
    if (is_true("allow_pickle"))
      report(ScreenKind::deserialisation, callee, "numpy.load with allow_pickle can run code");
    return;
  }
  if (path == "torch.load") {
    if (!is_true("weights_only"))
      report(ScreenKind::deserialisation, callee, "torch.load can run code");
    return;
  }
  if (path == "builtins.type" || path == "builtins.print") return;

  const NameRow* row = python_names().find(path);
  if (row == nullptr) return;
  report_name(*row, callee, path);

  const CodeValues first = given(0);
  const CodeSpan at = span(id);
  if (row->kind == ScreenKind::dynamic_code) {
    for (const CodeRef& one : first)
      if (one->kind == CodeValue::Kind::text) read_inner(one->text, Language::python, reading_, at);
  } else if (path == "builtins.__import__" || path == "importlib.import_module") {
    if (const auto name = text_of(given(0, "name"))) {
      const NameRow* module = python_names().find(python_path(*name));
      if (module != nullptr && module->match == Match::below)
        report_name(*module, id, python_path(*name));
    }
  } else if (row->kind == ScreenKind::os_command || row->kind == ScreenKind::process) {
    const bool shell = row->kind == ScreenKind::os_command || is_true("shell");
    if (shell && row->kind == ScreenKind::process)
      report(ScreenKind::os_command, callee, path + " runs a command in a shell");
    for (const CodeRef& one : given(0, "args")) {
      if (one->kind == CodeValue::Kind::text) {
        read_inner(one->text, Language::shell, reading_, at);
      } else if (one->kind == CodeValue::Kind::list) {
        std::vector<std::string> words;
        for (const CodeValues& item : one->items) {
          const auto word = text_of(item);
          words.push_back(word == nullptr ? "" : *word);
        }
        read_command(words, reading_, at);
      }
    }
    if (path.starts_with("os.exec") || path.starts_with("os.spawn") || path.starts_with("os.posix"))
      for (const CodeRef& one : given(1))
        if (one->kind == CodeValue::Kind::list) {
          std::vector<std::string> words;
          for (const CodeValues& item : one->items)
            words.push_back(text_of(item) == nullptr ? "" : *text_of(item));
          read_command(words, reading_, at);
        }
  }
}

void screen_python(const SyntaxTree& tree, const CodeReading& reading) {
  PythonReader(tree, reading).read();
}

}  // namespace sallyport
