#include "serve/front_control.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

namespace sallyport {
namespace {

class FrontControl : public testing::Test {
 protected:
  FrontControl() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    ours_ = Fd(ends[0]);
    theirs_ = Fd(ends[1]);
  }
  // A message of the other side with so many descriptors.
  void send_with_descriptors(std::size_t count) {
    char kind = static_cast<char>(ControlKind::ready);
    iovec text{.iov_base = &kind, .iov_len = 1};
    alignas(cmsghdr) char space[CMSG_SPACE(8 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(count * sizeof(int));
    const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    for (std::size_t i = 0; i < count; ++i) {
      const int fd = null.get();
      std::memcpy(CMSG_DATA(rights) + i * sizeof(int), &fd, sizeof(int));
    }
    ASSERT_EQ(::sendmsg(theirs_.get(), &message, 0), 1);
  }
  static std::ptrdiff_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  }

  Fd ours_, theirs_;
};

TEST_F(FrontControl, CarriesKindAndText) {
  for (const std::string& text :
       {std::string(), std::string("a: b\n"), std::string(1 << 20, 'x')}) {
    ASSERT_TRUE(send_control(theirs_.get(), {ControlKind::policy, text}));
    const auto message = receive_control(ours_.get());
    ASSERT_TRUE(message);
    EXPECT_EQ(message->kind, ControlKind::policy);
    EXPECT_EQ(message->text, text);
  }
}

// The padding of the ancillary data has room for a second descriptor: one that is not closed would
// be the keeper's for ever.
TEST_F(FrontControl, RefusesAndClosesDescriptorsThatDoNotBelongThere) {
  const auto before = open_descriptors();
  for (const std::size_t count : {1, 2, 3, 8}) {
    send_with_descriptors(count);
    EXPECT_FALSE(receive_control(ours_.get())) << count;
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(FrontControl, SaysThatTheOtherSideIsGone) {
  theirs_.reset();
  EXPECT_FALSE(receive_control(ours_.get()));
}

}  // namespace
}  // namespace sallyport
