#include "kernel/turns.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace sallyport {
namespace {

bool kernel_knows_slices() {
  utsname kernel{};
  int major = 0, minor = 0;
  ::uname(&kernel);
  EXPECT_EQ(std::sscanf(kernel.release, "%d.%d", &major, &minor), 2);
  return major > 6 || (major == 6 && minor >= 12);
}

// In a process of its own, which is over with the test.
template <class Body>
void in_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Turns, AreShortForAProcessAndWhatItStarts) {
  in_child([] {
    ASSERT_EQ(::setpriority(PRIO_PROCESS, 0, 3), 0);
    const auto usual = turns_of(0);
    ASSERT_TRUE(take_short_turns());
    EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), 3);
    if (!kernel_knows_slices()) return;
    EXPECT_NE(usual, kShortTurns);
    EXPECT_EQ(turns_of(0), kShortTurns);
    in_child([] { EXPECT_EQ(turns_of(0), kShortTurns); });
  });
}

TEST(Turns, LeaveAnotherPolicyAlone) {
  in_child([] {
    const sched_param none{};
    ASSERT_EQ(::sched_setscheduler(0, SCHED_BATCH, &none), 0);
    EXPECT_FALSE(take_short_turns());
    EXPECT_EQ(::sched_getscheduler(0), SCHED_BATCH);
  });
}

TEST(Turns, HavePrecedenceOnlyWithTheRightToIt) {
  in_child([] {
    ASSERT_EQ(::geteuid(), 0U) << "as root";
    ASSERT_EQ(::getpriority(PRIO_PROCESS, 0), 0);
    EXPECT_TRUE(take_precedence());
    EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), kPrecedence);
    EXPECT_EQ(::getsid(0), ::getpid());
    if (std::ifstream session("/proc/self/autogroup"); session) {
      std::string text;
      std::getline(session, text);
      EXPECT_TRUE(text.ends_with("nice -5")) << text;
    }
    EXPECT_TRUE(give_up_precedence());
    EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), 0);
  });
  in_child([] {
    ASSERT_EQ(::setpriority(PRIO_PROCESS, 0, 3), 0);
    EXPECT_FALSE(take_precedence()) << "somebody wants it to be nice";
    EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), 3);
    EXPECT_TRUE(give_up_precedence());
    EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), 3);
  });
  in_child([] {
    ASSERT_EQ(::setresuid(65534, 65534, 65534), 0);
    EXPECT_FALSE(take_precedence());
    EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), 0);
  });
}

}  // namespace
}  // namespace sallyport
