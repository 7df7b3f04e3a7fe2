#include "http/session.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "http/answer_post.h"
#include "http/byte_stream.h"
#include "http/chunked.h"
#include "http/exchange.h"
#include "http/input_buffer.h"
#include "http/parse.h"
#include "http/response.h"

namespace sallyport {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::posix::stream_descriptor;
using Want = ByteStream::Want;
using Clock = std::chrono::steady_clock;

constexpr auto kPlainAwait = asio::as_tuple(asio::use_awaitable);
constexpr auto kLinger = std::chrono::seconds(2);
// Within each write_time so much must go out (or all): one byte a time does not keep an answer
// alive.
constexpr std::size_t kWriteProgress = 16 << 10;
constexpr std::size_t kChunkBuffer = 16 << 10;
constexpr unsigned kLongestStreak = 32;

class HttpSession final : public Session,
                          public AnswerTaker,
                          public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(std::shared_ptr<asio::io_context> io, std::shared_ptr<HttpService> service,
              SessionTable& table, Accepted accepted)
      : io_(std::move(io)),
        service_(std::move(service)),
        limits_(service_->limits),
        table_(table),
        peer_(accepted.peer),
        by_operator_(accepted.by_operator),
        socket_(*io_, accepted.socket.get()),
        in_(service_->buffered) {
    const int fd = accepted.socket.release();  // socket_ has it
    if (peer_) {
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      sockaddr_storage local{};
      socklen_t size = sizeof local;
      if (::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &size) == 0)
        local_ = address_of(local);
    }
    if (!accepted.tls)
      stream_ = plain_stream(fd);
    else if (service_->tls)
      stream_ = service_->tls->stream(fd);
    deadline_ = Clock::now() + limits_.header_time;
    place_ = table_.add(*this);
    ++service_->connections;
  }
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;
  ~HttpSession() override { leave(); }

  awaitable<void> run(std::function<void()> ended);

  void look_at_clock(SteadyTime now) override {
    // Nothing is read while a stream goes out: whoever has hung up would keep the place.
    if (streaming_ && has_hung_up()) return abort();
    if (now < deadline_) return;
    expired_ = true;
    interrupt();
  }
  void abort() override {
    aborted_ = true;
    interrupt();
    wake();
  }
  bool is_quiet() const override {
    std::array<char, 1> byte{};
    return !in_call_ && in_.empty() &&
           ::recv(fd(), byte.data(), byte.size(), MSG_PEEK | MSG_DONTWAIT) <= 0;
  }

  void take_answer(Answer&& answer) override;
  void go_on_with(Answer&& answer) override;
  void look_at_stream() override;

 private:
  [[nodiscard]] bool has_hung_up() const {
    pollfd waiting{.fd = fd(), .events = POLLRDHUP, .revents = 0};
    return ::poll(&waiting, 1, 0) == 1;
  }
  [[nodiscard]] int fd() const { return const_cast<stream_descriptor&>(socket_).native_handle(); }
  void interrupt() {
    boost::system::error_code error;
    error = socket_.cancel(error);
  }
  void leave();
  void accept_answer(Answer&& answer);
  void wake();
  // Until somebody wakes it, for whatever reason.
  awaitable<void> sleep();
  // Lets others have their turn now and then: a client that is always ready must not hold the loop,
  // nor keep its own clock from being looked at.
  awaitable<void> breathe();

  // Ready for another try. False: the end, by the clock or by order.
  awaitable<bool> ready(Want want);
  // Some bytes of the client; 0: the end.
  awaitable<std::size_t> read(std::span<char> room);
  awaitable<bool> write(std::string_view bytes);

  awaitable<bool> greet();
  awaitable<bool> exchange();
  awaitable<bool> receive_head(HttpHeadParser& head);
  awaitable<bool> receive_body(const HttpHeadParser& head, HttpRequest& request);
  awaitable<bool> receive_length(std::uint64_t length, std::string& body, BodyShare& share);
  awaitable<bool> receive_chunks(std::size_t most, std::string& body, BodyShare& share);
  awaitable<bool> answer(bool head_only, bool close);
  awaitable<bool> send_stream(std::shared_ptr<StreamQueue> stream);
  awaitable<void> refuse();
  awaitable<void> linger();

  [[nodiscard]] bool right_host(const HttpRequest& request);
  [[nodiscard]] HttpResponse problem(unsigned status, std::string_view sentence) const;
  // What a failed read of a request means: the time is up, or the client has gone.
  bool no_request() {
    if (expired_ && !aborted_) refusal_ = {408, "The request did not come in time."};
    return false;
  }
  bool refused(unsigned status, std::string_view sentence) {
    refusal_ = {status, sentence};
    return false;
  }

  std::shared_ptr<asio::io_context> io_;
  std::shared_ptr<HttpService> service_;
  const HttpLimits& limits_;
  SessionTable& table_;
  std::optional<IpAddress> peer_, local_;
  bool by_operator_;
  stream_descriptor socket_;
  std::unique_ptr<ByteStream> stream_;
  InputBuffer in_;
  std::string out_;
  std::optional<std::string> known_host_;  // the last one that was allowed
  std::string certificate_;
  SteadyTime deadline_;
  SessionTable::Place place_;
  std::size_t requests_ = 0;
  bool in_call_ = false, streaming_ = false, expired_ = false, aborted_ = false, answered_ = false;
  bool ended_ = false;
  unsigned streak_ = 0;  // of reads and writes without a pause
  HttpRefusal refusal_;
  std::optional<Answer> answer_;
  std::move_only_function<void()> sleeper_;  // the coroutine, while it waits for the handler
};

