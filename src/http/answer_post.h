// The way of answers from the threads that make them to the loops that send them.
#pragma once

#include <memory>

#include "http/exchange.h"

namespace boost::asio {
class io_context;
}

namespace sallyport {

// Has the loop of `io` hand the answer to `taker`, if that is still there: at once, or when the
// AnswersTogether of this thread ends. A weak pointer: a loop that has ended keeps what is posted
// to it for good, and a connection keeps its loop.
void give_on_loop(const std::shared_ptr<boost::asio::io_context>& io,
                  std::weak_ptr<AnswerTaker> taker, Answer&& answer);

}  // namespace sallyport
