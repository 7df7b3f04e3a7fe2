#include "http/exchange.h"

#include <utility>

#include "http/response.h"

namespace sallyport {

bool StreamQueue::woken() {
  return std::exchange(sleeping_, false);
}

StreamQueue::Pushed StreamQueue::push(std::string_view piece) {
  const std::lock_guard lock(mutex_);
  if (ended_) return {};
  if (piece.size() > most_ || waiting_.size() > most_ - piece.size()) {
    ended_ = cut_ = true;
    waiting_ = {};
    return {.taken = false, .wake = woken()};
  }
  append_chunk(waiting_, piece);
  return {.taken = true, .wake = !piece.empty() && woken()};
}

bool StreamQueue::end(bool whole) {
  const std::lock_guard lock(mutex_);
  if (ended_) return false;
  ended_ = true;
  cut_ = !whole;
  return woken();
}

StreamQueue::Next StreamQueue::take(std::string& out) {
  const std::lock_guard lock(mutex_);
  if (cut_) return Next::cut;
  if (!waiting_.empty()) {
    if (out.empty()) {
      out.swap(waiting_);
    } else {
      out += waiting_;
      waiting_.clear();
    }
    return Next::pieces;
  }
  if (ended_) return Next::whole;
  sleeping_ = true;
  return Next::nothing;
}

void StreamQueue::abandon() {
  const std::lock_guard lock(mutex_);
  ended_ = cut_ = true;
  waiting_ = {};
}

void Answer::make_response() {
  if (make) try {
      response = std::exchange(make, nullptr)();
    } catch (...) {  // no memory
      response.status = 0;
    }
}

namespace {

class QueuedStream final : public HttpStream {
 public:
  QueuedStream(std::shared_ptr<StreamQueue> queue, std::shared_ptr<AnswerTaker> taker)
      : queue_(std::move(queue)), taker_(std::move(taker)) {}
  QueuedStream(const QueuedStream&) = delete;
  QueuedStream& operator=(const QueuedStream&) = delete;
  // Whoever wrote it has gone in the middle.
  ~QueuedStream() override { finish(false); }

  bool write(std::string_view piece) override {
    const auto [taken, wake] = queue_->push(piece);
    if (wake) taker_->look_at_stream();
    return taken;
  }
  void close() override { finish(true); }

 private:
  void finish(bool whole) {
    if (queue_->end(whole)) taker_->look_at_stream();
  }

  std::shared_ptr<StreamQueue> queue_;
  std::shared_ptr<AnswerTaker> taker_;
};

class Exchange final : public Responder::Connection {
 public:
  Exchange(std::shared_ptr<AnswerTaker> taker, std::size_t stream_bytes)
      : taker_(std::move(taker)), stream_bytes_(stream_bytes) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() override {
    if (!answered_) taker_->take_answer({.response = {.status = 0}});
  }

  void send(HttpResponse response) override {
    if (answered_.exchange(true)) return;
    taker_->take_answer({.response = std::move(response)});
  }

  void send(std::move_only_function<HttpResponse()> make) override {
    if (answered_.exchange(true)) return;
    taker_->take_answer({.make = std::move(make)});
  }

  std::shared_ptr<HttpStream> stream(HttpResponse head) override {
    auto queue = std::make_shared<StreamQueue>(stream_bytes_);
    auto stream = std::make_shared<QueuedStream>(queue, taker_);
    if (answered_.exchange(true))
      queue->abandon();
    else
      taker_->take_answer({.response = std::move(head), .stream = std::move(queue)});
    return stream;
  }

 private:
  std::shared_ptr<AnswerTaker> taker_;
  std::size_t stream_bytes_;
  std::atomic<bool> answered_ = false;
};

}  // namespace

Responder make_responder(std::shared_ptr<AnswerTaker> taker, std::size_t stream_bytes) {
  return Responder(std::make_shared<Exchange>(std::move(taker), stream_bytes));
}

Responder::Responder(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
Responder::~Responder() = default;

void Responder::send(HttpResponse response) {
  if (connection_) connection_->send(std::move(response));
}

void Responder::send(std::move_only_function<HttpResponse()> make) {
  if (connection_) connection_->send(std::move(make));
}

std::shared_ptr<HttpStream> Responder::stream(HttpResponse head) {
  return connection_ ? connection_->stream(std::move(head)) : nullptr;
}

}  // namespace sallyport
