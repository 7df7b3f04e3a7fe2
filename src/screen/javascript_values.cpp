// What the expressions of a JavaScript program may be.
#include <algorithm>

#include "base/base64.h"
#include "base/text.h"
#include "screen/javascript_reader.h"
#include "screen/python_reader.h"

namespace sallyport {
namespace {

constexpr unsigned kDeepestValue = 300;
// Values that only lead on to Function: some constructor, some function.
constexpr std::string_view kSomeConstructor = "?constructor", kSomeFunction = "?function";

constexpr std::string_view kMethods[] = {
    "filter", "map",      "push",           "pop",     "at",      "concat",
    "sort",   "find",     "slice",          "flat",    "fill",    "join",
    "reduce", "some",     "every",          "forEach", "entries", "keys",
    "values", "toString", "includes",       "indexOf", "splice",  "shift",
    "sub",    "big",      "bold",           "link",    "trim",    "split",
    "charAt", "valueOf",  "hasOwnProperty", "toFixed"};

std::optional<std::string> as_text(const CodeValues& values) {
  // What is longer names nothing, and would be copied often.
  if (const auto text = text_of(values); text != nullptr && text->size() <= 4096) return *text;
  if (const CodeRef number = first_of(values, CodeValue::Kind::number))
    return std::to_string(number->number);
  return std::nullopt;
}

std::string unescape_percent(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '%' && at + 2 < text.size()) {
      const std::string digits(text.substr(at + 1, 2));
      result.push_back(static_cast<char>(std::strtol(digits.c_str(), nullptr, 16)));
      at += 2;
    } else {
      result.push_back(text[at]);
    }
  }
  return result;
}

std::string from_hex(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < text.size(); at += 2)
    bytes.push_back(
        static_cast<char>(std::strtol(std::string(text.substr(at, 2)).c_str(), nullptr, 16)));
  return bytes;
}

}  // namespace

JavascriptReader::Name* JavascriptReader::find_name(const std::string& name, std::uint32_t scope) {
  while (true) {
    Scope& at = scopes_[scope];
    if (const auto found = at.names.find(name); found != at.names.end()) return &found->second;
    if (scope == 0) return nullptr;
    scope = at.parent;
  }
}

CodeValues JavascriptReader::look_up(const std::string& name, std::uint32_t scope) {
  if (Name* found = find_name(name, scope)) return values_of(*found);
  if (is_javascript_global(name)) return {name_value(javascript_path(name))};
  return {};
}

const CodeValues& JavascriptReader::values_of(Name& name) {
  return values_of_bindings(name, [this](const Binding& binding, const CodeValues& before) {
    return value_of(binding, before);
  });
}

CodeValues JavascriptReader::value_of(const Binding& binding, const CodeValues& before) {
  switch (binding.how) {
    case Binding::How::path:
      return {name_value(javascript_path(binding.path))};
    case Binding::How::value:
      return value(binding.node);
    case Binding::How::item:
      return member(value(binding.node), std::to_string(binding.index));
    case Binding::How::member:
      return member(value(binding.node), binding.path);
    case Binding::How::each: {
      CodeValues values;
      for (const CodeRef& one : value(binding.node))
        for (const CodeValues& item : one->items)
          merge(values, item);
      return values;
    }
    case Binding::How::augment:
      return fold_plus(before, value(tree_.child(binding.node, Field::right)));
    case Binding::How::function:
      return {make_value({.kind = CodeValue::Kind::function, .scope = binding.index})};
    case Binding::How::type:
      return {make_value({.kind = CodeValue::Kind::type})};
    case Binding::How::unknown:
      break;
  }
  return {};
}

bool JavascriptReader::may_fold(std::size_t bytes) {
  if (bytes <= std::max(kLongestFolded, tree_.code().size()) &&
      reading_.report.spend_folding(bytes))
    return true;
  exhausted_ = true;
  return false;
}

