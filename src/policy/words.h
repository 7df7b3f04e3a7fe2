// Lists in sentences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/rules.h"

namespace sallyport {

// "a, b and c"
[[nodiscard]] std::string list_names(const std::vector<std::string>& names,
                                     std::string_view last = "and");

// The same; of many names only the first, and how many more.
[[nodiscard]] std::string list_some_names(const std::vector<std::string>& names);

// The text of each element, as `text` gives it.
template <class Range, class Text>
[[nodiscard]] std::vector<std::string> each_text(const Range& range, Text text) {
  std::vector<std::string> texts;
  texts.reserve(range.size());
  for (const auto& each : range)
    texts.push_back(text(each));
  return texts;
}

[[nodiscard]] std::vector<std::string> host_texts(const std::vector<HostPattern>& hosts);
// With all that tells two hosts of a credential apart.
[[nodiscard]] std::vector<std::string> host_texts(const std::vector<HostRule>& hosts);

}  // namespace sallyport
