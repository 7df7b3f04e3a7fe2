// The words of an HTML page, for a reader that has no use for its markup. No browser: it reads any
// bytes in one pass, in time linear in their number, builds no tree, runs and fetches nothing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sallyport {

struct HtmlText {
  std::string text;  // UTF-8 if `html` is
  bool cut = false;  // there was more than `most` bytes
};

// Scripts, styles, frames, comments and tags go. Blocks begin a line of their own, paragraphs and
// headings leave one empty, items of lists begin with "- ", cells are apart by a space. Character
// references become their characters; runs of white space become one blank, but in <pre>.
[[nodiscard]] HtmlText html_to_text(std::string_view html, std::size_t most);

}  // namespace sallyport