CodeValues JavascriptReader::folded(std::string text) {
  if (!may_fold(text.size())) return {};
  return {text_value(std::move(text))};
}

CodeValues JavascriptReader::fold_plus(const CodeValues& left, const CodeValues& right) {
  CodeValues values;
  std::size_t most = 4;
  for (const CodeRef& a : left)
    for (const CodeRef& b : right) {
      if (most == 0) break;
      --most;
      if (a->kind == CodeValue::Kind::number && b->kind == CodeValue::Kind::number) {
        std::int64_t sum = 0;
        if (!__builtin_add_overflow(a->number, b->number, &sum)) merge(values, {number_value(sum)});
        continue;
      }
      const auto first = as_text({a}), second = as_text({b});
      if (a->kind == CodeValue::Kind::text && b->kind == CodeValue::Kind::text) {
        if (!may_fold(a->text.size() + b->text.size())) return {};
        merge(values, {text_value(a->text + b->text)});
      } else if (first && second) {
        merge(values, folded(*first + *second));
      }
    }
  return values;
}

CodeValues JavascriptReader::value(NodeId id) {
  if (id == kNoNode) return {};
  if (memo_at_[id] != 0) return memo_[memo_at_[id] - 1];
  if (depth_ >= kDeepestValue || !reading_.report.spend_step()) {
    exhausted_ = true;
    return {};
  }
  memo_.emplace_back();
  memo_at_[id] = static_cast<std::uint32_t>(memo_.size());
  ++depth_;
  CodeValues result = work_out(id);
  --depth_;
  memo_[memo_at_[id] - 1] = result;
  return result;
}

std::string JavascriptReader::key_of(NodeId id) {
  switch (tree_.kind(id)) {
    case Kind::string:
    case Kind::computed_property_name: {
      const auto parts = tree_.named(id);
      const CodeValues values = tree_.kind(id) == Kind::string ? value(id)
                                : parts.empty()                ? CodeValues{}
                                                               : value(parts[0]);
      return as_text(values).value_or("");
    }
    default:
      return identifier(id);
  }
}

