#include "egress/splice.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <chrono>
#include <utility>

namespace sallyport {
namespace {

namespace asio = boost::asio;
constexpr std::size_t kMost = std::size_t{1} << 20;  // at a time, and what a pipe is asked to hold

bool must_wait() {
  return errno == EAGAIN || errno == EINTR;
}

// Waits for bytes. While much comes, it is let gather: or each packet would wake this process, and
// take the processor from those who send and receive. The kernel is told how much is worth a
// wake-up, and a moment is the longest that less than that waits.
class Gathering {
 public:
  Gathering(Link& from, const asio::any_io_executor& executor) : from_(from), moment_(executor) {}

  // `came`: since the last wait, until there was nothing more.
  Task<void> wait(std::size_t came) {
    using namespace asio::experimental::awaitable_operators;
    constexpr std::size_t kMuch = std::size_t{8} << 10;
    constexpr auto kMoment = std::chrono::microseconds(400);
    if (came < kMuch) {
      ask_for(1);
      co_await from_.wait();
      co_return;
    }
    ask_for(kWorthWaking);
    moment_.expires_after(kMoment);
    co_await (from_.wait() || moment_.async_wait(asio::as_tuple(asio::use_awaitable)));
  }

 private:
  static constexpr int kWorthWaking = 512 << 10;

  void ask_for(int bytes) {
    if (bytes == asked_) return;
    if (::setsockopt(from_.socket(), SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes)) == 0)
      asked_ = bytes;
  }

  Link& from_;
  asio::steady_timer moment_;
  int asked_ = 1;
};

}  // namespace

std::optional<Pipe> Pipe::make() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return std::nullopt;
  static_cast<void>(::fcntl(ends[1], F_SETPIPE_SZ, kMost));
  return Pipe{.read = Fd(ends[0]), .write = Fd(ends[1])};
}

Task<Carried> splice_rest(Link& from, Link& to, const Pipe& pipe,
                          const std::function<bool(std::size_t)>& take) {
  Gathering gathering(from, co_await asio::this_coro::executor);
  std::size_t fresh = 0;  // what came since the last wait
  for (;;) {
    const ssize_t came = ::splice(from.socket(), nullptr, pipe.write.get(), nullptr, kMost,
                                  SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (came == 0) co_return Carried::to_the_end;
    if (came < 0) {
      if (!must_wait()) {
        from.set_failed();
        co_return Carried::failed;
      }
      co_await gathering.wait(std::exchange(fresh, 0));
      continue;
    }
    fresh += static_cast<std::size_t>(came);
    if (!take(static_cast<std::size_t>(came))) co_return Carried::too_much;
    for (ssize_t left = came; left > 0;) {
      const ssize_t went =
          ::splice(pipe.read.get(), nullptr, to.socket(), nullptr, static_cast<std::size_t>(left),
                   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
      if (went > 0) {
        left -= went;
      } else if (must_wait()) {
        co_await to.wait_to_write();
      } else {
        to.set_failed();
        co_return Carried::failed;
      }
    }
  }
}

}  // namespace sallyport
