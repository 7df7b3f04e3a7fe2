#include "egress/link.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>

namespace sallyport {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace asio::experimental::awaitable_operators;

class Links : public testing::Test {
 protected:
  Links() {
    tcp::acceptor acceptor(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    tcp::socket client(io_);
    client.connect(acceptor.local_endpoint());
    client_ = plain_link(std::move(client));
    server_ = plain_link(acceptor.accept());
  }

  template <class Body>
  void run(Body body) {
    asio::co_spawn(io_, body(), [](std::exception_ptr thrown) {
      if (thrown) std::rethrow_exception(thrown);
    });
    io_.run_for(std::chrono::seconds(20));
    EXPECT_TRUE(io_.stopped()) << "something waits for ever";
  }

  asio::io_context io_;
  std::unique_ptr<Link> client_, server_;
};

TEST_F(Links, WriteAllOfIt) {
  std::string sent(std::size_t{16} << 20, '\0'), received;
  for (std::size_t i = 0; i < sent.size(); ++i)
    sent[i] = static_cast<char>(i * 2654435761U >> 16);
  run([&]() -> Task<void> {
    const auto send = [&]() -> Task<void> {
      EXPECT_TRUE(co_await client_->write(sent));
      co_await client_->finish();
    };
    const auto receive = [&]() -> Task<void> {
      BufferedLink buffered(*server_);
      while (co_await buffered.read_more()) {
        received += buffered.pending;
        buffered.drop(buffered.pending.size());
      }
    };
    co_await (send() && receive());
  });
  EXPECT_TRUE(received == sent);
  EXPECT_FALSE(server_->failed());
}

TEST_F(Links, SayThatTheOtherSideIsGone) {
  const std::string much(std::size_t{16} << 20, 'x');
  run([&]() -> Task<void> {
    server_->reset();
    EXPECT_FALSE(co_await client_->write(much));
  });
  EXPECT_TRUE(client_->failed());
}

TEST_F(Links, GiveMoreRoomBehindMuchAndNoneWhileNothingComes) {
  run([&]() -> Task<void> {
    const auto send = [&]() -> Task<void> {
      co_await client_->write(std::string(std::size_t{8} << 20, 'x'));
    };
    BufferedLink buffered(*server_);
    std::size_t most = 0, left = std::size_t{8} << 20;
    const auto receive = [&]() -> Task<void> {
      while (left > 0 && co_await buffered.read_more()) {
        const std::size_t came = buffered.pending.size();
        most = std::max(most, came);
        left -= came;
        buffered.drop(came);
      }
    };
    co_await (send() && receive());
    EXPECT_EQ(left, 0U);
    EXPECT_GT(most, kLittleRoom);
    EXPECT_LE(most, kMostRoom);
    const auto speak_late = [&]() -> Task<void> {
      EXPECT_LT(buffered.pending.capacity(), kLittleRoom);
      co_await client_->write("late");
    };
    const auto listen = [&]() -> Task<void> { EXPECT_TRUE(co_await buffered.read_more()); };
    co_await (listen() && speak_late());
    EXPECT_EQ(buffered.pending, "late");
  });
}

}  // namespace
}  // namespace sallyport
