#include "base/recycled.h"

#include <gtest/gtest.h>

#include <set>
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

// One thread makes what another destroys: what the second has too much of comes back to the first.
TEST(RecycledAllocator, BringsMemoryBackFromTheThreadThatGaveItBack) {
  struct Large {
    char bytes[1000];
  };
  RecycledAllocator<Large> memory;
  std::set<Large*> made;
  for (int i = 0; i < 100; ++i)
    made.insert(memory.allocate(1));
  EXPECT_EQ(made.size(), 100U);
  std::thread([&] {
    for (Large* const place : made)
      memory.deallocate(place, 1);
  }).join();
  for (int i = 0; i < 100; ++i) {
    Large* const place = memory.allocate(1);
    EXPECT_EQ(made.erase(place), 1U);
    std::allocator<Large>().deallocate(place, 1);
  }
}

// Objects of a thread end in an order that nobody chose.
TEST(RecycledAllocator, TakesMemoryBackFromAThreadThatEnds) {
  for (int i = 0; i < 10; ++i)
    std::thread([] {
      static thread_local std::shared_ptr<std::string> first, second;
      first = std::make_shared<std::string>("made before the allocator was used");
      second = std::allocate_shared<std::string>(RecycledAllocator<std::string>(), "kept");
      first = std::allocate_shared<std::string>(RecycledAllocator<std::string>(), "kept, too");
      EXPECT_NE(first, second);
    }).join();
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
