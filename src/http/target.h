// The target of a request: a path that has one reading, and a query.
#pragma once

#include <string>
#include <string_view>

namespace sallyport {

struct HttpTarget {
  std::string authority;  // of the absolute form ("http://host:port/path"); empty: the usual form
  std::string path;       // decoded
  std::string query;      // as it came, with whole escapes only
};

// Takes the target apart. Returns what is wrong with it, as a sentence; empty: nothing. What
// another program on the way could read differently is refused, not repaired: an escaped slash,
// backslash or control byte, "." and ".." and empty components, bytes that are not UTF-8.
[[nodiscard]] std::string_view parse_target(std::string_view text, HttpTarget& target);

}  // namespace sallyport
