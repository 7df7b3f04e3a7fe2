// Texts that a Python program puts together from constants.
#include <algorithm>

#include "base/base64.h"
#include "base/text.h"
#include "screen/python_reader.h"

namespace sallyport {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Reads up to `most` digits of the base behind `at`, and steps over them.
std::uint32_t take_number(std::string_view text, std::size_t& at, std::size_t most, int base) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < most && at < text.size(); ++i, ++at) {
    const int digit = digit_of(text[at]);
    if (digit < 0 || digit >= base) break;
    number = number * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(digit);
  }
  return number;
}

std::string from_hex(std::string_view text) {
  std::string bytes;
  int high = -1;
  for (const char c : text) {
    const int digit = digit_of(c);
    if (digit < 0) continue;
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<char>(high * 16 + digit));
      high = -1;
    }
  }
  return bytes;
}

std::string rot13(std::string text) {
  for (char& c : text) {
    const char first = c >= 'a' && c <= 'z' ? 'a' : c >= 'A' && c <= 'Z' ? 'A' : '\0';
    if (first != '\0') c = static_cast<char>(first + (c - first + 13) % 26);
  }
  return text;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  if (from.empty()) return text;
  std::string result;
  std::size_t at = 0;
  for (std::size_t next; (next = text.find(from, at)) != std::string::npos;
       at = next + from.size()) {
    result.append(text, at, next - at).append(to);
    if (result.size() > kLongestFolded) return result;
  }
  return result.append(text, at);
}

std::string changed_case(std::string text, bool up) {
  for (char& c : text)
    if (up ? (c >= 'a' && c <= 'z') : (c >= 'A' && c <= 'Z')) c = static_cast<char>(c ^ 0x20);
  return text;
}

std::string stripped(std::string_view text, std::string_view what, bool left, bool right) {
  if (left) text.remove_prefix(std::min(text.find_first_not_of(what), text.size()));
  if (right) text = text.substr(0, text.find_last_not_of(what) + 1);
  return std::string(text);
}

// A text or a number as str() gives it.
std::optional<std::string> as_text(const CodeValues& values) {
  // What is longer names nothing, and would be copied often.
  if (const auto text = text_of(values); text != nullptr && text->size() <= 4096) return *text;
  if (const CodeRef number = first_of(values, CodeValue::Kind::number))
    return std::to_string(number->number);
  return std::nullopt;
}

}  // namespace

std::string python_unescape(std::string_view body, bool bytes) {
  std::string text;
  for (std::size_t at = 0; at < body.size();) {
    if (body[at] != '\\' || at + 1 == body.size()) {
      text.push_back(body[at++]);
      continue;
    }
    const char mark = body[at + 1];
    at += 2;
    switch (mark) {
      case 'x': {
        const std::uint32_t code = take_number(body, at, 2, 16);
        if (bytes)
          text.push_back(static_cast<char>(code));
        else
          append_utf8(text, code);
        break;
      }
      case 'u':
        append_utf8(text, take_number(body, at, 4, 16));
        break;
      case 'U':
        append_utf8(text, take_number(body, at, 8, 16));
        break;
      case '\n':
        break;
      case 'n':
        text.push_back('\n');
        break;
      case 't':
        text.push_back('\t');
        break;
      case 'r':
        text.push_back('\r');
        break;
      case '\\':
      case '\'':
      case '"':
        text.push_back(mark);
        break;
      default:
        if (mark >= '0' && mark <= '7') {
          --at;
          append_utf8(text, take_number(body, at, 3, 8));
        } else {
          text.append("\\").push_back(mark);
        }
    }
  }
  return text;
}

bool PythonReader::may_fold(std::size_t bytes) {
  if (bytes <= std::max(kLongestFolded, tree_.code().size()) &&
      reading_.report.spend_folding(bytes))
    return true;
  exhausted_ = true;
  return false;
}

CodeValues PythonReader::folded(std::string text) {
  if (!may_fold(text.size())) return {};
  return {text_value(std::move(text))};
}