// --- What other threads call -------------------------------------------------------------------

void HttpSession::take_answer(Answer&& answer) {
  // Within the handler: the usual case of a short call.
  if (io_->get_executor().running_in_this_thread() && !sleeper_)
    return accept_answer(std::move(answer));
  give_on_loop(io_, weak_from_this(), std::move(answer));
}

void HttpSession::go_on_with(Answer&& answer) {
  accept_answer(std::move(answer));
  // Nothing of the session is at work here: it can go on at once.
  if (answer_ && sleeper_) std::exchange(sleeper_, nullptr)();
}

void HttpSession::accept_answer(Answer&& answer) {
  answer.make_response();
  if (!ended_)
    answer_ = std::move(answer);
  else if (answer.stream)
    answer.stream->abandon();
}

void HttpSession::look_at_stream() {
  asio::post(*io_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->wake();
  });
}

void HttpSession::wake() {
  if (sleeper_)
    asio::post(*io_, [sleeper = std::exchange(sleeper_, nullptr)]() mutable { sleeper(); });
}

awaitable<void> HttpSession::sleep() {
  if (!aborted_)
    co_await asio::async_initiate<decltype(asio::use_awaitable), void()>(
        [this](auto handler) { sleeper_ = std::move(handler); }, asio::use_awaitable);
}

awaitable<void> HttpSession::breathe() {
  streak_ = 0;
  co_await asio::post(*io_, asio::use_awaitable);
}

// --- Bytes -------------------------------------------------------------------------------------

awaitable<bool> HttpSession::ready(Want want) {
  if (want == Want::nothing || expired_ || aborted_) co_return false;
  streak_ = 0;
  const auto [error] = co_await socket_.async_wait(
      want == Want::read ? stream_descriptor::wait_read : stream_descriptor::wait_write,
      kPlainAwait);
  co_return !error && !expired_ && !aborted_;
}

awaitable<std::size_t> HttpSession::read(std::span<char> room) {
  for (;;) {
    const auto [bytes, want] = stream_->read(room);
    if (bytes > 0) {
      if (++streak_ >= kLongestStreak) co_await breathe();
      co_return expired_ || aborted_ ? 0 : bytes;
    }
    if (!co_await ready(want)) co_return 0;
  }
}

awaitable<bool> HttpSession::write(std::string_view bytes) {
  std::size_t progress = kWriteProgress;
  while (!bytes.empty()) {
    const auto [written, want] = stream_->write(bytes);
    bytes.remove_prefix(written);
    progress += written;
    if (written > 0) {
      if (++streak_ >= kLongestStreak) co_await breathe();
      continue;
    }
    if (progress >= kWriteProgress) {
      progress = 0;
      deadline_ = Clock::now() + limits_.write_time;
    }
    if (!co_await ready(want)) co_return false;
  }
  deadline_ = SteadyTime::max();
  co_return true;
}

// --- The life of a connection ------------------------------------------------------------------

awaitable<void> HttpSession::run(std::function<void()> ended) {
  const auto self = shared_from_this();
  try {
    if (stream_ && co_await greet()) {
      while (co_await exchange()) {
      }
      if (refusal_.status != 0) co_await refuse();
      if (answered_ && !aborted_) co_await linger();
    }
  } catch (...) {  // no memory: this connection ends, others go on
    aborted_ = true;
  }
  if (answer_ && answer_->stream) answer_->stream->abandon();
  leave();
  ended();
}

void HttpSession::leave() {
  if (std::exchange(ended_, true)) return;
  table_.remove(place_);
  --service_->connections;
  stream_.reset();
  boost::system::error_code error;
  error = socket_.close(error);
}

awaitable<bool> HttpSession::greet() {
  for (;;) {
    const auto [done, want] = stream_->greet();
    if (done) break;
    if (!co_await ready(want)) co_return false;
  }
  certificate_ = stream_->client_certificate();
  co_return true;
}

