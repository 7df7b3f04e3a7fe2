// An answer as the bytes that go out.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "http/message.h"

namespace sallyport {

enum class BodyForm { length, chunks };

// Appends status line and headers. Every answer may be neither stored nor guessed at. Headers of
// the response that are ours to write, or that would end their line early (response splitting), are
// left out; a status that is none becomes 500.
void append_head(std::string& out, const HttpResponse& response, BodyForm form, bool close,
                 std::string_view date);

// Appends one chunk; nothing for an empty piece, which would end the body.
void append_chunk(std::string& out, std::string_view piece);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// Whether an answer of that status has a body.
[[nodiscard]] constexpr bool has_body(unsigned status) {
  return status != 204 && status != 304;
}

// "Sun, 06 Nov 1994 08:49:37 GMT"
[[nodiscard]] std::string http_date(std::time_t time);

}  // namespace sallyport
