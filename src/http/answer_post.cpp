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

struct ForLoop {
  std::shared_ptr<asio::io_context> io;
  std::list<Given, RecycledAllocator<Given>> answers;
};

// What this thread gives together: a loop each. Their number is small.
thread_local unsigned together = 0;
thread_local std::vector<ForLoop> waiting;

void hand_over(Given&& given) {
  if (const auto taker = given.taker.lock()) return taker->go_on_with(std::move(given.answer));
  given.answer.make_response();
  if (given.answer.stream) given.answer.stream->abandon();
}

}  // namespace

void give_on_loop(const std::shared_ptr<asio::io_context>& io, std::weak_ptr<AnswerTaker> taker,
                  Answer&& answer) {
  if (together == 0) {
    Given given{.taker = std::move(taker), .answer = std::move(answer)};
    return asio::post(*io, [given = std::move(given)]() mutable { hand_over(std::move(given)); });
  }
  // Who gives answers together is within no connection: those of this thread can go on at once.
  if (io->get_executor().running_in_this_thread())
    return hand_over({.taker = std::move(taker), .answer = std::move(answer)});
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
    for (ForLoop& loop : std::exchange(waiting, {}))
      asio::post(*loop.io, [answers = std::move(loop.answers)]() mutable {
        for (Given& given : answers)
          hand_over(std::move(given));
      });
  } catch (...) {
    // No memory to give answers that clients wait for: a new process can, this one cannot.
    std::abort();
  }
}

}  // namespace sallyport
