#include "base/recycled.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace sallyport {
namespace {

TEST(RecycledAllocator, GivesTheSameMemoryAgain) {
  RecycledAllocator<std::string> memory;
  std::string* const first = memory.allocate(1);
  std::string* const second = memory.allocate(1);
  EXPECT_NE(first, second);
  std::thread([&] { memory.deallocate(first, 1); }).join();
  EXPECT_EQ(memory.allocate(1), first);
  memory.deallocate(first, 1);
  memory.deallocate(second, 1);
  memory.deallocate(memory.allocate(7), 7);
}

TEST(RecycledAllocator, HoldsSharedObjectsOfManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      std::vector<std::shared_ptr<std::string>> held;
      for (int n = 0; n < 1000; ++n) {
        held.push_back(
            std::allocate_shared<std::string>(RecycledAllocator<std::string>(), std::to_string(n)));
        EXPECT_EQ(*held.back(), std::to_string(n));
        if (n % 3 == 0) held.erase(held.begin());
      }
    });
  for (std::thread& thread : threads)
    thread.join();
}

}  // namespace
}  // namespace sallyport