CodeValues PythonReader::fold_string(NodeId id) {
  if (tree_.kind(id) == Kind::concatenated_string) {
    std::string whole;
    for (const NodeId part : tree_.named(id)) {
      const CodeValues values = value(part);
      const auto text = text_of(values);
      if (text == nullptr) return {};
      if (!may_fold(text->size())) return {};
      whole.append(*text);
    }
    return folded(std::move(whole));
  }
  const NodeId start = tree_[id].first;
  if (tree_.kind(start) != Kind::string_start) return {};
  const std::string prefix = changed_case(std::string(tree_.text(start)), false);
  const bool raw = prefix.contains('r'), bytes = prefix.contains('b'),
             format = prefix.contains('f');
  std::string whole;
  const auto add = [&](std::string_view piece) {
    std::string text = raw ? std::string(piece) : python_unescape(piece, bytes);
    if (format) text = replaced(replaced(std::move(text), "{{", "{"), "}}", "}");
    whole.append(text);
  };
  for (NodeId part = tree_[start].next; part != kNoNode; part = tree_[part].next) {
    if (tree_.kind(part) == Kind::string_end) break;
    if (tree_.kind(part) == Kind::interpolation) {
      const auto text = as_text(value(tree_.child(part, Field::expression)));
      if (!text) return {};
      whole.append(*text);
    } else {
      add(tree_.text(part));
    }
  }
  return folded(std::move(whole));
}

CodeValues PythonReader::fold_plus(const CodeValues& left, const CodeValues& right) {
  CodeValues values;
  std::size_t most = 4;
  for (const CodeRef& a : left)
    for (const CodeRef& b : right) {
      if (a->kind != b->kind || most == 0) continue;
      if (a->kind == CodeValue::Kind::text) {
        if (!may_fold(a->text.size() + b->text.size())) return {};
        merge(values, {text_value(a->text + b->text)});
        --most;
      } else if (a->kind == CodeValue::Kind::number) {
        std::int64_t sum = 0;
        if (!__builtin_add_overflow(a->number, b->number, &sum)) merge(values, {number_value(sum)});
      } else if (a->kind == CodeValue::Kind::list &&
                 a->items.size() + b->items.size() <= kMostFoldedItems &&
                 reading_.report.spend_folding(16 * (a->items.size() + b->items.size()))) {
        CodeValue list{.kind = CodeValue::Kind::list, .items = a->items};
        list.items.insert(list.items.end(), b->items.begin(), b->items.end());
        merge(values, {make_value(std::move(list))});
      }
    }
  return values;
}

CodeValues PythonReader::fold_percent(const CodeValues& left, const CodeValues& right) {
  const auto format = text_of(left);
  if (format == nullptr || !may_fold(format->size())) return {};
  std::vector<CodeValues> given;
  if (const CodeRef list = first_of(right, CodeValue::Kind::list))
    given = list->items;
  else
    given = {right};
  std::string whole;
  std::size_t next = 0;
  for (std::size_t at = 0; at < format->size(); ++at) {
    if ((*format)[at] != '%' || at + 1 == format->size()) {
      whole.push_back((*format)[at]);
      continue;
    }
    const char how = (*format)[++at];
    if (how == '%') {
      whole.push_back('%');
      continue;
    }
    if ((how != 's' && how != 'd' && how != 'c') || next >= given.size()) return {};
    const CodeRef number = first_of(given[next], CodeValue::Kind::number);
    const auto text = as_text(given[next++]);
    if (!text) return {};
    if (how == 'c' && number != nullptr)
      append_utf8(whole, static_cast<std::uint32_t>(number->number));
    else
      whole.append(*text);
  }
  return folded(std::move(whole));
}

