#include "launch/packet.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <string>

namespace sallyport {
namespace {

constexpr PacketId kId = {1, 2, 3};

class Packets : public testing::Test {
 protected:
  Packets() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    ours_ = Fd(ends[0]);
    theirs_ = Fd(ends[1]);
  }

  // Whether it arrives as it was sent, with so many descriptors.
  testing::AssertionResult passes(PacketKind kind, std::uint8_t flags, std::size_t count,
                                  const PacketId& id = {}) {
    const std::vector<int> fds(count, null_.get());
    if (!send_packet(ours_.get(), kind, flags, fds, id))
      return testing::AssertionFailure() << "it cannot be sent";
    const auto packet = receive_packet(theirs_.get());
    if (!packet) {
      EXPECT_EQ(packet.error().err, EBADMSG);
      return testing::AssertionFailure() << "it is refused";
    }
    EXPECT_EQ(packet->kind, kind);
    EXPECT_EQ(packet->flags, flags);
    EXPECT_EQ(packet->fds.size(), count);
    EXPECT_EQ(packet->id, id);
    return testing::AssertionSuccess();
  }
  static std::size_t open_descriptors() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                      std::filesystem::directory_iterator()));
  }

  Fd ours_, theirs_;
  const Fd null_{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
};

TEST_F(Packets, OfAClaimHaveTheDescriptorsThatTheirFlagsName) {
  for (int flags = 0; flags < 32; ++flags) {
    const bool has_class = (flags & kHasClass) != 0;
    const auto bits = static_cast<std::size_t>(std::popcount(static_cast<unsigned>(flags)));
    const auto byte = static_cast<std::uint8_t>(flags);
    const PacketId id = has_class ? kId : PacketId{};
    const PacketId other = has_class ? PacketId{} : kId;
    for (const auto& [kind, first] :
         {std::pair(PacketKind::claim, 1U), std::pair(PacketKind::hand_over, 2U)}) {
      EXPECT_TRUE(passes(kind, byte, bits + first, id)) << flags;
      EXPECT_FALSE(passes(kind, byte, bits + first - 1, id)) << flags;
      if (bits + first < kMostPacketFds) EXPECT_FALSE(passes(kind, byte, bits + first + 1, id));
      EXPECT_FALSE(passes(kind, byte, bits + first, other)) << "a class has an id, others none";
    }
  }
  for (const int bit : {64, 128}) {
    const auto unknown = static_cast<std::uint8_t>(bit);
    EXPECT_FALSE(passes(PacketKind::claim, unknown, 2));
    EXPECT_FALSE(passes(PacketKind::hand_over, unknown, 3));
  }
}

