#include "cell/uid_slot.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <vector>

namespace sallyport {
namespace {

// Not the range of real cells, so that tests can use it up.
constexpr UidRange kSmall{.first = 0x7e000000, .count = 3};

TEST(UidSlot, LiveCellsNeverShareAUid) {
  std::vector<UidSlot> slots;
  std::set<uid_t> uids;
  for (unsigned i = 0; i < kSmall.count; ++i) {
    auto slot = UidSlot::take(kSmall);
    ASSERT_TRUE(slot) << slot.error().message;
    EXPECT_GE(slot->uid(), kSmall.first);
    EXPECT_LT(slot->uid(), kSmall.first + kSmall.count);
    uids.insert(slot->uid());
    slots.push_back(std::move(*slot));
  }
  EXPECT_EQ(uids.size(), kSmall.count);

  const auto none_left = UidSlot::take(kSmall);
  ASSERT_FALSE(none_left);
  EXPECT_EQ(none_left.error().reason, Reason::unavailable);

  slots.pop_back();
  EXPECT_TRUE(UidSlot::take(kSmall));
}

TEST(UidSlot, AUidIsHeldUntilTheLastProcessThatHasTheLockIsGone) {
  constexpr UidRange kOne{.first = 0x7e000010, .count = 1};
  int released[2];
  ASSERT_EQ(::pipe(released), 0);
  pid_t child = -1;
  {
    auto slot = UidSlot::take(kOne);
    ASSERT_TRUE(slot);
    child = ::fork();
    if (child == 0) {
      char byte;
      ::close(released[1]);
      static_cast<void>(!::read(released[0], &byte, 1));
      ::_exit(0);
    }
  }
  EXPECT_FALSE(UidSlot::take(kOne)) << "the launcher is gone, its cell is not";
  ::close(released[1]);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(UidSlot::take(kOne));
  ::close(released[0]);
}

TEST(UidRange, IsTakenFromTheEnvironmentWhenItMakesSense) {
  ::setenv("SALLYPORT_UID_RANGE", "2000000:10", 1);
  const auto range = UidRange::configured();
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 2000000U);
  EXPECT_EQ(range->count, 10U);
  for (const char* wrong :
       {"", "0:100", "1000:10", "2000000", "2000000:0", "2000000:x", "2147483000:65536", "-1:5"}) {
    ::setenv("SALLYPORT_UID_RANGE", wrong, 1);
    EXPECT_FALSE(UidRange::configured()) << wrong;
  }
  ::unsetenv("SALLYPORT_UID_RANGE");
  EXPECT_EQ(UidRange::configured()->first, UidRange{}.first);
}

}  // namespace
}  // namespace sallyport
