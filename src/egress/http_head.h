// The head of a request or of an answer that passes through, read strictly.
//
// Whoever passes a request on and the server behind it must see the same request: what one of them
// might read differently (two lengths, a length and chunks, a bare line feed, a folded header, a
// space before a colon) is refused, and the head that goes on is written anew from what was read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sallyport {

inline constexpr std::size_t kLongestHead = std::size_t{64} << 10;

using HeadFields = std::vector<std::pair<std::string, std::string>>;  // as they were written

// How long the body is.
struct Framing {
  enum class Kind { none, length, chunked, until_end } kind = Kind::none;
  std::uint64_t length = 0;
};

struct RequestHead {
  std::string method;
  std::string target;  // as it came
  HeadFields fields;   // without Host
  std::string host;    // of the Host header
  Framing framing;
  bool keep_alive = true;
  bool upgrade = false;  // it asks for a WebSocket
};

struct ResponseHead {
  std::string line;  // "HTTP/1.1 200 OK"
  unsigned status = 0;
  HeadFields fields;
  Framing framing;  // of a request that is not HEAD
  bool keep_alive = true;
};

// Where the head that begins at the beginning of `bytes` ends, the empty line included; nothing: it
// is not all there. What has been searched before is not searched again.
[[nodiscard]] std::optional<std::size_t> head_end(std::string_view bytes, std::size_t& searched);

// `head` is whole. Empty: it was read; else why not, as a sentence.
[[nodiscard]] std::string_view parse_request_head(std::string_view head, RequestHead& request);
[[nodiscard]] std::string_view parse_response_head(std::string_view head, bool to_head_request,
                                                   ResponseHead& response);

// The value of the first field of that name, in any case; empty: there is none.
[[nodiscard]] std::string_view field_of(const HeadFields& fields, std::string_view name);

// Without what is meant for a proxy alone.
[[nodiscard]] std::string write_request_head(const RequestHead& request, std::string_view target,
                                             std::string_view host);
[[nodiscard]] std::string write_response_head(const ResponseHead& response);

}  // namespace sallyport