CodeValues JavascriptReader::work_out(NodeId id) {
  const SyntaxNode& node = tree_[id];
  const auto parts = [&] { return tree_.named(id); };
  switch (node.kind) {
    case Kind::identifier:
    case Kind::shorthand_property_identifier:
      return look_up(identifier(id), scope_of_[id]);
    case Kind::import:
      return {name_value("require")};
    case Kind::member_expression:
      return member(value(tree_.child(id, Field::object)),
                    identifier(tree_.child(id, Field::property)));
    case Kind::subscript_expression: {
      const auto key = as_text(value(tree_.child(id, Field::index)));
      const CodeValues of = value(tree_.child(id, Field::object));
      if (key) return member(of, *key);
      CodeValues values;
      for (const CodeRef& one : of)
        if (one->kind == CodeValue::Kind::list || one->kind == CodeValue::Kind::table)
          for (const CodeValues& item : one->items)
            merge(values, item);
      return values;
    }
    case Kind::call_expression:
    case Kind::new_expression:
      return call_value(id);
    case Kind::string:
    case Kind::template_string: {
      std::string whole;
      const std::string_view code = tree_.code();
      std::uint32_t at = node.begin + 1;
      for (const NodeId part : parts()) {
        // Blanks between the parts of a template belong to it.
        if (tree_[part].begin > at && node.kind == Kind::template_string)
          whole.append(code.substr(at, tree_[part].begin - at));
        at = tree_[part].end;
        if (tree_.kind(part) == Kind::template_substitution) {
          const auto inner = tree_.named(part);
          const auto text = inner.empty() ? std::nullopt : as_text(value(inner[0]));
          if (!text) return {};
          whole.append(*text);
        } else if (tree_.kind(part) == Kind::escape_sequence) {
          std::string_view escape = tree_.text(part);
          if (escape.starts_with("\\u{")) {
            append_utf8(whole, static_cast<std::uint32_t>(std::strtoul(
                                   std::string(escape.substr(3)).c_str(), nullptr, 16)));
          } else if (escape.size() == 2 && !std::string_view("ntr\\'\"").contains(escape[1])) {
            whole.push_back(escape[1]);
          } else {
            whole.append(python_unescape(escape, false));
          }
        } else {
          whole.append(tree_.text(part));
        }
      }
      if (node.kind == Kind::template_string && at + 1 < node.end)
        whole.append(code.substr(at, node.end - 1 - at));
      return folded(std::move(whole));
    }
    case Kind::number: {
      const std::string digits(tree_.text(id));
      if (digits.size() > 15 || digits.contains('.')) return {};
      return {number_value(std::strtoll(digits.c_str(), nullptr, 0))};
    }
    case Kind::parenthesized_expression:
    case Kind::sequence_expression:
    case Kind::await_expression: {
      const auto inner = parts();
      return inner.empty() ? CodeValues{} : value(inner.back());
    }
    case Kind::binary_expression: {
      // Leans to the left: folded from its end.
      std::vector<NodeId> spine{id};
      while (tree_.kind(tree_.child(spine.back(), Field::left)) == Kind::binary_expression)
        spine.push_back(tree_.child(spine.back(), Field::left));
      CodeValues left = value(tree_.child(spine.back(), Field::left));
      for (auto at = spine.rbegin(); at != spine.rend(); ++at) {
        const std::string_view sign = tree_.text(tree_[tree_.child(*at, Field::left)].next);
        const CodeValues right = value(tree_.child(*at, Field::right));
        if (sign == "+")
          left = fold_plus(left, right);
        else if (sign == "||" || sign == "&&" || sign == "??")
          merge(left, right);
        else
          left.clear();
        if (*at != id && memo_at_[*at] == 0) {
          memo_.push_back(left);
          memo_at_[*at] = static_cast<std::uint32_t>(memo_.size());
        }
      }
      return left;
    }
    case Kind::ternary_expression: {
      CodeValues values = value(tree_.child(id, Field::consequence));
      merge(values, value(tree_.child(id, Field::alternative)));
      return values;
    }
    case Kind::assignment_expression:
      return value(tree_.child(id, Field::right));
    case Kind::array: {
      CodeValue list{.kind = CodeValue::Kind::list};
      const auto inner = parts();
      if (inner.size() > kMostFoldedItems) return {};
      for (const NodeId part : inner)
        list.items.push_back(value(part));
      return {make_value(std::move(list))};
    }
    case Kind::object: {
      CodeValue table{.kind = CodeValue::Kind::table};
      const auto inner = parts();
      if (inner.size() > kMostFoldedItems) return {};
      for (const NodeId part : inner) {
        if (tree_.kind(part) == Kind::pair) {
          table.keys.push_back(key_of(tree_.child(part, Field::key)));
          table.items.push_back(value(tree_.child(part, Field::value)));
        } else if (tree_.kind(part) == Kind::shorthand_property_identifier) {
          table.keys.push_back(identifier(part));
          table.items.push_back(value(part));
        } else if (tree_.kind(part) == Kind::spread_element) {
          // {...require('child_process')} has what it spreads.
          for (const NodeId spread : tree_.named(part))
            for (const CodeRef& one : value(spread))
              if (one->kind == CodeValue::Kind::name) return {one};
        }
      }
      return {make_value(std::move(table))};
    }
    case Kind::function_expression:
    case Kind::generator_function:
    case Kind::arrow_function:
      return {make_value({.kind = CodeValue::Kind::function, .scope = scope_made_by_[id]})};
    case Kind::this_value:
      return {make_value({.kind = CodeValue::Kind::type})};
    default:
      return {};
  }
}

