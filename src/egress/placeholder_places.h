// Where in a request the placeholder of a credential may stand. A host keeps and shows what it
// finds in most places (a note, a file's description, a search): a secret that gets there is told
// to whoever reads that host.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "egress/http_head.h"

namespace sallyport {

struct PlaceholderFound {
  std::size_t count = 0;  // in headers and in the query
  bool in_path = false;
  std::string misplaced;  // the first place where it must not stand: "the header X-Note"
};

// `places`: "header:NAME" and "query:NAME", as a grant has them; none: the headers in which
// services take their keys.
[[nodiscard]] PlaceholderFound find_placeholder(const std::vector<std::string>& places,
                                                std::string_view placeholder,
                                                const RequestHead& request,
                                                std::string_view target);

// What Basic says, or nothing.
[[nodiscard]] std::optional<std::string> basic_words(std::string_view value);

}  // namespace sallyport
