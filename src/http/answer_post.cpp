#include "http/answer_post.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdlib>
#include <list>
#include <utility>
#include <vector>

#include "base/recycled.h"

namespace sallyport {
namespace {

namespace asio = boost::asio;

struct Given {
  std::weak_ptr<AnswerTaker> taker;
  Answer answer;
};

using Answers = std::list<Given, RecycledAllocator<Given>>;

struct ForLoop {
  std::shared_ptr<asio::io_context> io;
  Answers answers;
};

// What this thread gives together: a loop each. Their number is small.
thread_local unsigned together = 0;
thread_local std::vector<ForLoop> waiting;

void hand_over(Given&& given) {
  if (const auto taker = given.taker.lock()) return taker->go_on_with(std::move(given.answer));
  given.answer.make_response();
  if (given.answer.stream) given.answer.stream->abandon();
}

bool is_own(asio::io_context& io) {
  return io.get_executor().running_in_this_thread();
}

void hand_over_all(Answers answers) {
  for (Given& given : answers)
    hand_over(std::move(given));
}

}  // namespace

void give_on_loop(const std::shared_ptr<asio::io_context>& io, std::weak_ptr<AnswerTaker> taker,
                  Answer&& answer) {
  if (together == 0) {
    Given given{.taker = std::move(taker), .answer = std::move(answer)};
    return asio::post(*io, [given = std::move(given)]() mutable { hand_over(std::move(given)); });
  }
  // First all of them are made, then all are sent: both find in the cache what the last one needed.
  if (is_own(*io)) answer.make_response();
  auto loop = std::ranges::find(waiting, io, &ForLoop::io);
  if (loop == waiting.end()) loop = waiting.insert(loop, {.io = io, .answers = {}});
  loop->answers.emplace_back(std::move(taker), std::move(answer));
}

AnswersTogether::AnswersTogether() {
  ++together;
}

AnswersTogether::~AnswersTogether() {
  if (--together > 0) return;
  try {
    for (ForLoop& loop : std::exchange(waiting, {})) {
      // Who gives answers together is within no connection: those of this thread can go on at once.
      if (is_own(*loop.io))
        hand_over_all(std::move(loop.answers));
      else
        asio::post(*loop.io, [answers = std::move(loop.answers)]() mutable {
          hand_over_all(std::move(answers));
        });
    }
  } catch (...) {
    // No memory to give answers that clients wait for: a new process can, this one cannot.
    std::abort();
  }
}

}  // namespace sallyport
