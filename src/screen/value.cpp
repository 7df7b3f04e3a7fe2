#include "screen/value.h"

#include <algorithm>

namespace sallyport {
namespace {

bool same(const CodeValue& a, const CodeValue& b) {
  using Kind = CodeValue::Kind;
  if (a.kind != b.kind) return false;
  if (a.kind == Kind::list || a.kind == Kind::table) return &a == &b;
  return a.text == b.text && a.number == b.number && a.scope == b.scope;
}

}  // namespace

void merge(CodeValues& into, const CodeValues& more) {
  for (const CodeRef& value : more) {
    if (std::ranges::any_of(into, [&](const CodeRef& old) { return same(*old, *value); })) continue;
    if (into.size() < kMostValues) {
      into.push_back(value);
    } else if (value->kind == CodeValue::Kind::name) {
      const auto weak = std::ranges::find_if(
          into, [](const CodeRef& old) { return old->kind != CodeValue::Kind::name; });
      if (weak != into.end()) *weak = value;
    }
  }
}

CodeRef first_of(const CodeValues& values, CodeValue::Kind kind) {
  for (const CodeRef& value : values)
    if (value->kind == kind) return value;
  return nullptr;
}

std::shared_ptr<const std::string> text_of(const CodeValues& values) {
  const CodeRef value = first_of(values, CodeValue::Kind::text);
  return value == nullptr ? nullptr : std::shared_ptr<const std::string>(value, &value->text);
}

NameTable::NameTable(std::span<const NameRow> rows) : rows_(rows.begin(), rows.end()) {
  std::ranges::sort(rows_, {}, &NameRow::path);
}

const NameRow* NameTable::find(std::string_view path) const {
  for (std::string_view head = path; !head.empty();) {
    const auto row = std::ranges::lower_bound(rows_, head, {}, &NameRow::path);
    if (row != rows_.end() && row->path == head) {
      if (row->match == NameRow::Match::harmless) return nullptr;
      if (head.size() == path.size() || row->match != NameRow::Match::exact) return &*row;
    }
    const std::size_t dot = head.rfind('.');
    if (dot == std::string_view::npos) break;
    // What a call gave is not what was called: only its own rows count.
    if (head.substr(dot).contains("()") || head.substr(0, dot).ends_with("()")) break;
    head = head.substr(0, dot);
  }
  return nullptr;
}

bool NameTable::has_below(std::string_view path) const {
  const std::string prefix = std::string(path) + ".";
  const auto row = std::ranges::lower_bound(rows_, std::string_view(prefix), {}, &NameRow::path);
  return (row != rows_.end() && row->path.starts_with(prefix)) || find(path) != nullptr;
}

}  // namespace sallyport
