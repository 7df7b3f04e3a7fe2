#include "launch/visitors.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sallyport {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class VisitorsTest : public testing::Test {
 protected:
  // One whose ticket and process have the same number.
  int add(std::uint8_t number, uid_t uid, std::chrono::seconds until = 60s) {
    Fd socket(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const int handle = socket.get();
    visitors.add({.pid = number,
                  .socket = std::move(socket),
                  .uid = uid,
                  .ticket = ticket(number),
                  .until = start + until});
    return handle;
  }
  static PacketId ticket(std::uint8_t number) { return {number, 7}; }

  Visitors visitors;
  const Visitors::Clock::time_point start = Visitors::Clock::now();
};

TEST_F(VisitorsTest, AreTakenByTheirTicketOnce) {
  const int first = add(1, 10);
  add(2, 10);
  EXPECT_TRUE(visitors.has(first));
  EXPECT_FALSE(visitors.take(ticket(3)));
  EXPECT_FALSE(visitors.take(PacketId{}));
  const auto taken = visitors.take(ticket(1));
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->pid, 1);
  EXPECT_EQ(taken->socket.get(), first);
  EXPECT_FALSE(visitors.has(first));
  EXPECT_FALSE(visitors.take(ticket(1)));
  EXPECT_FALSE(visitors.ended(1)) << "it is a supervisor now";
}

TEST_F(VisitorsTest, ThatHaveGoneAreNotTaken) {
  const int handle = add(1, 10);
  visitors.gone(handle);
  EXPECT_FALSE(visitors.has(handle));
  EXPECT_FALSE(visitors.take(ticket(1)));
  EXPECT_TRUE(visitors.ended(1));
  EXPECT_FALSE(visitors.ended(1));
}

TEST_F(VisitorsTest, OfOneUserAreFew) {
  for (std::uint8_t i = 1; i <= Visitors::kMostOfOne; ++i) {
    EXPECT_TRUE(visitors.has_room(10));
    add(i, 10);
  }
  EXPECT_FALSE(visitors.has_room(10));
  EXPECT_TRUE(visitors.has_room(11));
  EXPECT_TRUE(visitors.take(ticket(1)));
  EXPECT_TRUE(visitors.has_room(10));
}

TEST_F(VisitorsTest, AreNotManyInAll) {
  for (std::uint8_t i = 0; i < Visitors::kMost; ++i) {
    EXPECT_TRUE(visitors.has_room(1000U + i));
    add(i + 1, 1000U + i);
  }
  EXPECT_FALSE(visitors.has_room(5));
}

TEST_F(VisitorsTest, HoldTheirPlaceUntilTheirProcessHasEnded) {
  for (std::uint8_t i = 1; i <= Visitors::kMostOfOne; ++i)
    add(i, 10, 1s);
  EXPECT_EQ(visitors.expired(start + 2s).size(), Visitors::kMostOfOne);
  EXPECT_FALSE(visitors.take(ticket(1))) << "its time is over";
  EXPECT_FALSE(visitors.has_room(10)) << "one that cannot be ended must not make room for more";
  EXPECT_TRUE(visitors.ended(3));
  EXPECT_TRUE(visitors.has_room(10));
}

TEST_F(VisitorsTest, HaveTheirTime) {
  EXPECT_FALSE(visitors.next_end());
  add(1, 10, 5s);
  add(2, 10, 3s);
  EXPECT_EQ(visitors.next_end(), start + 3s);
  EXPECT_THAT(visitors.expired(start + 2s), IsEmpty());
  EXPECT_THAT(visitors.expired(start + 3s), ElementsAre(2));
  EXPECT_THAT(visitors.expired(start + 3s), IsEmpty()) << "said once";
  EXPECT_EQ(visitors.next_end(), start + 5s);
  EXPECT_THAT(visitors.expired(Visitors::Clock::time_point::max()), ElementsAre(1));
  EXPECT_FALSE(visitors.next_end());
}

}  // namespace
}  // namespace sallyport
