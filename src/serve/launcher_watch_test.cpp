#include "serve/launcher_watch.h"

#include <gtest/gtest.h>

#include <functional>

#include "launch/launcher_fixture.h"

namespace sallyport {
namespace {

using test::LauncherUnderTest;

LaunchCeiling closed_ceiling() {
  return {};
}

bool eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

TEST(LauncherWatch, SeesALauncherDieAndComeBack) {
  LauncherUnderTest launcher(closed_ceiling());
  const LauncherWatch watch(launcher.path());
  EXPECT_TRUE(eventually([&] { return watch.answers().has_value(); }));
  // The listener is open all the time, as the keeper holds it.
  launcher.signal(SIGKILL);
  EXPECT_EQ(launcher.wait(), 128 + SIGKILL);
  EXPECT_TRUE(eventually([&] { return !watch.answers(); }));
  EXPECT_EQ(watch.answers().error().reason, Reason::unavailable);
  launcher.start(closed_ceiling());
  EXPECT_TRUE(eventually([&] { return watch.answers().has_value(); }));
}

TEST(LauncherWatch, SeesALauncherThatHangs) {
  LauncherUnderTest launcher(closed_ceiling());
  const LauncherWatch watch(launcher.path());
  EXPECT_TRUE(eventually([&] { return watch.answers().has_value(); }));
  launcher.signal(SIGSTOP);
  EXPECT_TRUE(eventually([&] { return !watch.answers(); }));
  launcher.signal(SIGCONT);
  EXPECT_TRUE(eventually([&] { return watch.answers().has_value(); }));
}

TEST(LauncherWatch, SaysNoWhereThereIsNothing) {
  for (const std::string& path : {std::string("/tmp/no-such-launcher"), std::string(200, 'x')}) {
    const LauncherWatch watch(path);
    EXPECT_FALSE(watch.answers());
  }
}

}  // namespace
}  // namespace sallyport