// One request and its answer. False: it was the last.
awaitable<bool> HttpSession::exchange() {
  HttpRequest request;
  HttpHeadParser head(limits_.header_bytes, request);
  if (!co_await receive_head(head)) co_return false;
  ++requests_;
  if (!right_host(request)) co_return false;
  request.by_operator = by_operator_;
  if (peer_) request.address = service_->proxies.client(*peer_, request.headers).to_text();
  request.client_certificate = certificate_;
  if (!co_await receive_body(head, request)) co_return false;
  service_->requests.fetch_add(1, std::memory_order_relaxed);
  deadline_ = SteadyTime::max();
  table_.begin_call(place_);
  in_call_ = true;
  answer_.reset();
  try {
    service_->handler(std::move(request), make_responder(shared_from_this(), limits_.stream_bytes));
  } catch (...) {
    // The responder was dropped on the way, and says 500.
    service_->failed.fetch_add(1, std::memory_order_relaxed);
  }
  while (!answer_ && !aborted_)
    co_await sleep();
  if (aborted_) co_return false;

  const bool close =
      !head.keep_alive() || table_.draining || requests_ >= limits_.requests_per_connection;
  if (!co_await answer(head.head_only(), close)) co_return false;
  answer_.reset();
  table_.wait(place_);
  in_call_ = false;
  co_return !close;
}

awaitable<bool> HttpSession::receive_head(HttpHeadParser& head) {
  // The first head has its time from the accept on.
  const bool first = requests_ == 0;
  bool waiting = in_.empty();
  if (!first) deadline_ = Clock::now() + (waiting ? limits_.idle_time : limits_.header_time);
  if (waiting) in_.shrink();
  for (;;) {
    switch (head.parse(in_.bytes())) {
      case HttpHeadParser::State::complete:
        in_.consume(head.length());
        co_return true;
      case HttpHeadParser::State::refused:
        co_return refused(head.refusal().status, head.refusal().sentence);
      case HttpHeadParser::State::incomplete:
        break;
    }
    // One byte more than a head may have, so that the parser sees that it is too long.
    if (!in_.make_room(limits_.header_bytes + 1))
      co_return refused(503, "Too much is being received at once.");
    // After an answer there is nothing to read yet: a try would be in vain.
    if (waiting && !stream_->may_hold_bytes() && !co_await ready(Want::read)) co_return false;
    const std::size_t bytes = co_await read(in_.room());
    if (bytes == 0) co_return waiting ? false : no_request();
    in_.produced(bytes);
    if (waiting && !first) deadline_ = Clock::now() + limits_.header_time;
    waiting = false;
  }
}

bool HttpSession::right_host(const HttpRequest& request) {
  const std::string_view host = request.header("host");
  if (host != known_host_) {
    switch (service_->hosts.judge(host, local_)) {
      case AllowedHosts::Verdict::malformed:
        return refused(400, "The Host header is not a host with a port.");
      case AllowedHosts::Verdict::foreign:
        // No page can be led to a unix socket, and clients write all sorts of names there.
        if (peer_) return refused(421, "The Host header names a host that is not served here.");
        break;
      case AllowedHosts::Verdict::allowed:
        break;
    }
    known_host_ = host;
  }
  for (const auto& [name, value] : request.headers)
    if (name == "origin" && !service_->hosts.allows_origin(value, local_))
      return refused(421, "The Origin header names a site that may not call this server.");
  return true;
}

awaitable<bool> HttpSession::receive_body(const HttpHeadParser& head, HttpRequest& request) {
  if (!head.chunked() && head.content_length() == 0) co_return true;
  std::string& body = request.body;
  BodyTerms terms = service_->body_terms ? service_->body_terms(request) : BodyTerms{};
  const std::size_t most = std::min(terms.most, limits_.body_bytes);
  if (head.content_length() > most) co_return refused(413, "The body is too large.");
  table_.wait(place_);
  deadline_ = Clock::now() + limits_.body_time;
  if (head.expects_continue() && in_.empty()) {
    if (!co_await write("HTTP/1.1 100 Continue\r\n\r\n")) co_return false;
    deadline_ = Clock::now() + limits_.body_time;
  }
  BodyShare share(service_->buffered, service_->shares,
                  terms.sender.empty() ? request.address : std::move(terms.sender));
  co_return head.chunked() ? co_await receive_chunks(most, body, share)
                           : co_await receive_length(head.content_length(), body, share);
}

