#include "serve/call_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace sallyport {
namespace {

// One worker that is kept busy while calls are put in, so that the order is the queue's alone.
class CallQueueOrder : public testing::Test {
 protected:
  void put(const std::string& tenant, const std::string& name) {
    ASSERT_TRUE(queue_->push(tenant, 1, [this, name] {
      const std::lock_guard lock(mutex_);
      order_.push_back(name);
    }));
  }
  std::vector<std::string> run() {
    hold_.set_value();
    queue_.reset();
    return order_;
  }
  void SetUp() override {
    std::promise<void> started;
    ASSERT_TRUE(queue_->push("first", 1, [this, &started] {
      started.set_value();
      hold_.get_future().wait();
    }));
    started.get_future().wait();
  }

  std::promise<void> hold_;
  std::mutex mutex_;
  std::vector<std::string> order_;
  std::unique_ptr<CallQueue> queue_ =
      std::make_unique<CallQueue>(QueueLimits{.workers = 1, .workers_of_one = 1});
};

TEST_F(CallQueueOrder, ATenantWithAThousandCallsDelaysAnotherByOne) {
  for (int i = 0; i < 1000; ++i)
    put("loud", "loud");
  put("quiet", "quiet");
  const auto order = run();
  ASSERT_EQ(order.size(), 1001U);
  EXPECT_LE(std::ranges::find(order, "quiet") - order.begin(), 1);
}

TEST_F(CallQueueOrder, TenantsTakeTurns) {
  for (const char* name : {"a1", "a2", "a3"})
    put("a", name);
  for (const char* name : {"b1", "b2"})
    put("b", name);
  put("c", "c1");
  EXPECT_THAT(run(), testing::ElementsAre("a1", "b1", "c1", "a2", "b2", "a3"));
}

TEST_F(CallQueueOrder, CallsOfOneTenantKeepTheirOrder) {
  for (const char* name : {"1", "2", "3"})
    put("a", name);
  EXPECT_THAT(run(), testing::ElementsAre("1", "2", "3"));
}

TEST_F(CallQueueOrder, TakesNoMoreOfOneTenantThanItsBoundAndStillOthers) {
  for (int i = 0; i < 1000; ++i)
    put("loud", "loud");
  EXPECT_FALSE(queue_->push("loud", 1, [] {}));
  EXPECT_TRUE(queue_->push("quiet", 1, [] {}));
  EXPECT_EQ(queue_->waiting(), 1001U);
  run();
}

TEST(CallQueue, RunsEverythingThatWasTakenOnceWithManyWorkers) {
  std::atomic<int> ran = 0, refused = 0;
  {
    CallQueue queue({.workers = 8, .workers_of_one = 5, .calls = 100'000});
    std::vector<std::thread> doors;
    for (int door = 0; door < 4; ++door)
      doors.emplace_back([&, door] {
        for (int i = 0; i < 2000; ++i)
          if (!queue.push("tenant" + std::to_string((door + i) % 5), 1, [&] { ++ran; })) ++refused;
      });
    for (std::thread& door : doors)
      door.join();
  }
  EXPECT_EQ(ran, 8000);
  EXPECT_EQ(refused, 0);
}

TEST(CallQueue, KeepsWorkersForOthersWhileOneTenantHasManyCallsThatLast) {
  std::promise<void> hold;
  const auto held = hold.get_future().share();
  std::promise<void> ran;
  CallQueue queue({.workers = 4, .workers_of_one = 3});
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(queue.push("loud", 1, [held] { held.wait(); }));
  ASSERT_TRUE(queue.push("quiet", 1, [&] { ran.set_value(); }));
  EXPECT_EQ(ran.get_future().wait_for(std::chrono::seconds{60}), std::future_status::ready);
  EXPECT_LE(queue.running(), 4U);
  hold.set_value();
}

TEST(CallQueue, BoundsWhatTheWaitingCallsOfATenantHold) {
  std::promise<void> hold;
  const auto held = hold.get_future().share();
  CallQueue queue({.workers = 1, .workers_of_one = 1, .calls = 1000, .bytes = 100});
  std::promise<void> started;
  ASSERT_TRUE(queue.push("loud", 60, [&, held] {
    started.set_value();
    held.wait();
  }));
  started.get_future().wait();  // what runs does not wait
  EXPECT_TRUE(queue.push("loud", 60, [] {}));
  EXPECT_FALSE(queue.push("loud", 41, [] {}));
  EXPECT_TRUE(queue.push("loud", 40, [] {}));
  EXPECT_TRUE(queue.push("quiet", 100, [] {}));
  hold.set_value();
}

}  // namespace
}  // namespace sallyport