CodeValues PythonReader::fold_operator(NodeId id) {
  if (tree_.kind(id) == Kind::unary_operator) {
    const CodeValues of = value(tree_.child(id, Field::argument));
    const CodeRef number = first_of(of, CodeValue::Kind::number);
    if (number == nullptr || !tree_.text(id).starts_with('-')) return {};
    return {number_value(-number->number)};
  }
  // 'a' + 'b' + 'c' + ... leans to the left: followed without recursion, folded from its end.
  std::vector<NodeId> spine{id};
  const auto sign_of = [this](NodeId node) {
    return tree_.text(tree_[tree_.child(node, Field::left)].next);
  };
  while (tree_.kind(tree_.child(spine.back(), Field::left)) == Kind::binary_operator)
    spine.push_back(tree_.child(spine.back(), Field::left));
  CodeValues left = value(tree_.child(spine.back(), Field::left));
  for (auto node = spine.rbegin(); node != spine.rend(); ++node) {
    const std::string_view sign = sign_of(*node);
    const CodeValues right = value(tree_.child(*node, Field::right));
    if (sign == "+") {
      left = fold_plus(left, right);
    } else if (sign == "%") {
      left = fold_percent(left, right);
    } else if (sign == "/") {
      const bool path = std::ranges::any_of(left, [](const CodeRef& one) {
        return one->kind == CodeValue::Kind::name && one->text == "pathlib.Path()";
      });
      left = path ? CodeValues{name_value("pathlib.Path()")} : CodeValues{};
    } else if (sign == "|" || sign == "-" || sign == "^" || sign == "*") {
      const CodeRef a = first_of(left, CodeValue::Kind::number);
      const CodeRef b = first_of(right, CodeValue::Kind::number);
      const auto text = text_of(left);
      CodeValues result;
      if (a != nullptr && b != nullptr && std::abs(a->number) < 1'000'000'000 &&
          std::abs(b->number) < 1'000'000'000)
        result = {number_value(sign == "|"   ? a->number | b->number
                               : sign == "-" ? a->number - b->number
                               : sign == "^" ? a->number ^ b->number
                                             : a->number * b->number)};
      else if (sign == "*" && text != nullptr && b != nullptr && b->number > 0 &&
               b->number < 1000 &&
               text->size() * static_cast<std::size_t>(b->number) <= kLongestFolded) {
        std::string whole;
        for (std::int64_t i = 0; i < b->number; ++i)
          whole.append(*text);
        result = folded(std::move(whole));
      } else if (sign == "|") {
        // Flags: O_CREAT | O_WRONLY is any of them.
        merge(result, left);
        merge(result, right);
      }
      left = std::move(result);
    } else {
      left.clear();
    }
    if (local_.empty() && *node != id && memo_at_[*node] == 0) {
      memo_.push_back(left);
      memo_at_[*node] = static_cast<std::uint32_t>(memo_.size());
    }
  }
  return left;
}

CodeValues PythonReader::fold_slice(const CodeValues& of, NodeId slice) {
  std::optional<std::int64_t> parts[3];
  std::size_t at = 0;
  for (NodeId part = tree_[slice].first; part != kNoNode && at < 3; part = tree_[part].next) {
    if (tree_.text(part) == ":") {
      ++at;
    } else if (tree_[part].named) {
      const CodeValues values = value(part);
      const CodeRef number = first_of(values, CodeValue::Kind::number);
      if (number == nullptr) return {};
      parts[at] = number->number;
    }
  }
  const std::int64_t step = parts[2].value_or(1);
  if (step == 0 || step > 100'000 || step < -100'000) return {};
  CodeValues result;
  for (const CodeRef& one : of) {
    const bool list = one->kind == CodeValue::Kind::list;
    if (!list && one->kind != CodeValue::Kind::text) continue;
    const auto size = static_cast<std::int64_t>(list ? one->items.size() : one->text.size());
    const auto clamp = [&](std::optional<std::int64_t> value, std::int64_t preset) {
      if (!value) return preset;
      const std::int64_t from_end = *value < 0 ? *value + size : *value;
      return std::clamp<std::int64_t>(from_end, step < 0 ? -1 : 0, step < 0 ? size - 1 : size);
    };
    const std::int64_t begin = clamp(parts[0], step < 0 ? size - 1 : 0);
    const std::int64_t end = clamp(parts[1], step < 0 ? -1 : size);
    CodeValue cut{.kind = one->kind};
    if (!reading_.report.spend_folding(static_cast<std::size_t>(size))) return {};
    for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += step)
      if (list)
        cut.items.push_back(one->items[static_cast<std::size_t>(i)]);
      else
        cut.text.push_back(one->text[static_cast<std::size_t>(i)]);
    merge(result, {make_value(std::move(cut))});
  }
  return result;
}

