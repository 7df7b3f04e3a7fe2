// The head of a request: request line and headers, read strictly.
//
// A server and the proxy before it that read one stream of bytes differently can be made to see
// different requests (request smuggling). So there is one reading here or none: whatever the
// standard lets a server be lenient about is refused, and a refused connection is closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"

namespace sallyport {

// An answer that the server gives by itself.
struct HttpRefusal {
  unsigned status = 0;  // 0: none
  std::string_view sentence;
};

// Reads one head that arrives in any number of pieces. The result depends on the bytes alone, not
// on where they were split: bytes are judged in their order, and the first fault is the answer.
class HttpHeadParser {
 public:
  enum class State { incomplete, complete, refused };

  static constexpr std::size_t kLongestRequestLine = 8192;
  static constexpr std::size_t kMostHeaders = 100;

  // Fills `request`, which must outlive the parser, but for its body and what is known about the
  // client. A head of more than `most` bytes is refused.
  HttpHeadParser(std::size_t most, HttpRequest& request) : most_(most), request_(request) {}

  // `bytes` is all that came since the head began: at least what was shown the last time.
  [[nodiscard]] State parse(std::string_view bytes);

  [[nodiscard]] const HttpRefusal& refusal() const { return refusal_; }

  // Of a complete head:
  [[nodiscard]] std::size_t length() const { return next_; }   // the body begins there
  [[nodiscard]] bool head_only() const { return head_only_; }  // HEAD; the request says GET
  [[nodiscard]] bool keep_alive() const { return keep_alive_; }
  [[nodiscard]] bool expects_continue() const { return expects_continue_; }
  [[nodiscard]] bool chunked() const { return chunked_; }
  [[nodiscard]] std::uint64_t content_length() const { return content_length_.value_or(0); }

 private:
  State refuse(unsigned status, std::string_view sentence);
  State line(std::string_view text);
  State request_line(std::string_view text);
  State field(std::string_view text);
  State known_field(std::string_view name, std::string_view value);
  State end();

  std::size_t most_;
  HttpRequest& request_;
  State state_ = State::incomplete;
  HttpRefusal refusal_;
  std::size_t next_ = 0;     // where the first line that has not been read begins
  std::size_t scanned_ = 0;  // how far its end has been looked for
  bool first_line_ = true;
  std::string authority_;
  bool head_only_ = false, keep_alive_ = true, expects_continue_ = false, chunked_ = false;
  bool has_host_ = false;
  std::optional<std::uint64_t> content_length_;
};

}  // namespace sallyport
