// The body of an answer as text, if it is text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sallyport {

// "text/html" of "Text/HTML; charset=utf-8".
[[nodiscard]] std::string media_type(std::string_view content_type);

// The bytes without the beginning of a character at their end, which a cut may leave.
[[nodiscard]] std::string_view whole_characters(std::string_view bytes);

// As UTF-8; nothing: the bytes are no text. UTF-8 is known by itself; else the content type may say
// Latin-1 or Windows-1252, which texts of the web without a word are taken for, too. `cut`: the
// last character may not be whole.
[[nodiscard]] std::optional<std::string> text_of_reply(std::string_view body,
                                                       std::string_view content_type, bool cut);

}  // namespace sallyport
