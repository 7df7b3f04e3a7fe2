// What the expressions of a Python program may be.
#include <algorithm>

#include "screen/python_reader.h"

namespace sallyport {
namespace {

constexpr unsigned kDeepestValue = 300;  // steps from name to name
constexpr std::string_view kPathSteps[] = {"parent",    "parents",     "joinpath",    "resolve",
                                           "absolute",  "expanduser",  "with_suffix", "with_name",
                                           "with_stem", "relative_to", "iterdir",     "glob",
                                           "rglob",     "home",        "cwd",         "readlink"};

// Paths come from paths: Path.home(), p.parent, p.joinpath(...).
std::string settle(std::string path) {
  for (const std::string_view head : {"pathlib.Path().", "pathlib.Path."}) {
    if (!path.starts_with(head)) continue;
    std::string_view rest = std::string_view(path).substr(head.size());
    if (rest.ends_with("()")) rest.remove_suffix(2);
    if (std::ranges::find(kPathSteps, rest) != std::end(kPathSteps)) return "pathlib.Path()";
  }
  return path;
}

}  // namespace

PythonReader::Name* PythonReader::find_name(std::string_view name, std::uint32_t scope) {
  const std::string key(name);
  for (bool first = true;; first = false) {
    Scope& at = scopes_[scope];
    if (first || at.of != Scope::Of::type) {
      if (at.globals.contains(key)) {
        const auto found = scopes_[0].names.find(key);
        return found == scopes_[0].names.end() ? nullptr : &found->second;
      }
      if (const auto found = at.names.find(key); found != at.names.end()) return &found->second;
    }
    if (scope == 0) return nullptr;
    scope = at.parent;
  }
}

CodeValues PythonReader::look_up(std::string_view name, std::uint32_t scope) {
  for (auto local = local_.rbegin(); local != local_.rend(); ++local)
    if (local->first == name) return {local->second};
  if (Name* found = find_name(name, scope)) return values_of(*found);
  // Scopes nest no deeper than the tree.
  for (std::uint32_t at = scope;; at = scopes_[at].parent) {
    for (const std::string& module : scopes_[at].stars) {
      std::string path = python_path(module + "." + std::string(name));
      if (python_names().find(path) != nullptr || python_names().has_below(path))
        return {name_value(std::move(path))};
    }
    if (at == 0) break;
  }
  if (name == "__builtins__" || name == "__builtin__") return {name_value("builtins")};
  if (name == "__loader__") return {name_value("importlib.loader")};
  if (is_python_builtin(name)) return {name_value("builtins." + std::string(name))};
  return {};
}

const CodeValues& PythonReader::values_of(Name& name) {
  return values_of_bindings(name, [this](const Binding& binding, const CodeValues& before) {
    return value_of(binding, before);
  });
}

CodeValues PythonReader::value_of(const Binding& binding, const CodeValues& before) {
  switch (binding.how) {
    case Binding::How::path:
      return {name_value(binding.path)};
    case Binding::How::value:
      return value(binding.node);
    case Binding::How::item:
      return item(value(binding.node), {number_value(binding.index)});
    case Binding::How::each:
      return each(value(binding.node));
    case Binding::How::augment:
      return fold_plus(before, value(tree_.child(binding.node, Field::right)));
    case Binding::How::function:
      return {make_value({.kind = CodeValue::Kind::function, .scope = binding.index})};
    case Binding::How::type:
      return {make_value({.kind = CodeValue::Kind::type, .scope = binding.index})};
    case Binding::How::unknown:
      break;
  }
  return {};
}

CodeValues PythonReader::value(NodeId id) {
  if (id == kNoNode) return {};
  if (local_.empty() && memo_at_[id] != 0) return memo_[memo_at_[id] - 1];
  if (depth_ >= kDeepestValue || !reading_.report.spend_step()) {
    exhausted_ = true;
    return {};
  }
  const bool keep = local_.empty();
  if (keep) {
    // An expression that comes back to itself is unknown.
    memo_.emplace_back();
    memo_at_[id] = static_cast<std::uint32_t>(memo_.size());
  }
  ++depth_;
  CodeValues result = work_out(id);
  --depth_;
  if (keep) memo_[memo_at_[id] - 1] = result;
  return result;
}

CodeValues PythonReader::work_out(NodeId id) {
  const SyntaxNode& node = tree_[id];
  switch (node.kind) {
    case Kind::identifier:
      return look_up(identifier(id), scope_of_[id]);
    case Kind::attribute:
      return member(value(tree_.child(id, Field::object)),
                    identifier(tree_.child(id, Field::attribute)));
    case Kind::call:
      return call_value(id);
    case Kind::string:
    case Kind::concatenated_string:
      return fold_string(id);
    case Kind::integer: {
      std::string digits;
      for (const char c : tree_.text(id))
        if (c != '_') digits.push_back(c);
      if (digits.size() > 18) return {};
      int base = 10;
      if (digits.size() > 2 && digits[0] == '0') {
        const char mark = digits[1];
        base = mark == 'x' || mark == 'X' ? 16 : mark == 'o' || mark == 'O' ? 8 : 2;
        digits.erase(0, 2);
      }
      return {number_value(std::strtoll(digits.c_str(), nullptr, base))};
    }
    case Kind::unary_operator:
    case Kind::binary_operator:
      return fold_operator(id);
    case Kind::parenthesized_expression:
    case Kind::await:
    case Kind::expression_list:
    case Kind::tuple:
    case Kind::list:
    case Kind::set: {
      const auto parts = tree_.named(id);
      if (node.kind == Kind::parenthesized_expression || node.kind == Kind::await)
        return parts.empty() ? CodeValues{} : value(parts[0]);
      if (parts.size() > kMostFoldedItems) return {};
      CodeValue list{.kind = CodeValue::Kind::list};
      for (const NodeId part : parts)
        list.items.push_back(value(part));
      return {make_value(std::move(list))};
    }
    case Kind::dictionary: {
      CodeValue table{.kind = CodeValue::Kind::table};
      const auto parts = tree_.named(id);
      if (parts.size() > kMostFoldedItems) return {};
      for (const NodeId part : parts) {
        if (tree_.kind(part) != Kind::pair) continue;
        const CodeValues key = value(tree_.child(part, Field::key));
        const CodeRef number = first_of(key, CodeValue::Kind::number);
        const auto text = text_of(key);
        table.keys.push_back(text != nullptr     ? *text
                             : number != nullptr ? std::to_string(number->number)
                                                 : "");
        table.items.push_back(value(tree_.child(part, Field::value)));
      }
      return {make_value(std::move(table))};
    }
    case Kind::lambda:
      return {make_value({.kind = CodeValue::Kind::function, .scope = scope_made_by_[id]})};
    case Kind::conditional_expression:
    case Kind::boolean_operator: {
      CodeValues values;
      for (const NodeId part : tree_.named(id))
        merge(values, value(part));
      return values;
    }
    case Kind::named_expression:
      return value(tree_.child(id, Field::value));
    case Kind::subscript: {
      const NodeId object = tree_.child(id, Field::value);
      const NodeId key = tree_.child(id, Field::subscript);
      const CodeValues of = value(object);
      if (tree_.kind(key) == Kind::slice) return fold_slice(of, key);
      const CodeValues keys = value(key);
      CodeValues values = item(of, keys);
      if (const auto text = text_of(keys);
          text != nullptr && tree_.kind(object) == Kind::identifier)
        if (const auto set = items_.find(identifier(object) + "[" + *text); set != items_.end())
          merge(values, values_of(set->second));
      return values;
    }
    case Kind::list_comprehension:
    case Kind::generator_expression:
    case Kind::set_comprehension:
      return comprehension(id);
    default:
      return {};
  }
}

CodeValues PythonReader::member(const CodeValues& of, std::string_view name) {
  CodeValues values;
  bool own = of.empty();
  for (const CodeRef& value : of) {
    if (value->kind == CodeValue::Kind::name) {
      if (value->text.size() > 200) continue;
      if (name == "__call__")
        merge(values, {value});
      else
        merge(values, {name_value(settle(python_path(value->text + "." + std::string(name))))});
    } else if (value->kind == CodeValue::Kind::type) {
      own = true;
      auto& names = scopes_[value->scope].names;
      if (const auto found = names.find(std::string(name)); found != names.end())
        merge(values, values_of(found->second));
    } else if (value->kind == CodeValue::Kind::function && name == "__call__") {
      merge(values, {value});
    } else {
      own = own || value->kind == CodeValue::Kind::function;
    }
  }
  if (own)
    if (const auto set = attributes_.find(std::string(name)); set != attributes_.end())
      merge(values, values_of(set->second));
  return values;
}

CodeValues PythonReader::item(const CodeValues& of, const CodeValues& key) {
  CodeValues values;
  const auto text = text_of(key);
  const CodeRef number = first_of(key, CodeValue::Kind::number);
  for (const CodeRef& value : of) {
    switch (value->kind) {
      case CodeValue::Kind::name:
        if (value->text == "pathlib.Path()") merge(values, {value});
        if (text == nullptr) break;
        if (value->text == "sys.modules")
          merge(values, {name_value(python_path(*text))});
        else if (value->text.ends_with(".__dict__"))
          merge(values, member({name_value(value->text.substr(0, value->text.size() - 9))}, *text));
        else if (value->text == "builtins")
          merge(values, member({value}, *text));
        break;
      case CodeValue::Kind::names:
        if (text != nullptr) merge(values, look_up(*text, 0));
        break;
      case CodeValue::Kind::list:
      case CodeValue::Kind::text:
        if (number != nullptr) {
          const auto size = static_cast<std::int64_t>(
              value->kind == CodeValue::Kind::list ? value->items.size() : value->text.size());
          const std::int64_t at = number->number < 0 ? number->number + size : number->number;
          if (at < 0 || at >= size) break;
          if (value->kind == CodeValue::Kind::list)
            merge(values, value->items[static_cast<std::size_t>(at)]);
          else
            merge(values, {text_value(std::string(1, value->text[static_cast<std::size_t>(at)]))});
        } else if (value->kind == CodeValue::Kind::list) {
          merge(values, each({value}));
        }
        break;
      case CodeValue::Kind::table: {
        const std::string wanted = text != nullptr     ? *text
                                   : number != nullptr ? std::to_string(number->number)
                                                       : "";
        for (std::size_t i = 0; i < value->keys.size(); ++i)
          if (key.empty() || value->keys[i].empty() || value->keys[i] == wanted)
            merge(values, value->items[i]);
        break;
      }
      default:
        break;
    }
  }
  return values;
}

CodeValues PythonReader::each(const CodeValues& of) {
  CodeValues values;
  for (const CodeRef& value : of) {
    if (value->kind == CodeValue::Kind::list)
      for (const CodeValues& one : value->items)
        merge(values, one);
    else if (value->kind == CodeValue::Kind::table)
      for (const std::string& key : value->keys)
        merge(values, {text_value(key)});
    else if (value->kind == CodeValue::Kind::name && value->text == "pathlib.Path()")
      merge(values, {value});
  }
  return values;
}

CodeValues PythonReader::result_of(const CodeValue& function, NodeId call) {
  Scope& scope = scopes_[function.scope];
  if (scope.busy) return {};
  scope.busy = true;
  CodeValues values;
  for (const NodeId part : scope.returns)
    merge(values, value(part));
  // A function that gives back what it is given.
  if (values.empty() && scope.returns.size() == 1 &&
      tree_.kind(scope.returns[0]) == Kind::identifier) {
    const std::string name = identifier(scope.returns[0]);
    for (std::size_t i = 0; i < scope.parameters.size(); ++i)
      if (scope.parameters[i] == name) merge(values, value(argument(call, i, name)));
  }
  scope.busy = false;
  return values;
}

CodeValues PythonReader::call_value(NodeId id) {
  const NodeId callee = tree_.child(id, Field::function);
  CodeValues values;
  // Methods of texts, and of what has items.
  if (tree_.kind(callee) == Kind::attribute) {
    const CodeValues object = value(tree_.child(callee, Field::object));
    const std::string method = identifier(tree_.child(callee, Field::attribute));
    for (const CodeRef& one : object) {
      if (one->kind == CodeValue::Kind::text || one->kind == CodeValue::Kind::list)
        merge(values, fold_method(*one, method, id));
      const bool has_items = one->kind == CodeValue::Kind::table ||
                             one->kind == CodeValue::Kind::names ||
                             (one->kind == CodeValue::Kind::name &&
                              (one->text == "sys.modules" || one->text.ends_with(".__dict__")));
      if (has_items && (method == "get" || method == "__getitem__" || method == "pop"))
        merge(values, item({one}, value(argument(id, 0))));
      if (method == "__getattribute__" || method == "__getattr__")
        if (const auto name = text_of(value(argument(id, 0)))) merge(values, member({one}, *name));
    }
    if (method == "pop" || method == "values" || method == "items" || method == "copy")
      for (const CodeRef& one : object)
        if (one->kind == CodeValue::Kind::list || one->kind == CodeValue::Kind::table) {
          CodeValue list{.kind = CodeValue::Kind::list, .items = one->items};
          merge(values, method == "pop" ? each({one}) : CodeValues{make_value(std::move(list))});
        }
  }
  for (const CodeRef& function : value(callee)) {
    switch (function->kind) {
      case CodeValue::Kind::name: {
        const std::string& path = function->text;
        if (path == "builtins.getattr" || path == "inspect.getattr_static") {
          if (const auto name = text_of(value(argument(id, 1))))
            merge(values, member(value(argument(id, 0)), plain_identifier(*name)));
          merge(values, value(argument(id, 2)));
        } else if (path == "builtins.__import__" || path == "importlib.import_module" ||
                   path == "importlib.__import__" || path == "imp.load_module" ||
                   path == "importlib.reload") {
          const CodeValues given = value(argument(id, 0, "name"));
          if (const auto name = text_of(given))
            merge(values, {name_value(python_path(path.ends_with("__import__") &&
                                                          argument(id, 3, "fromlist") == kNoNode
                                                      ? name->substr(0, name->find('.'))
                                                      : *name))});
          else if (path == "importlib.reload")
            merge(values, given);
        } else if (path == "builtins.vars" && argument(id, 0) != kNoNode) {
          merge(values, member(value(argument(id, 0)), "__dict__"));
        } else if (path == "builtins.globals" || path == "builtins.locals" ||
                   path == "builtins.vars") {
          merge(values, {make_value({.kind = CodeValue::Kind::names})});
        } else if (path == "functools.partial" || path == "builtins.staticmethod" ||
                   path == "builtins.classmethod" || path == "functools.wraps" ||
                   path == "builtins.iter" || path == "functools.lru_cache" ||
                   path == "functools.cache" || path == "copy.copy") {
          merge(values, value(argument(id, 0)));
        } else if (path == "builtins.next") {
          merge(values, each(value(argument(id, 0))));
        } else if (path == "operator.attrgetter" || path == "operator.methodcaller") {
          if (const auto name = text_of(value(argument(id, 0))))
            merge(values, {make_value({.kind = CodeValue::Kind::getter, .text = *name})});
        } else if (path == "operator.itemgetter") {
          if (const auto name = text_of(value(argument(id, 0))))
            merge(values,
                  {make_value({.kind = CodeValue::Kind::getter, .text = *name, .number = 1})});
        } else {
          CodeValues fold = fold_function(path, id);
          if (fold.empty() && path.size() < 200)
            fold = {name_value(settle(path.ends_with("()") ? path : path + "()"))};
          merge(values, fold);
        }
        break;
      }
      case CodeValue::Kind::function:
        merge(values, result_of(*function, id));
        break;
      case CodeValue::Kind::type:
        merge(values, {function});
        break;
      case CodeValue::Kind::getter: {
        const CodeValues of = value(argument(id, 0));
        merge(values, function->number == 1 ? item(of, {text_value(function->text)})
                                            : member(of, function->text));
        break;
      }
      default:
        break;
    }
  }
  return values;
}

// [chr(c) for c in (111, 115)]: only over a list that is written out.
CodeValues PythonReader::comprehension(NodeId id) {
  NodeId clause = kNoNode;
  for (const NodeId part : tree_.named(id))
    if (tree_.kind(part) == Kind::for_in_clause) {
      if (clause != kNoNode) return {};
      clause = part;
    } else if (tree_[part].field != Field::body) {
      return {};  // an `if`
    }
  const NodeId variable = tree_.child(clause, Field::left);
  const NodeId body = tree_.child(id, Field::body);
  if (tree_.kind(variable) != Kind::identifier || local_.size() >= 2) return {};
  const CodeValues over = value(tree_.child(clause, Field::right));
  CodeValue list{.kind = CodeValue::Kind::list};
  const auto add = [&](const CodeRef& one) {
    local_.emplace_back(identifier(variable), one);
    list.items.push_back(value(body));
    local_.pop_back();
  };
  for (const CodeRef& whole : over) {
    if (whole->kind == CodeValue::Kind::list && whole->items.size() <= kMostFoldedItems) {
      for (const CodeValues& one : whole->items)
        if (one.size() == 1)
          add(one[0]);
        else
          return {};
    } else if (whole->kind == CodeValue::Kind::text && whole->text.size() <= kMostFoldedItems) {
      for (const char c : whole->text)
        add(text_value(std::string(1, c)));
    } else {
      continue;
    }
    return {make_value(std::move(list))};
  }
  return {};
}

}  // namespace sallyport