// Content stands for the descriptor of a memory file, where there would be one.
TEST_F(Packets, BringWhatIsSmallThemselves) {
  const auto passes_with = [&](PacketKind kind, std::uint8_t flags, std::size_t count,
                               const std::string& content, const PacketId& id = {}) {
    const std::vector<int> fds(count, null_.get());
    EXPECT_TRUE(send_packet(ours_.get(), kind, flags, fds, id, 0, content));
    const auto packet = receive_packet(theirs_.get());
    if (!packet) EXPECT_EQ(packet.error().err, EBADMSG);
    return packet && packet->content == content && packet->fds.size() == count &&
           packet->kind == kind && packet->flags == flags && packet->id == id;
  };
  for (const std::size_t size : {std::size_t{1}, std::size_t{500}, kMostPacketContent}) {
    const std::string content(size, 'c');
    EXPECT_TRUE(passes_with(PacketKind::outcome, 0, 0, content));
    EXPECT_FALSE(passes_with(PacketKind::outcome, 0, 1, content));
    EXPECT_TRUE(passes_with(PacketKind::claim, 0, 0, content));
    EXPECT_TRUE(passes_with(PacketKind::claim, kHasClass | kHasOutput, 2, content, kId));
    EXPECT_FALSE(passes_with(PacketKind::claim, kHasClass | kHasOutput, 3, content, kId));
    EXPECT_TRUE(passes_with(PacketKind::hand_over, kHasClass, 2, content, kId));
    EXPECT_FALSE(passes_with(PacketKind::hand_over, kHasClass, 3, content, kId));
    for (const PacketKind kind :
         {PacketKind::hello, PacketKind::accepted, PacketKind::go, PacketKind::idle,
          PacketKind::pool, PacketKind::ready, PacketKind::image, PacketKind::make})
      for (const std::size_t count : {0U, 1U})
        EXPECT_FALSE(passes_with(kind, 0, count, content));
  }
  EXPECT_FALSE(send_packet(ours_.get(), PacketKind::outcome, 0, {}, {}, 0,
                           std::string(kMostPacketContent + 1, 'c')));
  ASSERT_TRUE(send_packet(ours_.get(), PacketKind::outcome, 0, {}, {}, 0,
                          std::string(kMostPacketContent, 'c')));
  std::string longer(24 + kMostPacketContent + 1, 'c');
  ASSERT_EQ(::recv(theirs_.get(), longer.data(), longer.size(), 0),
            static_cast<ssize_t>(longer.size() - 1));
  ASSERT_EQ(::send(ours_.get(), longer.data(), longer.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(longer.size()));
  EXPECT_FALSE(receive_packet(theirs_.get())) << "one byte more than there may be";
}

TEST_F(Packets, OfAClaimHaveATicketOrAClassOrNeither) {
  EXPECT_TRUE(passes(PacketKind::claim, kHasTicket, 1, kId));
  EXPECT_TRUE(passes(PacketKind::claim, kHasTicket | kHasOutput, 2, kId));
  EXPECT_TRUE(passes(PacketKind::hand_over, kHasTicket, 2, kId));
  EXPECT_FALSE(passes(PacketKind::claim, kHasTicket, 1));
  EXPECT_FALSE(passes(PacketKind::claim, kHasTicket, 2, kId)) << "a descriptor with it";
  EXPECT_FALSE(passes(PacketKind::claim, kHasTicket | kHasClass, 2, kId));
  EXPECT_FALSE(passes(PacketKind::claim, kHasTicket | kHasClass, 3, kId));
}

TEST_F(Packets, OfClientsAreOfOneFormOnly) {
  EXPECT_FALSE(passes(PacketKind::visit, 0, 1)) << "shows nothing";
  for (std::size_t files = 1; files <= kMostVisitFiles; ++files)
    EXPECT_TRUE(passes(PacketKind::visit, 0, 1 + files));
  EXPECT_FALSE(passes(PacketKind::visit, 0, 2, kId));
  EXPECT_FALSE(passes(PacketKind::visit, 1, 2));
  EXPECT_TRUE(passes(PacketKind::ticket, 0, 0, kId));
  EXPECT_FALSE(passes(PacketKind::ticket, 0, 0));
  EXPECT_FALSE(passes(PacketKind::ticket, 0, 1, kId));
}

TEST_F(Packets, OfSupervisorsAreOfOneFormOnly) {
  EXPECT_TRUE(passes(PacketKind::ready, 0, 0));
  EXPECT_TRUE(passes(PacketKind::ready, 0, 0, kId)) << "the image that it would have liked";
  EXPECT_TRUE(passes(PacketKind::ready, kBadImage, 0, kId));
  EXPECT_TRUE(passes(PacketKind::ready, kDozing, 0));
  EXPECT_FALSE(passes(PacketKind::ready, 4, 0, kId));
  EXPECT_FALSE(passes(PacketKind::ready, 0, 1));
  EXPECT_TRUE(passes(PacketKind::image, 0, 1));
  EXPECT_FALSE(passes(PacketKind::image, 0, 0));
  EXPECT_FALSE(passes(PacketKind::image, 0, 2));
  EXPECT_FALSE(passes(PacketKind::image, 1, 1));
}

TEST_F(Packets, SayHowMuchMemoryACellTakesWhenItIsReady) {
  ASSERT_TRUE(send_packet(ours_.get(), PacketKind::ready, 0, {}, {}, 17));
  const auto ready = receive_packet(theirs_.get());
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->size, 17U);
  ASSERT_TRUE(send_packet(ours_.get(), PacketKind::hello, 0, {}, {}, 17));
  EXPECT_FALSE(receive_packet(theirs_.get())) << "nothing else has a size";
}

