#include "http/loop.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "http/response.h"
#include "http/server.h"

namespace sallyport {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::posix::stream_descriptor;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kPlainAwait = asio::as_tuple(asio::use_awaitable);
// At once, before the other listeners and sessions have their turn.
constexpr int kMostAccepts = 64;
constexpr milliseconds kPauseWithoutDescriptors{50};

// How often the clock is looked at: a deadline is late by this much at most. One timer for all
// connections: setting one for each phase of each request would cost more than the request.
milliseconds tick_of(const HttpLimits& limits) {
  const milliseconds shortest =
      std::min({limits.header_time, limits.body_time, limits.write_time, limits.idle_time});
  return std::clamp(shortest / 8, milliseconds(5), milliseconds(200));
}

thread_local asio::io_context* this_loop = nullptr;

bool out_of_resources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

class AsioLoop final : public HttpLoop {
 public:
  AsioLoop(std::shared_ptr<HttpService> service, std::size_t connections)
      : io_(std::make_shared<asio::io_context>(1)),
        service_(std::move(service)),
        most_(connections),
        timer_(*io_),
        work_(io_->get_executor()) {
    table_.date = http_date(std::time(nullptr));
  }

  void run() override {
    asio::co_spawn(*io_, watch_clock(), asio::detached);
    this_loop = io_.get();
    io_->run();
    this_loop = nullptr;
  }

  void listen(std::vector<HttpListener> listeners, std::function<void(Accepted)> place) override {
    place_ = std::move(place);
    for (HttpListener& listener : listeners) {
      listeners_.push_back(std::make_unique<stream_descriptor>(*io_, listener.socket.get()));
      static_cast<void>(listener.socket.release());
      asio::co_spawn(
          *io_, accept(*listeners_.back(), {.tls = listener.tls, .operators = listener.operators}),
          asio::detached);
    }
  }

  void serve(Accepted accepted) override {
    ++connections_;
    asio::post(*io_,
               [this, accepted = std::move(accepted)]() mutable { begin(std::move(accepted)); });
  }

  void free_one() override {
    asio::post(*io_, [this] { close_oldest(); });
  }

  void drain(SteadyTime deadline) override {
    asio::post(*io_, [this, deadline] {
      deadline_ = std::min(deadline_, deadline);
      if (!std::exchange(table_.draining, true)) {
        for (const auto& listener : listeners_) {
          boost::system::error_code error;
          error = listener->close(error);
        }
        table_.each([](Session& session) {
          if (session.is_quiet()) session.abort();
        });
      }
      end_if_drained();
    });
  }

  std::size_t connections() const override { return connections_; }

 private:
  // What a listener is for.
  struct Kind {
    bool tls = false, operators = false;
  };
  awaitable<void> watch_clock();
  awaitable<void> accept(stream_descriptor& listener, Kind kind);
  [[nodiscard]] int accept_some(int listener, Kind kind);

  void begin(Accepted accepted);
  bool close_oldest() {
    Session* const oldest = table_.take_oldest();
    if (oldest != nullptr) oldest->abort();
    return oldest != nullptr;
  }
  void end_if_drained() {
    if (!table_.draining || connections_ > 0) return;
    work_.reset();
    timer_.cancel();
  }
  void ended() {
    --connections_;
    end_if_drained();
  }

  std::shared_ptr<asio::io_context> io_;  // outlives the loop while an answer may still be given
  std::shared_ptr<HttpService> service_;
  std::size_t most_;
  SessionTable table_;
  asio::steady_timer timer_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::vector<std::unique_ptr<stream_descriptor>> listeners_;
  std::function<void(Accepted)> place_;
  SteadyTime deadline_ = SteadyTime::max();  // of the drain
  std::atomic<std::size_t> connections_ = 0;
};

void AsioLoop::begin(Accepted accepted) {
  const bool full = connections_ > most_;
  if (table_.draining || (full && !close_oldest())) return ended();
  try {
    start_session(io_, service_, table_, std::move(accepted), [this] { ended(); });
  } catch (...) {  // no memory, or no room in epoll
    ended();
  }
}

awaitable<void> AsioLoop::watch_clock() {
  const milliseconds tick = tick_of(service_->limits);
  std::time_t second = 0;
  while (work_.owns_work()) {
    timer_.expires_after(tick);
    co_await timer_.async_wait(kPlainAwait);
    const SteadyTime now = Clock::now();
    const bool over = now >= deadline_;
    table_.each([&](Session& session) {
      if (over)
        session.abort();
      else
        session.look_at_clock(now);
    });
    if (const std::time_t wall = std::time(nullptr); wall != second) {
      second = wall;
      table_.date = http_date(wall);
    }
  }
}

awaitable<void> AsioLoop::accept(stream_descriptor& listener, Kind kind) {
  asio::steady_timer pause(*io_);
  while (!table_.draining) {
    const auto [error] = co_await listener.async_wait(stream_descriptor::wait_read, kPlainAwait);
    if (table_.draining) co_return;
    if (!error && !out_of_resources(accept_some(listener.native_handle(), kind))) continue;
    // The connection stays in the queue and the listener ready: without a pause this would spin.
    place_({});
    pause.expires_after(kPauseWithoutDescriptors);
    co_await pause.async_wait(kPlainAwait);
  }
}

// The error that ended it.
int AsioLoop::accept_some(int listener, Kind kind) {
  for (int i = 0; i < kMostAccepts; ++i) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    Fd socket(::accept4(listener, reinterpret_cast<sockaddr*>(&peer), &size,
                        SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      if (errno == EAGAIN || out_of_resources(errno)) return errno;
      continue;  // of a connection that has gone already
    }
    service_->accepted.fetch_add(1, std::memory_order_relaxed);
    try {
      place_({.socket = std::move(socket),
              .peer = address_of(peer),
              .tls = kind.tls,
              .by_operator = kind.operators});
    } catch (...) {
      return ENOMEM;
    }
  }
  return 0;
}

}  // namespace

void after_these_requests(std::move_only_function<void()> work) {
  if (this_loop == nullptr) return work();
  // Behind all that is ready now.
  asio::post(*this_loop, std::move(work));
}

std::unique_ptr<HttpLoop> HttpLoop::create(std::shared_ptr<HttpService> service,
                                           std::size_t connections) {
  try {
    return std::make_unique<AsioLoop>(std::move(service), connections);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace sallyport
