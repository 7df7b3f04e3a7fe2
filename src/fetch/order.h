// What `in-cell fetch` is told to do. The boundary writes the order, and our own program, inside
// the cell, reads it from standard input: see work.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace sallyport {

inline constexpr unsigned kMostRedirects = 5;

// What comes out of it: the answer with all that is known about it, as JSON; or the body alone, for
// tools whose request is the policy's, as text or as one JSON text.
enum class FetchForm { document, text, json };
[[nodiscard]] std::string_view name_of(FetchForm form);

struct FetchOrder {
  std::string method = "GET";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<std::string> body;
  FetchForm form = FetchForm::document;
  bool readable = false;              // document: HTML is made plain text
  std::uint64_t most_bytes = 50'000;  // of a body; what comes after it is left
  std::uint64_t max_answer = 50'000;  // document: bytes of the answer as JSON
  unsigned redirects = kMostRedirects;
  std::uint64_t milliseconds = 9'000;  // for all of it
  std::vector<std::string> allowed;    // "https://api.example.com:443": what a hint can name

  bool operator==(const FetchOrder&) const = default;
};

[[nodiscard]] std::string to_text(const FetchOrder& order);
// Refuses what is missing or of another type, and headers that no request may have.
[[nodiscard]] Result<FetchOrder> parse_fetch_order(std::string_view text);

// Whether a request may have the header: a name and one line of value; none that says how long a
// message is, to whom it goes, or what a proxy is to do: these are made here.
[[nodiscard]] Result<void> check_fetch_header(std::string_view name, std::string_view value);
[[nodiscard]] Result<void> check_fetch_header_name(std::string_view name);

}  // namespace sallyport