awaitable<bool> HttpSession::receive_length(std::uint64_t length, std::string& body,
                                            BodyShare& share) {
  const std::string_view early = in_.bytes().substr(0, length);
  // Memory is taken as bytes come, not as they are announced: announcing costs a client nothing.
  std::size_t room = std::min<std::uint64_t>(length, std::max<std::size_t>(early.size(), 4096));
  if (!share.hold(room)) co_return refused(503, share.refusal());
  body.reserve(room);
  body = early;
  in_.consume(early.size());
  while (body.size() < length) {
    const std::size_t have = body.size();
    if (have == room) {
      room = std::min<std::uint64_t>(length, room * 2);
      if (!share.hold(room)) co_return refused(503, share.refusal());
      body.reserve(room);
    }
    body.resize(room);
    const std::size_t bytes = co_await read({body.data() + have, room - have});
    body.resize(have + bytes);
    if (bytes == 0) co_return no_request();
  }
  co_return true;
}

awaitable<bool> HttpSession::receive_chunks(std::size_t most, std::string& body, BodyShare& share) {
  ChunkedDecoder decoder(most);
  for (;;) {
    in_.consume(decoder.feed(in_.bytes(), body));
    if (decoder.refusal().status != 0)
      co_return refused(decoder.refusal().status, decoder.refusal().sentence);
    // What a string has beyond the largest body is never touched.
    if (!share.hold(std::min(body.capacity(), most))) co_return refused(503, share.refusal());
    if (!in_.make_room(kChunkBuffer)) co_return refused(503, "Too much is being received at once.");
    if (decoder.done()) co_return true;
    const std::size_t bytes = co_await read(in_.room());
    if (bytes == 0) co_return no_request();
    in_.produced(bytes);
  }
}

// --- Answers -----------------------------------------------------------------------------------

HttpResponse HttpSession::problem(unsigned status, std::string_view sentence) const {
  try {
    if (service_->problem) return service_->problem(status, sentence);
  } catch (...) {
    status = 500;
  }
  return {.status = status};
}

awaitable<bool> HttpSession::answer(bool head_only, bool close) {
  HttpResponse& response = answer_->response;
  if (response.status == 0) response = problem(500, "The request was not answered.");
  const bool streams = answer_->stream != nullptr;
  out_.clear();
  append_head(out_, response, streams ? BodyForm::chunks : BodyForm::length, close, table_.date);
  const bool bare = head_only || !has_body(response.status);
  if (bare && streams) answer_->stream->abandon();
  bool sent = false;
  if (bare) {
    sent = co_await write(out_);
  } else if (streams) {
    append_chunk(out_, response.body);
    sent = co_await send_stream(answer_->stream);
  } else if (response.body.size() <= kWriteProgress) {
    out_ += response.body;
    sent = co_await write(out_);
  } else {
    sent = co_await write(out_) && co_await write(response.body);
  }
  if (out_.capacity() > 2 * kWriteProgress) out_ = {};
  answered_ = answered_ || sent;
  co_return sent;
}

awaitable<bool> HttpSession::send_stream(std::shared_ptr<StreamQueue> stream) {
  streaming_ = true;
  // The head goes out at once, with what there is already.
  for (bool first = true;; first = false) {
    switch (stream->take(out_)) {
      case StreamQueue::Next::nothing:
        if (first) break;
        if (out_.capacity() > 2 * kWriteProgress) out_ = {};
        co_await sleep();
        if (aborted_) {
          stream->abandon();
          co_return false;
        }
        continue;
      case StreamQueue::Next::pieces:
        break;
      case StreamQueue::Next::whole:
        streaming_ = false;
        out_ += kLastChunk;
        co_return co_await write(out_);
      case StreamQueue::Next::cut:
        co_return false;
    }
    if (!co_await write(out_)) {
      stream->abandon();
      co_return false;
    }
    out_.clear();
  }
}

awaitable<void> HttpSession::refuse() {
  service_->refused.fetch_add(1, std::memory_order_relaxed);
  expired_ = false;
  answer_ = Answer{.response = problem(refusal_.status, refusal_.sentence)};
  co_await answer(false, true);
}

// Closing a socket with unread bytes makes the kernel reset the connection, and the client may then
// never see the answer that says why.
awaitable<void> HttpSession::linger() {
  stream_->finish();
  expired_ = false;
  deadline_ = Clock::now() + kLinger;
  std::array<char, 4096> rubbish{};
  for (;;) {
    if (!co_await ready(Want::read)) co_return;
    const ssize_t count = ::recv(fd(), rubbish.data(), rubbish.size(), 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) co_return;
  }
}

}  // namespace

void start_session(const std::shared_ptr<asio::io_context>& io,
                   std::shared_ptr<HttpService> service, SessionTable& table, Accepted accepted,
                   std::function<void()> ended) {
  const auto session =
      std::make_shared<HttpSession>(io, std::move(service), table, std::move(accepted));
  asio::co_spawn(*io, session->run(std::move(ended)), asio::detached);
}

}  // namespace sallyport
