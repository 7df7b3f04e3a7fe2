#include "cell/ignored_signals.h"

#include <gtest/gtest.h>

#include <csignal>

namespace sallyport {
namespace {

TEST(IgnoredSignals, AreThoseWithoutAHandlerOrADefault) {
  const auto user1 = std::signal(SIGUSR1, SIG_IGN);
  const auto user2 = std::signal(SIGUSR2, [](int) {});
  const auto last = std::signal(SIGRTMAX, SIG_IGN);
  const auto alarm = std::signal(SIGALRM, SIG_DFL);
  const std::uint64_t ignored = ignored_signals();
  EXPECT_TRUE(is_ignored(ignored, SIGUSR1));
  EXPECT_TRUE(is_ignored(ignored, SIGRTMAX));
  EXPECT_FALSE(is_ignored(ignored, SIGUSR2));
  EXPECT_FALSE(is_ignored(ignored, SIGALRM));
  std::signal(SIGUSR1, user1);
  std::signal(SIGUSR2, user2);
  std::signal(SIGRTMAX, last);
  std::signal(SIGALRM, alarm);
}

}  // namespace
}  // namespace sallyport