TEST_F(Packets, WithoutACallAreOfOneFormOnly) {
  EXPECT_TRUE(passes(PacketKind::pool, 0, 0)) << "the question";
  EXPECT_TRUE(passes(PacketKind::pool, 0, 1)) << "the answer";
  EXPECT_FALSE(passes(PacketKind::pool, 0, 2));
  EXPECT_FALSE(passes(PacketKind::pool, 1, 0));
  EXPECT_FALSE(passes(PacketKind::pool, 0, 0, kId));
  for (const PacketKind kind : {PacketKind::hello, PacketKind::accepted, PacketKind::go,
                                PacketKind::idle, PacketKind::wake}) {
    EXPECT_TRUE(passes(kind, 0, 0));
    EXPECT_FALSE(passes(kind, 0, 1));
    EXPECT_FALSE(passes(kind, 1, 0));
    EXPECT_FALSE(passes(kind, 0, 0, kId));
  }
  EXPECT_TRUE(passes(PacketKind::outcome, 0, 1));
  EXPECT_FALSE(passes(PacketKind::outcome, 0, 0));
  EXPECT_FALSE(passes(PacketKind::outcome, 0, 1, kId));
  EXPECT_TRUE(passes(PacketKind::make, 0, 0));
  EXPECT_TRUE(passes(PacketKind::make, kSpare, 0));
  EXPECT_TRUE(passes(PacketKind::make, kSpare | kMayDoze, 0));
  EXPECT_FALSE(passes(PacketKind::make, 4, 0));
  EXPECT_FALSE(passes(PacketKind::make, 0, 1));
  EXPECT_FALSE(passes(PacketKind::make, 0, 0, kId));
  EXPECT_TRUE(passes(PacketKind::root, 0, 2, kId));
  EXPECT_FALSE(passes(PacketKind::root, 0, 1, kId));
  EXPECT_FALSE(passes(PacketKind::root, 0, 2));
  EXPECT_FALSE(passes(PacketKind::root, 1, 2, kId));
  for (const int kind : {0, 14, 255})
    EXPECT_FALSE(passes(static_cast<PacketKind>(kind), 0, 0)) << kind;
}

TEST_F(Packets, OfOneWhoWentWithoutListeningAreHeard) {
  ASSERT_TRUE(send_packet(ours_.get(), PacketKind::go, 0, {}));
  ASSERT_TRUE(send_packet(theirs_.get(), PacketKind::accepted, 0, {}));
  theirs_.reset();
  const auto packet = receive_packet(ours_.get());
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->kind, PacketKind::accepted);
  const auto end = receive_packet(ours_.get());
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().err, EPIPE);
}

TEST_F(Packets, OfAnotherSizeOrBeginningAreRefused) {
  ASSERT_TRUE(send_packet(ours_.get(), PacketKind::hello, 0, {}));
  char hello[24];
  ASSERT_EQ(::recv(theirs_.get(), hello, sizeof(hello), 0), 24);
  const auto answer = [&](const char* bytes, std::size_t size) {
    EXPECT_EQ(::send(ours_.get(), bytes, size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
    const auto packet = receive_packet(theirs_.get());
    return packet ? 0 : packet.error().err;
  };
  char longer[25] = {};
  std::memcpy(longer, hello, sizeof(hello));
  EXPECT_EQ(answer(hello, 24), 0) << "the twin";
  EXPECT_EQ(answer(longer, 25), EBADMSG);
  EXPECT_EQ(answer(hello, 23), EBADMSG);
  EXPECT_EQ(answer(hello, 8), EBADMSG) << "the form of an earlier build";
  for (std::size_t at : {0U, 3U, 6U, 7U, 8U, 23U}) {
    char changed[24];
    std::memcpy(changed, hello, sizeof(hello));
    changed[at] ^= 1;
    EXPECT_EQ(answer(changed, 24), EBADMSG) << at;
  }
}

TEST_F(Packets, ThatAreRefusedLeaveNothingOpen) {
  const std::size_t before = open_descriptors();
  EXPECT_FALSE(passes(PacketKind::image, 0, 2));
  EXPECT_FALSE(passes(PacketKind::hello, 0, 5));
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(Packets, SayWhetherNothingIsThereOrNobody) {
  const auto nothing = receive_packet(theirs_.get());
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().err, EAGAIN);
  ours_.reset();
  const auto nobody = receive_packet(theirs_.get());
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().err, EPIPE);
  EXPECT_FALSE(send_packet(theirs_.get(), PacketKind::hello, 0, {}));
}

}  // namespace
}  // namespace sallyport
