#include "cell/control.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

namespace sallyport {
namespace {

TEST(Control, CarriesDescriptors) {
  auto pair = make_control();
  ASSERT_TRUE(pair);
  Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC)), root(::open("/", O_PATH | O_CLOEXEC));
  const int sent[] = {null.get(), root.get()};
  ASSERT_TRUE(send_descriptors(pair->init.get(), ControlMessage::descriptors, sent));
  auto received = receive(pair->supervisor.get());
  ASSERT_TRUE(received);
  EXPECT_EQ(received->message, ControlMessage::descriptors);
  ASSERT_EQ(received->descriptors.size(), 2U);
  for (int i = 0; i < 2; ++i) {
    struct stat ours{}, theirs{};
    ASSERT_EQ(::fstat(sent[i], &ours), 0);
    ASSERT_EQ(::fstat(received->descriptors[static_cast<std::size_t>(i)].get(), &theirs), 0);
    EXPECT_EQ(ours.st_ino, theirs.st_ino);
    EXPECT_EQ(::fcntl(received->descriptors[static_cast<std::size_t>(i)].get(), F_GETFD),
              FD_CLOEXEC);
  }
}

TEST(Control, AQuestionWithoutAnAnswerIsAnErrorNotAWait) {
  auto pair = make_control();
  ASSERT_TRUE(pair);
  std::thread supervisor([end = std::move(pair->supervisor)]() mutable {
    char byte;
    static_cast<void>(!::read(end.get(), &byte, 1));
    end.reset();
  });
  EXPECT_FALSE(ask_supervisor(pair->init.get(), ControlMessage::map_groups));
  supervisor.join();
}

TEST(Control, TellsThatTheOtherSideIsGone) {
  auto pair = make_control();
  ASSERT_TRUE(pair);
  pair->init.reset();
  const auto received = receive(pair->supervisor.get());
  ASSERT_TRUE(received);
  EXPECT_EQ(received->message, ControlMessage{});
  EXPECT_TRUE(received->descriptors.empty());
}

}  // namespace
}  // namespace sallyport
