#include "serve/call_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "serve/pending_call.h"
#include "serve/service.h"

namespace sallyport {
namespace {

using testing::ElementsAre;

// Calls are told apart by where they are: what is in them does not matter to a lane.
class CallLanesOrder : public testing::Test {
 protected:
  // A call that the lane never looks into.
  CallLanes::Call call(char name) { return {std::shared_ptr<void>(), at(name)}; }
  static PendingCall* at(char name) {
    static char places[256];
    return reinterpret_cast<PendingCall*>(&places[static_cast<unsigned char>(name)]);
  }
  static std::string names_of(std::span<const CallLanes::Call> calls) {
    std::string names;
    for (const auto& each : calls)
      for (char name = 'a'; name <= 'z'; ++name)
        if (each.get() == at(name)) names.push_back(name);
    return names;
  }
  CallLanes lanes(LaneLimits limits) {
    return CallLanes(
        *queue_,
        [this](std::span<const CallLanes::Call> ended, std::span<const CallLanes::Call> calls) {
          const std::lock_guard lock(mutex_);
          if (!calls.empty()) ran_.push_back(names_of(calls));
          ended_ += names_of(ended);
        },
        limits);
  }
  // The one worker of the queue is busy until release().
  void SetUp() override {
    std::promise<void> started;
    ASSERT_TRUE(queue_->push("first", 1, [this, &started] {
      started.set_value();
      hold_.get_future().wait();
    }));
    started.get_future().wait();
  }
  std::vector<std::string> release() {
    hold_.set_value();
    queue_.reset();
    return ran_;
  }

  std::promise<void> hold_;
  std::mutex mutex_;
  std::vector<std::string> ran_;
  std::string ended_;
  std::unique_ptr<CallQueue> queue_ =
      std::make_unique<CallQueue>(QueueLimits{.workers = 1, .workers_of_one = 1, .calls = 3});
};

TEST_F(CallLanesOrder, WhatWaitsOfOneTenantGoesTogetherInItsOrder) {
  CallLanes lanes = this->lanes({});
  for (const char name : {'a', 'b', 'c'})
    ASSERT_TRUE(lanes.push("acme", 1, call(name)));
  EXPECT_EQ(lanes.waiting(), 3U);
  EXPECT_THAT(release(), ElementsAre("abc"));
  EXPECT_EQ(lanes.waiting(), 0U);
}

TEST_F(CallLanesOrder, TenantsAreNeverMixedAndTakeTurns) {
  CallLanes lanes = this->lanes({.together = 2, .runners = 1});
  for (const char name : {'a', 'b', 'c', 'd'})
    ASSERT_TRUE(lanes.push("loud", 1, call(name)));
  ASSERT_TRUE(lanes.push("quiet", 1, call('q')));
  EXPECT_THAT(release(), ElementsAre("ab", "q", "cd"));
  EXPECT_EQ(ended_, "abqcd");
}

TEST_F(CallLanesOrder, WhatHasRunIsEndedWhenTheNextBegin) {
  std::vector<std::string> steps;
  CallLanes lanes(
      *queue_,
      [&steps](std::span<const CallLanes::Call> ran, std::span<const CallLanes::Call> next) {
        steps.push_back(names_of(ran) + ">" + names_of(next));
      },
      {.together = 2});
  for (const char name : {'a', 'b', 'c', 'd', 'e'})
    ASSERT_TRUE(lanes.push("acme", 1, call(name)));
  release();
  EXPECT_THAT(steps, ElementsAre(">ab", "ab>cd", "cd>e", "e>"));
}

TEST_F(CallLanesOrder, ATenantHasARoomOfItsOwn) {
  CallLanes lanes = this->lanes({.calls = 2, .bytes = 10});
  EXPECT_TRUE(lanes.push("acme", 6, call('a')));
  EXPECT_FALSE(lanes.push("acme", 6, call('b')));  // bytes
  EXPECT_TRUE(lanes.push("acme", 4, call('c')));
  EXPECT_FALSE(lanes.push("acme", 0, call('d')));  // calls
  EXPECT_TRUE(lanes.push("other", 10, call('e')));
  EXPECT_THAT(release(), ElementsAre("ac", "e"));
}

TEST_F(CallLanesOrder, WithoutAPlaceInTheQueueACallIsRefusedAndNothingIsKept) {
  CallLanes lanes = this->lanes({});
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(queue_->push("acme", 0, [] {}));
  EXPECT_FALSE(lanes.push("acme", 1, call('a')));
  EXPECT_EQ(lanes.waiting(), 0U);
  EXPECT_TRUE(release().empty());
}

TEST(CallLanes, EveryCallRunsOnceWhateverTheThreads) {
  constexpr int kThreads = 4, kCalls = 2000;
  auto queue = std::make_unique<CallQueue>(QueueLimits{.workers = 8, .workers_of_one = 8});
  std::atomic<int> ran = 0, ended = 0;
  CallLanes lanes(
      *queue,
      [&](std::span<const CallLanes::Call> done, std::span<const CallLanes::Call> next) {
        for (const auto& call : next)
          ran += call == nullptr ? 1 : 1000;
        ended += static_cast<int>(done.size());
      },
      {.calls = kThreads * kCalls});
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&lanes, i] {
        for (int call = 0; call < kCalls; ++call)
          EXPECT_TRUE(lanes.push(i % 2 == 0 ? "a" : "b", 1, nullptr));
      });
  }
  queue.reset();
  EXPECT_EQ(ran, kThreads * kCalls);
  EXPECT_EQ(ended, kThreads * kCalls);
  EXPECT_EQ(lanes.waiting(), 0U);
}

}  // namespace
}  // namespace sallyport
