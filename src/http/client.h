// A small HTTP/1.1 client: one request, one answer, one connection, blocking. For our own programs
// (`top`, traces, tests), which talk to what runs beside them: no TLS, no redirects, and no names
// but localhost, because a static program has no resolver.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "http/message.h"

namespace sallyport {

struct HttpFetch {
  std::string url;     // "http://127.0.0.1:8640/metrics"
  std::string socket;  // path of a unix socket; the host in the URL is then not dialled
  std::string method = "GET";
  HttpHeaders headers = {};  // beside Host, Connection and those of the body
  std::string body = {};
  std::string type = "application/json";           // of the body, where there is one
  std::chrono::milliseconds deadline{5000};        // for all of it, from the first step to the last
  std::size_t most_bytes = std::size_t{16} << 20;  // of the answer's body

  // Only if root, or the user of this process, has opened the unix socket.
  bool root_or_self = false;

  // For an answer that comes bit by bit (chunked): where it goes as it comes, and not into the
  // reply. Nothing: it is kept there.
  std::function<void(std::string_view)> on_piece = {};
  // When this descriptor becomes readable while the answer is waited for, on_stop is called, once;
  // the answer is still waited for.
  int stop = -1;
  std::function<void()> on_stop = {};
};

struct HttpReply {
  unsigned status = 0;
  HttpHeaders headers;  // names in lower case
  std::string body;

  // The value of the first header of that name (in lower case); empty: there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

// Whether fetch() could dial such a URL: http, and an address or localhost.
[[nodiscard]] Result<void> check_fetch_url(std::string_view url);

// Sends one request and waits for its answer, whatever its status. The error is `argument` for a
// request that cannot be sent, and `unavailable` when there is no whole answer: nobody listens, the
// deadline has passed, or what came is no HTTP or too long.
[[nodiscard]] Result<HttpReply> fetch(const HttpFetch& request);

}  // namespace sallyport
