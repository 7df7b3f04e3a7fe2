// Nothing survives a call (I7): not after a thousand cells in a row, and not after two hundred at
// once.
#include <atomic>

#include "support/leftovers.h"

namespace sallyport::test {
namespace {

// Runs `count` cells, `width` at a time. Each leaves what could be left: files, orphans, shared
// memory, a listener.
void run_many(As as, int count, int width, const std::string& word) {
  const std::string script = "w=" + word +
                             "; echo $w >/workspace/$w; echo $w >/tmp/$w; echo $w >/dev/shm/$w; "
                             "(setsid sh -c 'sleep 300; :' $w >/dev/null 2>&1 &); exit 7";
  std::atomic<int> left = count;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < width; ++i)
    workers.emplace_back([&] {
      while (left.fetch_sub(1) > 0)
        if (run_cell(as, {"--timeout", "60s", "--", "sh", "-c", script}).exit_code != 7) ++wrong;
    });
  for (std::thread& worker : workers)
    worker.join();
  EXPECT_EQ(wrong, 0) << "cells of " << count << " did not end with the command's own exit code";
}

TEST(ManyCells, AThousandInARowLeaveNothing) {
  const std::string word = unique_word();
  const auto before = traces(word);
  run_many(As::root, 1000, 2, word);
  EXPECT_EQ(left_since(before, word), std::set<std::string>{});
}

TEST(ManyCells, OfAnOrdinaryUserInARowLeaveNothing) {
  const std::string word = unique_word();
  const auto before = traces(word);
  run_many(As::user, 200, 2, word);
  EXPECT_EQ(left_since(before, word), std::set<std::string>{});
}

TEST(ManyCells, TwoHundredAtOnceLeaveNothing) {
  const std::string word = unique_word();
  const auto before = traces(word);
  std::vector<std::unique_ptr<LiveProcess>> cells;
  for (int i = 0; i < 200; ++i)
    cells.push_back(std::make_unique<LiveProcess>(
        std::vector<std::string>{sallyport_path(), "run", "--timeout", "10min", "--memory", "16MiB",
                                 "--", "sh", "-c", "echo up; sleep 600", word},
        i % 4 == 0 ? As::user : As::root));
  for (const auto& cell : cells)
    ASSERT_TRUE(cell->says("up"));  // and each of them waits for the last
  for (const auto& cell : cells)
    EXPECT_TRUE(cell->alive());
  for (const auto& cell : cells)
    cell->signal(SIGTERM);
  for (const auto& cell : cells)
    EXPECT_EQ(cell->wait(), 130);
  EXPECT_EQ(left_since(before, word), std::set<std::string>{});
}

}  // namespace
}  // namespace sallyport::test
