// From the handler back to the connection: the one answer to a request, whole or in pieces, given
// by any thread at any time, even after the connection has gone.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "http/server.h"

namespace sallyport {

// The pieces of a stream that wait for the client to read.
class StreamQueue {
 public:
  enum class Next { pieces, nothing, whole, cut };

  explicit StreamQueue(std::size_t most) : most_(most) {}

  struct Pushed {
    bool taken = false;
    bool wake = false;  // the connection sleeps and must be told
  };
  // A piece that does not fit cuts the stream off: what follows it would be read as its successor.
  [[nodiscard]] Pushed push(std::string_view piece);
  // No more pieces; not `whole`: the client must not take what it has for all. True: wake.
  [[nodiscard]] bool end(bool whole);

  // For the connection: appends the waiting pieces, as chunks, to `out`. After `nothing` it sleeps.
  [[nodiscard]] Next take(std::string& out);
  // ... and refuses all further pieces.
  void abandon();

 private:
  [[nodiscard]] bool woken();

  const std::size_t most_;
  std::mutex mutex_;
  std::string waiting_;
  bool ended_ = false, cut_ = false, sleeping_ = false;
};

struct Answer {
  HttpResponse response;                         // status 0: the handler gave none
  std::shared_ptr<StreamQueue> stream;           // null: the response is all
  std::move_only_function<HttpResponse()> make;  // if any: makes the response

  // On the thread of the connection, once, whether the client is still there or not.
  void make_response();
};

// The connection as answers see it; all functions from any thread but the last.
class AnswerTaker {
 public:
  virtual ~AnswerTaker() = default;
  virtual void take_answer(Answer&& answer) = 0;
  virtual void look_at_stream() = 0;
  // The answer has come to the thread of the connection.
  virtual void go_on_with(Answer&& answer) = 0;
};

// Takes the first answer, ignores others; dropped without one, it says so.
[[nodiscard]] Responder make_responder(std::shared_ptr<AnswerTaker> taker,
                                       std::size_t stream_bytes);

}  // namespace sallyport
