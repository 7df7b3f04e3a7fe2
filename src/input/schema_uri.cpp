#include "input/schema_uri.h"

#include "base/parse.h"

namespace sallyport {
namespace {

struct UriParts {
  std::optional<std::string_view> scheme, authority;
  std::string_view path;
  std::optional<std::string_view> query, fragment;
};

bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<std::string_view> take_scheme(std::string_view& rest) {
  if (rest.empty() || !is_alpha(rest.front())) return std::nullopt;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    const char c = rest[i];
    if (c == ':') {
      const std::string_view scheme = rest.substr(0, i);
      rest.remove_prefix(i + 1);
      return scheme;
    }
    if (!is_alpha(c) && !is_digit(c) && c != '+' && c != '-' && c != '.') break;
  }
  return std::nullopt;
}

UriParts split_uri(std::string_view text) {
  UriParts parts;
  parts.fragment = take_fragment(text);
  if (const std::size_t mark = text.find('?'); mark != std::string_view::npos) {
    parts.query = text.substr(mark + 1);
    text = text.substr(0, mark);
  }
  parts.scheme = take_scheme(text);
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    const std::size_t slash = text.find('/');
    parts.authority = text.substr(0, slash);
    text = slash == std::string_view::npos ? std::string_view() : text.substr(slash);
  }
  parts.path = text;
  return parts;
}

std::string without_dot_segments(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    if (path.starts_with("../")) {
      path.remove_prefix(3);
    } else if (path.starts_with("./") || path.starts_with("/./")) {
      path.remove_prefix(2);
    } else if (path == "/." || path == "/..") {
      if (path == "/..") out.erase(std::min(out.rfind('/'), out.size()));
      out.push_back('/');
      break;
    } else if (path.starts_with("/../")) {
      path.remove_prefix(3);
      out.erase(std::min(out.rfind('/'), out.size()));
    } else if (path == "." || path == "..") {
      break;
    } else {
      const std::size_t end = std::min(path.find('/', 1), path.size());
      out.append(path.substr(0, end));
      path.remove_prefix(end);
    }
  }
  return out;
}

std::string merged_path(const UriParts& base, std::string_view path) {
  if (base.authority && base.path.empty()) return std::string("/").append(path);
  return std::string(base.path.substr(0, base.path.rfind('/') + 1)).append(path);
}

}  // namespace

std::optional<std::string_view> take_fragment(std::string_view& uri) {
  const std::size_t mark = uri.find('#');
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string_view fragment = uri.substr(mark + 1);
  uri = uri.substr(0, mark);
  return fragment;
}

std::string resolve_uri(std::string_view base, std::string_view reference) {
  const UriParts from = split_uri(base);
  const UriParts to = split_uri(reference);

  std::optional<std::string_view> scheme = to.scheme, authority = to.authority, query = to.query;
  std::string path;
  if (to.scheme || to.authority) {
    path = without_dot_segments(to.path);
    if (!to.scheme) scheme = from.scheme;
  } else {
    scheme = from.scheme;
    authority = from.authority;
    if (to.path.empty()) {
      path = from.path;
      if (!to.query) query = from.query;
    } else {
      path = without_dot_segments(to.path.starts_with('/') ? std::string(to.path)
                                                           : merged_path(from, to.path));
    }
  }

  std::string uri;
  if (scheme) uri.append(*scheme).append(":");
  if (authority) uri.append("//").append(*authority);
  uri.append(path);
  if (query) uri.append("?").append(*query);
  if (to.fragment) uri.append("#").append(*to.fragment);
  return uri;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    unsigned byte = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || error != std::errc{} || end != digits.data() + 2) return std::nullopt;
    out.push_back(static_cast<char>(byte));
    i += 2;
  }
  return out;
}

std::optional<std::vector<std::string>> pointer_tokens(std::string_view pointer) {
  std::vector<std::string> tokens;
  if (pointer.empty()) return tokens;
  if (!pointer.starts_with('/')) return std::nullopt;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      tokens.emplace_back();
    } else if (pointer[i] == '~') {
      const char next = i + 1 < pointer.size() ? pointer[++i] : '\0';
      if (next != '0' && next != '1') return std::nullopt;
      tokens.back().push_back(next == '0' ? '~' : '/');
    } else {
      tokens.back().push_back(pointer[i]);
    }
  }
  return tokens;
}

std::string pointer_token(std::string_view token) {
  std::string out;
  for (const char c : token) {
    if (c == '~')
      out.append("~0");
    else if (c == '/')
      out.append("~1");
    else
      out.push_back(c);
  }
  return out;
}

}  // namespace sallyport
