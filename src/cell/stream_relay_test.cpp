#include "cell/stream_relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "cell/pipe_fixture.h"

namespace sallyport {
namespace {

struct OpenPipe : Pipe {
  OpenPipe() : Pipe(O_NONBLOCK) {}
  void put(const std::string& text) const {
    EXPECT_EQ(::write(write.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  [[nodiscard]] std::string take() const {
    char buffer[65536];
    const ssize_t size = ::read(read.get(), buffer, sizeof(buffer));
    return size > 0 ? std::string(buffer, static_cast<std::size_t>(size)) : std::string();
  }
};

TEST(StreamRelay, PassesOnWhatComes) {
  OpenPipe tool, reader;
  StreamRelay relay(std::move(tool.read), reader.write.get(), 1_kB);
  tool.put("hello");
  relay.read_some();
  EXPECT_GE(relay.wants_write(), 0);
  relay.write_some();
  EXPECT_EQ(reader.take(), "hello");
  EXPECT_EQ(relay.text(), "hello");
}

TEST(StreamRelay, TakesItsSourceLate) {
  OpenPipe tool, reader;
  StreamRelay relay({}, reader.write.get(), 1_kB);
  EXPECT_EQ(relay.wants_read(), -1);
  tool.put("hello");
  tool.write.reset();
  relay.read_from(std::move(tool.read));
  relay.finish(-1, std::chrono::milliseconds(0));
  EXPECT_EQ(relay.text(), "hello");
  EXPECT_EQ(reader.take(), "hello");
}

TEST(StreamRelay, PassesOnTheHeadAndDrainsTheRest) {
  OpenPipe tool, reader;
  StreamRelay relay(std::move(tool.read), reader.write.get(), 10_B);
  tool.put(std::string(8, 'a') + std::string(30000, 'b'));
  tool.write.reset();
  relay.finish(-1, std::chrono::milliseconds(0));
  EXPECT_EQ(reader.take(), "aaaaaaaabb");
  EXPECT_EQ(relay.total(), 30008U);
  EXPECT_TRUE(relay.truncated());
}

TEST(StreamRelay, DoesNotBlockOnAReaderThatDoesNotRead) {
  OpenPipe tool, reader;
  StreamRelay relay(std::move(tool.read), reader.write.get(), 1_MB);
  while (::write(reader.write.get(), "xxxxxxxx", 8) == 8) {
  }
  tool.put("more");
  relay.read_some();
  EXPECT_EQ(relay.wants_read(), -1)
      << "what the reader has not taken holds the tool back, not our memory";
  relay.write_some();
  EXPECT_FALSE(relay.reader_gone());
}

TEST(StreamRelay, NoticesThatTheReaderIsGone) {
  std::signal(SIGPIPE, SIG_IGN);
  OpenPipe tool, reader;
  StreamRelay relay(std::move(tool.read), reader.write.get(), 1_kB);
  reader.read.reset();
  tool.put("hello");
  relay.read_some();
  relay.write_some();
  EXPECT_TRUE(relay.reader_gone());
  tool.put("again");
  relay.read_some();
  EXPECT_EQ(relay.wants_write(), -1);
}

}  // namespace
}  // namespace sallyport
