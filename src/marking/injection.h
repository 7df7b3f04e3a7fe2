// Output that reads like instructions to a model. A signal, not a guarantee: whoever knows the list
// writes around it. What holds is that a result is data, and that no gate opens because of it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sallyport {

struct InjectionSign {
  std::string kind;        // "override", "role", "secrecy", ...
  std::size_t offset = 0;  // in the text
  std::string evidence;    // the words, one line, cut to a readable length
};

// The signs in a text, in order, at most `most`. Case, repeated blanks and look-alike letters do
// not hide one. Takes time in proportion to the text.
[[nodiscard]] std::vector<InjectionSign> find_injections(std::string_view text,
                                                         std::size_t most = 20);

}  // namespace sallyport
