#include "egress/splice.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <string>

namespace sallyport {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace asio::experimental::awaitable_operators;

// Two ends of one connection.
struct Ends {
  std::unique_ptr<Link> far, near;
};
Ends connected(asio::io_context& io) {
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  tcp::socket far(io);
  far.connect(acceptor.local_endpoint());
  return {.far = plain_link(std::move(far)), .near = plain_link(acceptor.accept())};
}

// Bytes that would show if some were lost, doubled or changed places.
std::string bytes_of(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<char>(i * 2654435761U >> 16);
  return bytes;
}

class Splice : public testing::Test {
 protected:
  // What carries the bytes of one connection to another, beside what is done at their far ends.
  void run(const std::function<Task<void>(Link& sender, Link& receiver)>& body) {
    asio::io_context io;
    const Ends from = connected(io), to = connected(io);
    const auto carry = [&]() -> Task<void> {
      const auto pipe = Pipe::make();
      if (!pipe) co_return;
      carried_ = co_await splice_rest(*from.near, *to.near, *pipe, [&](std::size_t bytes) {
        return (total_ += bytes) <= most_;
      });
      if (carried_ == Carried::to_the_end) {
        co_await to.near->finish();
      } else {
        from.near->reset();
        to.near->reset();
      }
    };
    asio::co_spawn(
        io, [&]() -> Task<void> { co_await (carry() && body(*from.far, *to.far)); },
        [](std::exception_ptr thrown) {
          if (thrown) std::rethrow_exception(thrown);
        });
    io.run_for(std::chrono::seconds(60));
    EXPECT_TRUE(io.stopped()) << "something waits for ever";
  }

  static Task<std::string> read_exactly(Link& link, std::size_t size) {
    std::string all(size, '\0');
    std::size_t had = 0;
    while (had < size) {
      const std::size_t came = co_await link.read(std::span(all).subspan(had));
      if (came == 0) break;
      had += came;
    }
    all.resize(had);
    co_return all;
  }

  std::optional<Carried> carried_;
  std::size_t total_ = 0, most_ = SIZE_MAX;
};

TEST_F(Splice, CarriesEverythingInItsOrder) {
  const std::string sent = bytes_of(std::size_t{20} << 20);
  std::string received, behind;
  run([&](Link& sender, Link& receiver) -> Task<void> {
    const auto send = [&]() -> Task<void> {
      co_await sender.write(sent);
      co_await sender.finish();
    };
    const auto receive = [&]() -> Task<void> {
      received = co_await read_exactly(receiver, sent.size());
      behind = co_await read_exactly(receiver, 1);
    };
    co_await (send() && receive());
  });
  EXPECT_TRUE(received == sent);
  EXPECT_EQ(behind, "");
  EXPECT_EQ(carried_, Carried::to_the_end);
  EXPECT_EQ(total_, sent.size());
}

// The kernel has been asked to wake nobody for so little.
TEST_F(Splice, ALittleBehindMuchIsNotKept) {
  const std::string much = bytes_of(std::size_t{4} << 20);
  int answered = 0;
  run([&](Link& sender, Link& receiver) -> Task<void> {
    for (int round = 0; round < 3; ++round) {
      const auto send = [&]() -> Task<void> { co_await sender.write(much); };
      const auto receive = [&]() -> Task<void> {
        EXPECT_EQ((co_await read_exactly(receiver, much.size())).size(), much.size());
      };
      co_await (send() && receive());
      // Each is sent only when the one before has come.
      for (const std::string_view word : {"a", "few", "words"}) {
        co_await sender.write(word);
        if (co_await read_exactly(receiver, word.size()) == word) ++answered;
      }
    }
    co_await sender.finish();
    EXPECT_EQ(co_await read_exactly(receiver, 1), "");
  });
  EXPECT_EQ(answered, 9);
}

// Half of what a wake-up is worth, and then nothing: the rest is there all the same, and the end.
TEST_F(Splice, WhatIsTooLittleForAWakeUpWaitsForAMomentOnly) {
  const std::string piece = bytes_of(std::size_t{256} << 10);
  run([&](Link& sender, Link& receiver) -> Task<void> {
    for (int round = 0; round < 20; ++round) {
      co_await sender.write(piece);
      EXPECT_EQ((co_await read_exactly(receiver, piece.size())).size(), piece.size());
    }
    co_await sender.write(piece);
    co_await sender.finish();
    EXPECT_EQ((co_await read_exactly(receiver, piece.size() + 1)).size(), piece.size());
  });
  EXPECT_EQ(carried_, Carried::to_the_end);
}

TEST_F(Splice, AFailureOfTheSenderIsOne) {
  const std::string much = bytes_of(std::size_t{1} << 20);
  run([&](Link& sender, Link& receiver) -> Task<void> {
    co_await sender.write(much);
    EXPECT_EQ((co_await read_exactly(receiver, much.size())).size(), much.size());
    sender.reset();
    EXPECT_EQ(co_await read_exactly(receiver, 1), "");
    EXPECT_TRUE(receiver.failed());
  });
  EXPECT_EQ(carried_, Carried::failed);
}

TEST_F(Splice, AReceiverThatGoesEndsIt) {
  const std::string much = bytes_of(std::size_t{64} << 20);
  run([&](Link& sender, Link& receiver) -> Task<void> {
    const auto send = [&]() -> Task<void> { EXPECT_FALSE(co_await sender.write(much)); };
    const auto receive = [&]() -> Task<void> {
      co_await read_exactly(receiver, 1 << 20);
      receiver.reset();
    };
    co_await (send() && receive());
  });
  EXPECT_EQ(carried_, Carried::failed);
}

TEST_F(Splice, WhatIsTooMuchDoesNotGoOn) {
  most_ = std::size_t{1} << 20;
  const std::string much = bytes_of(std::size_t{64} << 20);
  std::string received;
  run([&](Link& sender, Link& receiver) -> Task<void> {
    const auto send = [&]() -> Task<void> { EXPECT_FALSE(co_await sender.write(much)); };
    const auto receive = [&]() -> Task<void> {
      received = co_await read_exactly(receiver, much.size());
    };
    co_await (send() && receive());
  });
  EXPECT_EQ(carried_, Carried::too_much);
  EXPECT_LE(received.size(), most_);
}

}  // namespace
}  // namespace sallyport
