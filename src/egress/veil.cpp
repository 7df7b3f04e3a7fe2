#include "egress/veil.h"

#include <algorithm>
#include <array>

#include "http/characters.h"
#include "redact/known_values.h"

namespace sallyport {
namespace {

constexpr std::uint32_t kShown = 3;      // bytes of a beginning that are not held back
constexpr std::size_t kLongestGap = 64;  // no coding puts more between two letters

// What a byte is to the veil; 0: it is passed over.
constexpr std::array<char, 256> kSeen = [] {
  std::array<char, 256> table{};
  for (unsigned c = 0; c < 256; ++c)
    table[c] = lower_char(static_cast<char>(c));
  for (const char c : std::string_view("\r\n\t =%\\"))
    table[static_cast<unsigned char>(c)] = 0;
  return table;
}();

char seen(char byte) {
  return kSeen[static_cast<unsigned char>(byte)];
}

// How many bytes at the end hold so many that are not passed over.
std::size_t size_of_last(std::string_view bytes, std::size_t count) {
  std::size_t at = bytes.size();
  while (count > 0 && at > 0)
    if (seen(bytes[--at]) != 0) --count;
  return bytes.size() - at;
}

// Line ends stay, or a head would become another.
void hide(std::string& text, std::size_t from, std::size_t size) {
  for (std::size_t i = from; i < from + size; ++i)
    if (text[i] != '\r' && text[i] != '\n') text[i] = '*';
}

// `digits` of each byte between `before` and `after`.
std::string written_out(std::string_view value, int base, std::string_view before,
                        std::string_view after) {
  std::string text;
  for (const char c : value) {
    const unsigned byte = static_cast<unsigned char>(c);
    text.append(before);
    if (base == 10 && byte >= 100) text.push_back(static_cast<char>('0' + byte / 100));
    if (base == 10) {
      text.push_back(static_cast<char>('0' + byte / 10 % 10));
      text.push_back(static_cast<char>('0' + byte % 10));
    } else {
      constexpr std::string_view kDigits = "0123456789abcdef";
      text.append({kDigits[byte >> 4], kDigits[byte & 15]});
    }
    text.append(after);
  }
  return text;
}

// Each of `escaped` as an entity: by its name, or by its number after `number`.
std::string in_html(std::string_view value, std::string_view escaped, std::string_view number) {
  std::string text;
  for (const char c : value) {
    if (!escaped.contains(c))
      text.push_back(c);
    else if (c == '&')
      text.append("&amp;");
    else if (c == '<')
      text.append("&lt;");
    else if (c == '>')
      text.append("&gt;");
    else if (c == '"')
      text.append("&quot;");
    else
      text.append(written_out({&c, 1}, number.ends_with('x') ? 16 : 10, number, ";"));
  }
  return text;
}

// Every byte of `what` as "%25" and its digits: encoded for a URL twice.
std::string in_url_twice(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (is_alpha_char(c) || is_digit_char(c) || std::string_view("-_.~").contains(c))
      text.push_back(c);
    else
      text.append(written_out({&c, 1}, 16, "%25", ""));
  }
  return text;
}

// Beside forms_of: what a host could be asked to write.
std::vector<std::string> more_forms_of(std::string_view value) {
  constexpr std::string_view kHtml = "&<>\"'", kMustache = "&<>\"'/`=";
  std::string printable;  // of mail: only '=' is written in digits
  for (const char c : value)
    printable.append(c == '=' ? std::string_view("=3D") : std::string_view(&c, 1));
  return {written_out(value, 16, "\\u00", ""),
          written_out(value, 10, "&#", ";"),
          written_out(value, 16, "&#x", ";"),
          in_html(value, kHtml, "&#"),
          in_html(value, kHtml, "&#0"),
          in_html(value, kHtml, "&#x"),
          in_html(value, kMustache, "&#x"),
          in_url_twice(value),
          std::move(printable)};
}

}  // namespace

Veil::Veil(std::span<const std::string> values) : nodes_(1) {
  for (const std::string& value : values) {
    if (value.size() < kShortestValue) continue;
    for (const KnownForm& form : forms_of(value))
      add(form.text);
    for (const std::string& form : more_forms_of(value))
      add(form);
  }
  link();
}