CodeValues JavascriptReader::member(const CodeValues& of, const std::string& name) {
  CodeValues values;
  bool own = of.empty();
  for (const CodeRef& one : of) {
    switch (one->kind) {
      case CodeValue::Kind::name:
        if (one->text.size() > 200) break;
        if (name == "constructor" || name == "__proto__" || name == "prototype") {
          if (one->text == kSomeConstructor || one->text == kSomeFunction ||
              (!one->text.contains("()") && one->text != "module" &&
               one->text != "process.mainModule"))
            merge(values,
                  {name_value(name == "constructor" ? "Function" : std::string(kSomeFunction))});
          else if (one->text == "module" || one->text == "process.mainModule")
            merge(values, {name_value("module.constructor")});
        } else if (one->text == kSomeConstructor || one->text == kSomeFunction) {
          if (name == "call" || name == "apply" || name == "bind") merge(values, {one});
        } else if (name == "call" || name == "apply" || name == "bind") {
          merge(values, {one});
        } else {
          merge(values, {name_value(javascript_path(one->text + "." + name))});
        }
        break;
      case CodeValue::Kind::function:
        if (name == "constructor")
          merge(values, {name_value("Function")});
        else if (name == "__proto__" || name == "call" || name == "apply" || name == "bind")
          merge(values, {name_value(std::string(kSomeFunction))});
        own = true;
        break;
      case CodeValue::Kind::list:
      case CodeValue::Kind::text:
      case CodeValue::Kind::number:
        if (!name.empty() && name.find_first_not_of("0123456789") == std::string::npos &&
            name.size() < 9) {
          const std::size_t at = std::strtoul(name.c_str(), nullptr, 10);
          if (one->kind == CodeValue::Kind::list && at < one->items.size())
            merge(values, one->items[at]);
          else if (one->kind == CodeValue::Kind::text && at < one->text.size())
            merge(values, {text_value(std::string(1, one->text[at]))});
        } else if (name == "constructor") {
          merge(values, {name_value(std::string(kSomeConstructor))});
        } else if (std::ranges::find(kMethods, name) != std::end(kMethods)) {
          merge(values, {name_value(std::string(kSomeFunction))});
        }
        break;
      case CodeValue::Kind::table:
        own = true;
        if (name == "constructor") merge(values, {name_value(std::string(kSomeConstructor))});
        for (std::size_t i = 0; i < one->keys.size(); ++i)
          if (one->keys[i] == name || one->keys[i].empty()) merge(values, one->items[i]);
        break;
      default:
        own = true;
        if (name == "constructor") merge(values, {name_value(std::string(kSomeConstructor))});
    }
  }
  if (of.empty() && name == "constructor")
    merge(values, {name_value(std::string(kSomeConstructor))});
  if (own)
    if (const auto set = attributes_.find(name); set != attributes_.end())
      merge(values, values_of(set->second));
  return values;
}

