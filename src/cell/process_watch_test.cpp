#include "cell/process_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace sallyport {
namespace {

TEST(ProcessWatch, ReadsTimesAndThreadsBehindAnyName) {
  // Fields 14 to 17 are 3, 4, 5 and 6 ticks; field 20 is 7 threads. A name may contain spaces,
  // brackets and digits.
  const StatLine line = parse_stat_line(
      "42 (a) 9 (b) 99) S 1 42 42 0 -1 4194304 100 0 0 0 3 4 5 6 20 0 7 0 12345 1 2\n");
  EXPECT_EQ(line.cpu_user_us, (3U + 5U) * 10'000);
  EXPECT_EQ(line.cpu_system_us, (4U + 6U) * 10'000);
  EXPECT_EQ(line.threads, 7U);
}

TEST(ProcessWatch, TakesNothingFromALineThatIsNotOne) {
  for (const char* text :
       {"", "42", "42 (name", "42 (name) S", ")", "42 (x) S a b c d e f g h i j k l m n o p q"}) {
    EXPECT_EQ(parse_stat_line(text).cpu_user_us, 0U) << text;
    EXPECT_EQ(parse_stat_line(text).threads, 0U) << text;
  }
}

TEST(ProcessWatch, SeesTheMemoryThatAProcessTouches) {
  const ProcessWatch watch(Fd(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)));
  const WatchedUsage before = watch.look(std::chrono::steady_clock::time_point::max());
  constexpr std::size_t kSize = 64 << 20;
  void* memory = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, kSize);
  const WatchedUsage after = watch.look(std::chrono::steady_clock::time_point::max());
  ::munmap(memory, kSize);
  EXPECT_GT(after.memory_bytes, kSize);
  EXPECT_GT(before.processes, 0U);
}

}  // namespace
}  // namespace sallyport