CodeValues PythonReader::fold_method(const CodeValue& of, std::string_view method, NodeId call) {
  const auto given = [&](std::size_t at) { return as_text(value(argument(call, at))); };
  if (of.kind == CodeValue::Kind::list) return {};
  const std::string& text = of.text;
  if (!may_fold(text.size())) return {};
  if (method == "join") {
    const CodeValues parts = value(argument(call, 0));
    std::string whole;
    if (const CodeRef list = first_of(parts, CodeValue::Kind::list)) {
      for (std::size_t i = 0; i < list->items.size(); ++i) {
        const auto part = text_of(list->items[i]);
        if (part == nullptr || !may_fold(part->size() + text.size() + 16)) return {};
        if (i > 0) whole.append(text);
        whole.append(*part);
        if (whole.size() > kLongestFolded) return {};
      }
      return folded(std::move(whole));
    }
    const auto letters = text_of(parts);
    return letters != nullptr && text.empty() ? folded(*letters) : CodeValues{};
  }
  if (method == "format") {
    std::string whole;
    std::size_t next = 0;
    for (std::size_t at = 0; at < text.size();) {
      if (text[at] != '{' && text[at] != '}') {
        whole.push_back(text[at++]);
        continue;
      }
      if (at + 1 < text.size() && text[at + 1] == text[at]) {
        whole.push_back(text[at]);
        at += 2;
        continue;
      }
      const std::size_t end = text.find('}', at);
      if (end == std::string::npos) return {};
      const std::string field = text.substr(at + 1, end - at - 1);
      std::optional<std::string> part;
      if (field.empty())
        part = given(next++);
      else if (field.find_first_not_of("0123456789") == std::string::npos && field.size() < 4)
        part = given(std::strtoul(field.c_str(), nullptr, 10));
      else
        part = as_text(value(argument(call, 10'000, field)));
      if (!part || whole.size() > kLongestFolded || next > 64) return {};
      whole.append(*part);
      at = end + 1;
    }
    return folded(std::move(whole));
  }
  if (method == "replace") {
    const auto from = given(0), to = given(1);
    return from && to ? folded(replaced(text, *from, *to)) : CodeValues{};
  }
  if (method == "decode" || method == "encode") {
    const auto codec = given(0);
    if (codec && (*codec == "rot13" || *codec == "rot_13")) return folded(rot13(text));
    if (codec && *codec == "hex") return folded(from_hex(text));
    if (codec && codec->starts_with("unicode")) return folded(python_unescape(text, false));
    return folded(text);
  }
  if (method == "lower" || method == "casefold") return folded(changed_case(text, false));
  if (method == "upper") return folded(changed_case(text, true));
  if (method == "swapcase") {
    std::string swapped = text;
    for (char& c : swapped)
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) c = static_cast<char>(c ^ 0x20);
    return folded(std::move(swapped));
  }
  if (method == "strip" || method == "lstrip" || method == "rstrip")
    return folded(
        stripped(text, given(0).value_or(" \t\n\r"), method != "rstrip", method != "lstrip"));
  if (method == "hex" || method == "fromhex") return folded(from_hex(given(0).value_or("")));
  if (method == "__add__") {
    const auto more = given(0);
    return more ? folded(text + *more) : CodeValues{};
  }
  if (method == "split") {
    const std::string by = given(0).value_or(" ");
    if (by.empty() || !reading_.report.spend_folding(text.size() * 4)) return {};
    CodeValue list{.kind = CodeValue::Kind::list};
    for (std::size_t at = 0; at <= text.size() && list.items.size() < kMostFoldedItems;) {
      const std::size_t end = std::min(text.find(by, at), text.size());
      list.items.push_back({text_value(text.substr(at, end - at))});
      at = end + by.size();
    }
    return {make_value(std::move(list))};
  }
  return {};
}

CodeValues PythonReader::fold_function(std::string_view path, NodeId call) {
  const auto first = [&] { return value(argument(call, 0)); };
  if (path == "builtins.chr") {
    const CodeValues given = first();
    const CodeRef number = first_of(given, CodeValue::Kind::number);
    if (number == nullptr || number->number < 0) return {};
    std::string letter;
    append_utf8(letter, static_cast<std::uint32_t>(number->number));
    return folded(std::move(letter));
  }
  if (path == "builtins.ord") {
    const CodeValues given = first();
    const auto text = text_of(given);
    return text != nullptr && !text->empty()
               ? CodeValues{number_value(static_cast<std::int64_t>(first_utf8_char(*text).code))}
               : CodeValues{};
  }
  if (path == "builtins.str" || path == "builtins.format") {
    const auto text = as_text(first());
    return text ? folded(*text) : CodeValues{};
  }
  if (path == "builtins.int") {
    const CodeValues given = first();
    if (const CodeRef number = first_of(given, CodeValue::Kind::number))
      return {number_value(number->number)};
    const auto text = text_of(given);
    return text != nullptr && text->size() < 18
               ? CodeValues{number_value(std::strtoll(text->c_str(), nullptr, 10))}
               : CodeValues{};
  }
  if (path == "builtins.bytes" || path == "builtins.bytearray") {
    const CodeValues given = first();
    if (const CodeRef list = first_of(given, CodeValue::Kind::list)) {
      std::string bytes;
      for (const CodeValues& one : list->items) {
        const CodeRef number = first_of(one, CodeValue::Kind::number);
        if (number == nullptr) return {};
        bytes.push_back(static_cast<char>(number->number));
      }
      return folded(std::move(bytes));
    }
    const auto text = text_of(given);
    return text != nullptr ? folded(*text) : CodeValues{};
  }
  if (path == "builtins.list" || path == "builtins.tuple" || path == "builtins.sorted" ||
      path == "builtins.reversed") {
    const CodeValues given = first();
    CodeValue list{.kind = CodeValue::Kind::list};
    if (const CodeRef items = first_of(given, CodeValue::Kind::list)) {
      list.items = items->items;
    } else if (const auto text = text_of(given);
               text != nullptr && text->size() <= kMostFoldedItems) {
      for (const char c : *text)
        list.items.push_back({text_value(std::string(1, c))});
    } else {
      return {};
    }
    if (!reading_.report.spend_folding(16 * list.items.size())) return {};
    if (path == "builtins.reversed") std::ranges::reverse(list.items);
    return {make_value(std::move(list))};
  }
  if (path == "builtins.map") {
    const CodeValues function = first(), over = value(argument(call, 1));
    const bool letters = std::ranges::any_of(
        function, [](const CodeRef& one) { return one->text == "builtins.chr"; });
    const CodeRef items = first_of(over, CodeValue::Kind::list);
    if (!letters || items == nullptr) return {};
    CodeValue list{.kind = CodeValue::Kind::list};
    for (const CodeValues& one : items->items) {
      const CodeRef number = first_of(one, CodeValue::Kind::number);
      if (number == nullptr || number->number < 0) return {};
      std::string letter;
      append_utf8(letter, static_cast<std::uint32_t>(number->number));
      list.items.push_back({text_value(std::move(letter))});
    }
    return {make_value(std::move(list))};
  }
  std::shared_ptr<const std::string> text;
  CodeValues given;
  if (path == "base64.b64decode" || path == "base64.urlsafe_b64decode" ||
      path == "base64.standard_b64decode" || path == "base64.decodebytes" ||
      path == "binascii.a2b_base64" || path == "binascii.unhexlify" || path == "bytes.fromhex" ||
      path == "builtins.bytes.fromhex" || path == "builtins.bytearray.fromhex" ||
      path == "base64.b16decode" || path == "codecs.decode" || path == "codecs.encode" ||
      path == "sys.intern" || path == "os.path.expanduser" || path == "os.fsdecode" ||
      path == "textwrap.dedent") {
    given = first();
    text = text_of(given);
  }
  if (path == "os.path.join") {
    std::string whole;
    for (std::size_t i = 0; i < 16; ++i) {
      const NodeId part = argument(call, i);
      if (part == kNoNode) break;
      const CodeValues values = value(part);
      const auto piece = text_of(values);
      if (piece == nullptr) return {};
      if (piece->starts_with('/')) whole.clear();
      if (!whole.empty() && !whole.ends_with('/')) whole.push_back('/');
      whole.append(*piece);
    }
    return folded(std::move(whole));
  }
  if (text == nullptr || !may_fold(text->size())) return {};
  if (path.contains("hex") || path == "base64.b16decode") return folded(from_hex(*text));
  if (path.starts_with("codecs.")) {
    const auto codec = as_text(value(argument(call, 1, "encoding")));
    if (codec && (*codec == "rot13" || *codec == "rot_13")) return folded(rot13(*text));
    if (codec && *codec == "hex") return folded(from_hex(*text));
    if (codec && *codec == "base64") {
      const auto bytes = from_base64(*text);
      return bytes ? folded(*bytes) : CodeValues{};
    }
    return {};
  }
  if (path.starts_with("base64.") || path == "binascii.a2b_base64") {
    std::string plain = replaced(replaced(*text, "-", "+"), "_", "/");
    std::erase_if(plain, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
    const auto bytes = from_base64(plain);
    return bytes ? folded(*bytes) : CodeValues{};
  }
  return folded(*text);
}

}  // namespace sallyport