CodeValues JavascriptReader::fold_method(const CodeValue& of, std::string_view method,
                                         NodeId call) {
  const auto given = [&](std::size_t at) { return as_text(value(argument(call, at))); };
  const auto number = [&](std::size_t at) -> std::optional<std::int64_t> {
    const CodeRef found = first_of(value(argument(call, at)), CodeValue::Kind::number);
    return found == nullptr ? std::nullopt : std::optional(found->number);
  };
  if (of.kind == CodeValue::Kind::list) {
    if (method == "join") {
      const std::string by = argument(call, 0) == kNoNode ? "," : given(0).value_or("");
      std::string whole;
      for (std::size_t i = 0; i < of.items.size(); ++i) {
        const auto part = as_text(of.items[i]);
        if (!part || !may_fold(part->size() + by.size() + 16)) return {};
        whole.append(i > 0 ? by : "").append(*part);
      }
      return folded(std::move(whole));
    }
    if (method == "reverse") {
      if (!reading_.report.spend_folding(16 * of.items.size())) return {};
      CodeValue list = of;
      std::ranges::reverse(list.items);
      return {make_value(std::move(list))};
    }
    if (method == "pop" || method == "at" || method == "shift" || method == "find") {
      CodeValues values;
      if (!may_fold(16 * of.items.size())) return {};
      for (const CodeValues& item : of.items)
        merge(values, item);
      return values;
    }
    if (method == "map") {
      // ['a', 'b'].map(c => String.fromCharCode(c)): only this one.
      const bool letters = tree_.text(argument(call, 0)).contains("fromCharCode");
      if (!letters) return {};
      CodeValue list{.kind = CodeValue::Kind::list};
      for (const CodeValues& item : of.items) {
        const CodeRef code = first_of(item, CodeValue::Kind::number);
        if (code == nullptr) return {};
        std::string letter;
        append_utf8(letter, static_cast<std::uint32_t>(code->number));
        list.items.push_back({text_value(std::move(letter))});
      }
      return {make_value(std::move(list))};
    }
    return {};
  }
  const std::string& text = of.text;
  if (!may_fold(text.size())) return {};
  if (method == "concat") {
    const auto more = given(0);
    return more ? folded(text + *more) : CodeValues{};
  }
  if (method == "toString" || method == "valueOf" || method == "trim" || method == "normalize")
    return folded(text);
  if (method == "split") {
    const auto by = given(0);
    if (!by || !reading_.report.spend_folding(4 * text.size())) return {};
    CodeValue list{.kind = CodeValue::Kind::list};
    if (by->empty()) {
      if (text.size() > kMostFoldedItems) return {};
      for (const char c : text)
        list.items.push_back({text_value(std::string(1, c))});
    } else {
      for (std::size_t at = 0; at <= text.size() && list.items.size() < kMostFoldedItems;) {
        const std::size_t end = std::min(text.find(*by, at), text.size());
        list.items.push_back({text_value(text.substr(at, end - at))});
        at = end + by->size();
      }
    }
    return {make_value(std::move(list))};
  }
  if (method == "replace" || method == "replaceAll") {
    const auto from = given(0), to = given(1);
    if (!from || !to || from->empty()) return {};
    const std::size_t at = text.find(*from);
    std::string whole = text;
    if (at != std::string::npos) whole.replace(at, from->size(), *to);
    for (std::size_t next = at; method == "replaceAll" && next != std::string::npos &&
                                (next = whole.find(*from, next + to->size())) != std::string::npos;)
      whole.replace(next, from->size(), *to);
    return folded(std::move(whole));
  }
  if (method == "slice" || method == "substring" || method == "substr" || method == "charAt") {
    const auto from = number(0), to = number(1);
    if (!from) return {};
    const auto size = static_cast<std::int64_t>(text.size());
    const auto clamp = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
    };
    const std::int64_t begin = clamp(*from);
    std::int64_t end = to ? (method == "substr" ? clamp(begin + *to) : clamp(*to)) : size;
    if (method == "charAt") end = std::min(begin + 1, size);
    return folded(begin < end ? text.substr(static_cast<std::size_t>(begin),
                                            static_cast<std::size_t>(end - begin))
                              : "");
  }
  if (method == "toLowerCase" || method == "toUpperCase") {
    std::string changed = text;
    for (char& c : changed)
      if (method == "toLowerCase" ? (c >= 'A' && c <= 'Z') : (c >= 'a' && c <= 'z'))
        c = static_cast<char>(c ^ 0x20);
    return folded(std::move(changed));
  }
  return {};
}