void Veil::add(std::string_view text) {
  if (std::ranges::count_if(text, [](char c) { return seen(c) != 0; }) <
      static_cast<std::ptrdiff_t>(kShortestValue))
    return;
  std::uint32_t node = 0;
  for (const char as_it_is : text) {
    const char byte = seen(as_it_is);
    if (byte == 0) continue;
    std::uint32_t next = child_of(node, byte);
    if (next == 0) {
      next = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back(
          {.sibling = nodes_[node].child, .depth = nodes_[node].depth + 1, .byte = byte});
      nodes_[node].child = next;
      if (node == 0) first_[static_cast<unsigned char>(byte)] = next;
    }
    node = next;
  }
  nodes_[node].covers = nodes_[node].depth;
}

// Level by level, so that what a node refers to is complete.
void Veil::link() {
  std::vector<std::uint32_t> level;
  for (std::uint32_t child = nodes_[0].child; child != 0; child = nodes_[child].sibling)
    level.push_back(child);
  while (!level.empty()) {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t node : level)
      for (std::uint32_t child = nodes_[node].child; child != 0; child = nodes_[child].sibling) {
        nodes_[child].otherwise = step(nodes_[node].otherwise, nodes_[child].byte);
        nodes_[child].covers =
            std::max(nodes_[child].covers, nodes_[nodes_[child].otherwise].covers);
        next.push_back(child);
      }
    level = std::move(next);
  }
}

std::uint32_t Veil::child_of(std::uint32_t node, char byte) const {
  if (node == 0) return first_[static_cast<unsigned char>(byte)];
  std::uint32_t child = nodes_[node].child;
  while (child != 0 && nodes_[child].byte != byte)
    child = nodes_[child].sibling;
  return child;
}

std::uint32_t Veil::step(std::uint32_t node, char byte) const {
  for (;;) {
    const std::uint32_t next = child_of(node, byte);
    if (next != 0 || node == 0) return next;
    node = nodes_[node].otherwise;
  }
}

void Veil::Stream::feed(std::string_view piece, std::string& out) {
  const std::size_t begin = out.size();
  std::size_t at = raw_.size();
  raw_.append(piece);
  out.append(held_).append(piece);
  for (; at < raw_.size(); ++at) {
    const char byte = seen(raw_[at]);
    if (byte == 0) {
      if (at_ != 0 && ++gap_ > kLongestGap) at_ = 0;
      continue;
    }
    gap_ = 0;
    at_ = veil_.step(at_, byte);
    if (at_ == 0) continue;
    if (const std::size_t covers = veil_.nodes_[at_].covers; covers != 0) {
      const std::size_t size = size_of_last(std::string_view(raw_).substr(0, at + 1), covers);
      hide(out, begin + at + 1 - size, size);
      ++found_;
    }
    // Where no value goes on, less is waited for.
    while (at_ != 0 && veil_.nodes_[at_].child == 0)
      at_ = veil_.nodes_[at_].otherwise;
  }
  const std::uint32_t depth = veil_.nodes_[at_].depth;
  const std::size_t size = depth > kShown ? size_of_last(raw_, depth) : 0;
  raw_.erase(0, raw_.size() - size);
  held_ = out.substr(out.size() - size);
  out.resize(out.size() - size);
}

void Veil::Stream::finish(std::string& out) {
  out.append(held_);
  held_.clear();
  raw_.clear();
  at_ = 0;
}

std::uint64_t Veil::cover(std::string& whole) const {
  Stream stream(*this);
  std::string shown;
  shown.reserve(whole.size());
  stream.feed(whole, shown);
  stream.finish(shown);
  whole = std::move(shown);
  return stream.found();
}

bool Veil::finds(std::string_view whole) const {
  std::uint32_t at = 0;
  return std::ranges::any_of(whole, [&](char as_it_is) {
    if (const char byte = seen(as_it_is); byte != 0) at = step(at, byte);
    return nodes_[at].covers != 0;
  });
}

}  // namespace sallyport
