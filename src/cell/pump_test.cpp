#include "cell/pump.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "cell/pipe_fixture.h"

namespace sallyport {
namespace {

// All that comes until the end of the stream.
std::string read_to_end(int fd) {
  std::string all;
  char buffer[65536];
  for (;;) {
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 60'000) <= 0) return all + "(no end)";
    const ssize_t size = ::read(fd, buffer, sizeof(buffer));
    if (size <= 0) return all;
    all.append(buffer, static_cast<std::size_t>(size));
  }
}

std::string many_bytes() {
  std::string text;
  while (text.size() < 50'000)
    text += std::to_string(text.size()) + " ";
  return text;
}

TEST(Pump, CarriesAllThatTheToolWritesAndThenEnds) {
  Pipe tool;
  auto ours = pump_from(std::move(tool.read));
  ASSERT_TRUE(ours);
  const std::string text = many_bytes();
  ASSERT_EQ(::write(tool.write.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  tool.write.reset();
  EXPECT_EQ(read_to_end(ours->get()), text);
}

TEST(Pump, CarriesAllThatIsMeantForTheToolAndThenEnds) {
  Pipe tool;
  auto ours = pump_to(std::move(tool.write));
  ASSERT_TRUE(ours);
  const std::string text = many_bytes();
  ASSERT_EQ(::write(ours->get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ours->reset();
  EXPECT_EQ(read_to_end(tool.read.get()), text);
}

TEST(Pump, TellsThatTheToolReadsNoMore) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe tool;
  auto ours = pump_to(std::move(tool.write));
  ASSERT_TRUE(ours);
  tool.read.reset();
  pollfd gone{.fd = ours->get(), .events = 0, .revents = 0};
  ASSERT_EQ(::write(ours->get(), "x", 1), 1);
  EXPECT_EQ(::poll(&gone, 1, 60'000), 1);
  EXPECT_NE(gone.revents & POLLERR, 0);
}

TEST(Pump, NeverBlocksItsOwner) {
  Pipe tool;
  auto from = pump_from(std::move(tool.read));
  ASSERT_TRUE(from);
  char byte;
  EXPECT_EQ(::read(from->get(), &byte, 1), -1);
  EXPECT_EQ(errno, EAGAIN);
}

}  // namespace
}  // namespace sallyport
