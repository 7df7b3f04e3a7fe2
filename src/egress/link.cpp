#include "egress/link.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace sallyport {
namespace {

namespace asio = boost::asio;
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

class PlainLink final : public Link {
 public:
  explicit PlainLink(asio::ip::tcp::socket socket) : socket_(std::move(socket)) {
    boost::system::error_code ignored;
    ignored = socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    ignored = socket_.non_blocking(true, ignored);
  }

  Task<void> wait() override {
    co_await socket_.async_wait(asio::ip::tcp::socket::wait_read, kTuple);
  }

  Task<std::size_t> read(std::span<char> room) override {
    const auto [error, size] =
        co_await socket_.async_read_some(asio::buffer(room.data(), room.size()), kTuple);
    if (error && error != asio::error::eof) failed_ = true;
    co_return error ? 0 : size;
  }

  Task<bool> write(std::string_view bytes) override {
    // Not asio::async_write(): it cuts what it is given into pieces of 64 KiB, each with a call and
    // a wake-up of the other side.
    while (!bytes.empty()) {
      const auto [error, size] =
          co_await socket_.async_write_some(asio::buffer(bytes.data(), bytes.size()), kTuple);
      if (error) {
        failed_ = true;
        co_return false;
      }
      bytes.remove_prefix(size);
    }
    co_return true;
  }

  Task<void> finish() override {
    boost::system::error_code ignored;
    ignored = socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    co_return;
  }

  void close() override {
    boost::system::error_code ignored;
    ignored = socket_.close(ignored);
  }

  void reset() override {
    boost::system::error_code ignored;
    ignored = socket_.set_option(asio::socket_base::linger(true, 0), ignored);
    ignored = socket_.close(ignored);
  }

  [[nodiscard]] bool failed() const override { return failed_; }

  [[nodiscard]] int socket() override { return socket_.native_handle(); }
  Task<void> wait_to_write() override {
    co_await socket_.async_wait(asio::socket_base::wait_write, kTuple);
  }
  void set_failed() override { failed_ = true; }

 private:
  asio::ip::tcp::socket socket_;
  bool failed_ = false;
};

}  // namespace

std::unique_ptr<Link> plain_link(asio::ip::tcp::socket socket) {
  return std::make_unique<PlainLink>(std::move(socket));
}

Task<bool> BufferedLink::read_more() {
  const std::size_t room = room_after(came_last_);
  if (pending.empty()) std::string().swap(pending);
  co_await link.wait();
  const std::size_t had = pending.size();
  resize_for_reading(pending, had + room);
  came_last_ = co_await link.read(std::span(pending).subspan(had));
  pending.resize(had + came_last_);
  co_return came_last_ > 0;
}

}  // namespace sallyport
