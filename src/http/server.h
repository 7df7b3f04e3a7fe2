// The HTTP/1.1 server: TCP, unix sockets and TLS, with a limit on everything that a client sends.
//
// What is not well-formed, too large, too slow or meant for another host is answered by the server
// itself (400, 408, 413, 414, 417, 421, 431, 501, 503, 505), and the connection is closed.
// Requests that a client sends ahead (pipelining) are handled one after the other, in their order.
//
// Handlers are called on the server's threads and must not block: they hand their work to somebody
// and answer later, from any thread, through the Responder.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "http/message.h"

namespace sallyport {

struct HttpListener {
  Fd socket;               // bound and listening
  bool tls = false;        // only for TCP
  bool operators = false;  // who can connect to it is an operator of the service
};

struct TlsSettings {  // PEM texts; empty certificate: no TLS
  std::string certificate, key;
  std::string client_ca;             // clients may show a certificate of it
  bool require_certificate = false;  // ... and must
};

struct HttpLimits {
  std::size_t header_bytes = 16 << 10;
  std::size_t body_bytes = 16 << 20;
  std::size_t connections = 8192;  // past it, the oldest idle one of a thread is closed
  std::size_t requests_per_connection = 10'000;
  std::size_t buffered_bytes = 64 << 20;  // of all bodies that are being received
  std::size_t share_bytes = 16 << 20;     // of those, the part of one sender
  std::size_t stream_bytes = 1 << 20;     // that wait for a slow reader of a stream
  // For all headers, from the first byte; for the first request, from the accept.
  std::chrono::milliseconds header_time{10'000};
  std::chrono::milliseconds body_time{30'000};   // for the whole body
  std::chrono::milliseconds write_time{30'000};  // for the next 16 KiB, or the rest if that is less
  std::chrono::milliseconds idle_time{60'000};   // between requests
};

// What is granted to a body, from the head of its request alone.
struct BodyTerms {
  std::size_t most = SIZE_MAX;  // bytes, within what limits say
  std::string sender;           // who shares `share_bytes`; empty: the client's address
};

struct HttpSettings {
  std::vector<HttpListener> listeners;
  TlsSettings tls;
  HttpLimits limits;
  // Names that a Host header may have, beside localhost, loopback addresses and the addresses that
  // are listened on. Against DNS rebinding. An Origin must be one of them too.
  std::vector<std::string> hosts;
  // Addresses or CIDR ranges whose X-Forwarded-For is believed (the rightmost untrusted entry).
  std::vector<std::string> trusted_proxies;
  // Whose a body is and how large it may be; none: the terms that BodyTerms has by itself. Must not
  // wait.
  std::function<BodyTerms(const HttpRequest& head)> body_terms;
  unsigned threads = 2;
};

// What is written piece by piece, as `Transfer-Encoding: chunked`. All functions from any thread.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  // False: the client is gone, or so slow that the piece was dropped and the connection closed. So
  // is a piece that is larger than `stream_bytes`.
  virtual bool write(std::string_view piece) = 0;
  // All was written. Without it, the client learns that something is missing.
  virtual void close() = 0;
};

// The one answer to one request. From any thread, once. Dropped unanswered, the client gets 500.
class Responder {
 public:
  class Connection {
   public:
    virtual ~Connection() = default;
    virtual void send(HttpResponse response) = 0;
    virtual void send(std::move_only_function<HttpResponse()> make) = 0;
    virtual std::shared_ptr<HttpStream> stream(HttpResponse head) = 0;
  };

  explicit Responder(std::shared_ptr<Connection> connection);
  Responder(Responder&&) noexcept = default;
  Responder& operator=(Responder&&) noexcept = default;
  ~Responder();

  void send(HttpResponse response);
  // The same, with an answer that the thread of the connection makes; also for a client that has
  // gone, so that what ends with the answer is ended.
  void send(std::move_only_function<HttpResponse()> make);
  // The body of `head` is the first piece.
  [[nodiscard]] std::shared_ptr<HttpStream> stream(HttpResponse head);

 private:
  std::shared_ptr<Connection> connection_;
};

// Answers that this thread gives while one of these lives go out when it ends: the thread that
// sends them is woken once for all, and not for each. It sends those of its own connections itself;
// so it must not live within a handler, but may in what a handler left for after_these_requests().
class AnswersTogether {
 public:
  AnswersTogether();
  ~AnswersTogether();
  AnswersTogether(const AnswersTogether&) = delete;
  AnswersTogether& operator=(const AnswersTogether&) = delete;
};

// For handlers: `work` is done by this thread when it has handled the requests that are there with
// this one. On a thread that is not the server's, at once.
void after_these_requests(std::move_only_function<void()> work);

using HttpHandler = std::function<void(HttpRequest, Responder)>;
// The body of an answer that the server makes by itself (400, 408, 413, 421, 431, ...), from its
// status and a sentence.
using HttpProblem = std::function<HttpResponse(unsigned status, std::string_view sentence)>;

struct HttpNumbers {
  std::uint64_t connections = 0;  // now
  std::uint64_t accepted = 0, requests = 0;
  std::uint64_t refused = 0;  // answered by the server itself
  std::uint64_t failed = 0;   // handlers that threw
};

class HttpServer {
 public:
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> open(HttpSettings settings,
                                                                HttpHandler handler,
                                                                HttpProblem problem);
  virtual ~HttpServer() = default;
  // Serves until drained.
  virtual void run() = 0;
  // From any thread: accepts nothing more, answers what has come in (`Connection: close`), and
  // closes everything at the latest after that time.
  virtual void drain(std::chrono::milliseconds most) = 0;
  [[nodiscard]] virtual HttpNumbers numbers() const = 0;
};

}  // namespace sallyport