CodeValues JavascriptReader::fold_function(std::string_view path, NodeId call) {
  const CodeValues first = value(argument(call, 0));
  if (path == "String.fromCharCode" || path == "String.fromCodePoint") {
    std::string whole;
    for (std::size_t i = 0; i < 256; ++i) {
      const NodeId part = argument(call, i);
      if (part == kNoNode) break;
      if (tree_.kind(part) == Kind::spread_element) {
        const auto inner = tree_.named(part);
        const CodeRef list =
            inner.empty() ? nullptr : first_of(value(inner[0]), CodeValue::Kind::list);
        if (list == nullptr) return {};
        for (const CodeValues& item : list->items) {
          const CodeRef code = first_of(item, CodeValue::Kind::number);
          if (code == nullptr) return {};
          append_utf8(whole, static_cast<std::uint32_t>(code->number));
        }
        continue;
      }
      const CodeRef code = first_of(value(part), CodeValue::Kind::number);
      if (code == nullptr) return {};
      append_utf8(whole, static_cast<std::uint32_t>(code->number));
    }
    return folded(std::move(whole));
  }
  if (path == "String") {
    const auto text = as_text(first);
    return text ? folded(*text) : CodeValues{};
  }
  const auto text = text_of(first);
  if (text == nullptr || !may_fold(text->size())) return {};
  if (path == "atob") {
    const auto bytes = from_base64(*text);
    return bytes ? folded(*bytes) : CodeValues{};
  }
  if (path == "unescape" || path == "decodeURIComponent" || path == "decodeURI")
    return folded(unescape_percent(*text));
  if (path == "Buffer.from") {
    const auto how = as_text(value(argument(call, 1)));
    if (how && *how == "base64") {
      const auto bytes = from_base64(*text);
      return bytes ? folded(*bytes) : CodeValues{};
    }
    return folded(how && *how == "hex" ? from_hex(*text) : *text);
  }
  return {};
}

CodeValues JavascriptReader::call_value(NodeId id) {
  const NodeId callee = callee_of(id);
  CodeValues values;
  if (tree_.kind(callee) == Kind::member_expression) {
    const std::string method = identifier(tree_.child(callee, Field::property));
    for (const CodeRef& one : value(tree_.child(callee, Field::object))) {
      if (one->kind == CodeValue::Kind::text || one->kind == CodeValue::Kind::list)
        merge(values, fold_method(*one, method, id));
      // f.bind(x) is f
      if (one->kind == CodeValue::Kind::name && method == "bind") return {one};
    }
  }
  for (const CodeRef& function : value(callee)) {
    if (function->kind == CodeValue::Kind::function) {
      Scope& scope = scopes_[function->scope];
      if (scope.busy) continue;
      scope.busy = true;
      for (const NodeId part : scope.returns)
        merge(values, value(part));
      scope.busy = false;
      continue;
    }
    if (function->kind != CodeValue::Kind::name) continue;
    const std::string& path = function->text;
    if (path == "require") {
      if (const auto name = text_of(value(argument(id, 0))); name != nullptr && name->size() < 200)
        merge(values, {name_value(javascript_path(*name))});
    } else if (path == "Reflect.get") {
      if (const auto name = as_text(value(argument(id, 1))))
        merge(values, member(value(argument(id, 0)), *name));
    } else if (path == "Object.getOwnPropertyDescriptor") {
      if (const auto name = as_text(value(argument(id, 1))))
        merge(values, {make_value({.kind = CodeValue::Kind::table,
                                   .items = {member(value(argument(id, 0)), *name)},
                                   .keys = {"value"}})});
    } else if (path == "Object.getPrototypeOf") {
      if (first_of(value(argument(id, 0)), CodeValue::Kind::function) != nullptr)
        merge(values, {name_value(std::string(kSomeFunction))});
    } else if (path == "Object.assign" || path == "Object.freeze" || path == "Object.create") {
      merge(values, value(argument(id, 0)));
      merge(values, value(argument(id, 1)));
    } else if (path == "util.promisify") {
      merge(values, value(argument(id, 0)));
    } else if (path != kSomeFunction && path != kSomeConstructor) {
      CodeValues fold = fold_function(path, id);
      if (fold.empty() && path.size() < 200)
        fold = {name_value(javascript_path(path.ends_with("()") ? path : path + "()"))};
      merge(values, fold);
    }
  }
  return values;
}

}  // namespace sallyport
