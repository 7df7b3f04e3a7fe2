#include "serve/call_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <set>

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
  CallLanes& lanes(LaneLimits limits) {
    lanes_.emplace(*queue_,
                   CallLanes::Steps{.end_and_begin =
                                        [this](const std::vector<CallLanes::Call>& ended,
                                               std::span<const CallLanes::Call> calls) {
                                          const std::lock_guard lock(mutex_);
                                          steps_.push_back(names_of(ended) + ">" + names_of(calls));
                                        },
                                    .run =
                                        [this](const CallLanes::Call& call) {
                                          const std::lock_guard lock(mutex_);
                                          ran_ += names_of({&call, 1});
                                        }},
                   limits);
    return *lanes_;
  }
  bool push(const std::string& tenant, std::size_t bytes, const std::string& names) {
    std::vector<CallLanes::Arrival> arrived;
    for (const char name : names)
      arrived.push_back({.tenant = tenant, .bytes = bytes, .call = call(name)});
    lanes_->push(arrived);
    return arrived.empty();
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
    return steps_;
  }

  std::promise<void> hold_;
  std::mutex mutex_;
  std::vector<std::string> steps_;  // ended > begun
  std::string ran_;
  std::optional<CallLanes> lanes_;
  std::unique_ptr<CallQueue> queue_ =
      std::make_unique<CallQueue>(QueueLimits{.workers = 1, .workers_of_one = 1, .calls = 3});
};

TEST_F(CallLanesOrder, WhatWaitsOfOneTenantGoesTogetherInItsOrder) {
  CallLanes& lanes = this->lanes({});
  ASSERT_TRUE(push("acme", 1, "ab"));
  ASSERT_TRUE(push("acme", 1, "c"));
  EXPECT_EQ(lanes.waiting(), 3U);
  EXPECT_THAT(release(), ElementsAre(">abc", "abc>"));
  EXPECT_EQ(ran_, "abc");
  EXPECT_EQ(lanes.waiting(), 0U);
}

TEST_F(CallLanesOrder, TenantsAreNeverMixedAndTakeTurns) {
  lanes({.together = 2});
  ASSERT_TRUE(push("loud", 1, "abcd"));
  ASSERT_TRUE(push("quiet", 1, "q"));
  EXPECT_THAT(release(), ElementsAre(">ab", "ab>", ">q", "q>", ">cd", "cd>"));
  EXPECT_EQ(ran_, "abqcd");
}

TEST_F(CallLanesOrder, WhatHasRunIsEndedWhenTheNextBegin) {
  lanes({.together = 2});
  ASSERT_TRUE(push("acme", 1, "abcde"));
  EXPECT_THAT(release(), ElementsAre(">ab", "ab>cd", "cd>e", "e>"));
}

TEST_F(CallLanesOrder, ATenantHasARoomOfItsOwn) {
  lanes({.calls = 2, .bytes = 10});
  EXPECT_TRUE(push("acme", 6, "a"));
  EXPECT_FALSE(push("acme", 6, "b"));  // bytes
  EXPECT_TRUE(push("acme", 4, "c"));
  EXPECT_FALSE(push("acme", 0, "d"));  // calls
  EXPECT_TRUE(push("other", 10, "e"));
  release();
  EXPECT_EQ(ran_, "ace");
}

TEST_F(CallLanesOrder, WithoutAPlaceInTheQueueACallIsRefusedAndNothingIsKept) {
  CallLanes& lanes = this->lanes({});
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(queue_->push("acme", 0, [] {}));
  EXPECT_FALSE(push("acme", 1, "a"));
  EXPECT_EQ(lanes.waiting(), 0U);
  EXPECT_TRUE(release().empty());
}

// A lane with calls that are told apart by their numbers, of which some do not come back.
class CallLanesHeldUp : public testing::Test {
 protected:
  static CallLanes::Call call(std::size_t number) {
    static char places[16];
    return {std::shared_ptr<void>(), reinterpret_cast<PendingCall*>(&places[number])};
  }
  static std::size_t number_of(const CallLanes::Call& call) {
    return static_cast<std::size_t>(reinterpret_cast<char*>(call.get()) -
                                    reinterpret_cast<char*>(CallLanesHeldUp::call(0).get()));
  }
  void push(std::initializer_list<std::size_t> numbers) {
    std::vector<CallLanes::Arrival> arrived;
    for (const std::size_t number : numbers)
      arrived.push_back({.tenant = "acme", .bytes = 1, .call = call(number)});
    lanes_.push(arrived);
    ASSERT_TRUE(arrived.empty());
  }
  [[nodiscard]] bool wait_until_ended(std::set<std::size_t> numbers) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds{60}, [&] { return ended_ == numbers; });
  }
  void hold(std::size_t number) {
    const std::lock_guard lock(mutex_);
    held_.insert(number);
  }
  void let_go(std::size_t number) {
    const std::lock_guard lock(mutex_);
    held_.erase(number);
    changed_.notify_all();
  }
  // Returns when that one is running.
  void wait_until_begun(std::size_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return running_.contains(number); });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::size_t> held_, running_, ended_;
  std::unique_ptr<CallQueue> queue_ =
      std::make_unique<CallQueue>(QueueLimits{.workers = 8, .workers_of_one = 8});
  CallLanes lanes_{
      *queue_,
      {.end_and_begin =
           [this](const std::vector<CallLanes::Call>& ran, std::span<const CallLanes::Call>) {
             const std::lock_guard lock(mutex_);
             for (const auto& each : ran)
               EXPECT_TRUE(ended_.insert(number_of(each)).second) << "ended twice";
             changed_.notify_all();
           },
       .run =
           [this](const CallLanes::Call& each) {
             std::unique_lock lock(mutex_);
             EXPECT_TRUE(running_.insert(number_of(each)).second) << "run twice";
             changed_.notify_all();
             changed_.wait(lock, [&] { return !held_.contains(number_of(each)); });
           }}};
};

// The leader that looks for more is replaced by none, and takes what comes.
TEST_F(CallLanesHeldUp, CallsThatComeTogetherAreWaitedForAndFound) {
  std::set<std::size_t> all;
  for (std::size_t number = 0; number < 16; number += 2) {
    push({number, number + 1});
    all.insert({number, number + 1});
    ASSERT_TRUE(wait_until_ended(all));
  }
  // Nobody stays.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (queue_->running() > 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_EQ(queue_->running(), 0U);
  queue_.reset();
}

TEST_F(CallLanesHeldUp, AFunctionThatTakesLongHoldsUpNoCallThatCameWithIt) {
  hold(1);
  push({0, 1, 2, 3});
  EXPECT_TRUE(wait_until_ended({0, 2, 3}));
  let_go(1);
  EXPECT_TRUE(wait_until_ended({0, 1, 2, 3}));
  queue_.reset();
}

TEST_F(CallLanesHeldUp, NorOneThatCameLaterThoughNoOtherFollows) {
  hold(0);
  push({0});
  wait_until_begun(0);
  push({1});
  EXPECT_TRUE(wait_until_ended({1}));
  let_go(0);
  EXPECT_TRUE(wait_until_ended({0, 1}));
  queue_.reset();
}

TEST_F(CallLanesHeldUp, SeveralOfThemNeither) {
  for (const std::size_t number : {0, 1, 2})
    hold(number);
  push({0, 1, 2, 3});
  EXPECT_TRUE(wait_until_ended({3}));
  push({4});
  EXPECT_TRUE(wait_until_ended({3, 4}));
  for (const std::size_t number : {0, 1, 2})
    let_go(number);
  EXPECT_TRUE(wait_until_ended({0, 1, 2, 3, 4}));
  queue_.reset();
}

TEST(CallLanes, EveryCallRunsOnceWhateverTheThreads) {
  constexpr int kThreads = 4, kCalls = 2000;
  auto queue = std::make_unique<CallQueue>(QueueLimits{.workers = 8, .workers_of_one = 8});
  std::atomic<int> begun = 0, ran = 0, ended = 0;
  CallLanes lanes(
      *queue,
      {.end_and_begin =
           [&](const std::vector<CallLanes::Call>& done, std::span<const CallLanes::Call> next) {
             begun += static_cast<int>(next.size());
             ended += static_cast<int>(done.size());
           },
       .run = [&](const CallLanes::Call&) { ++ran; }},
      {.calls = kThreads * kCalls});
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&lanes, i] {
        for (int call = 0; call < kCalls; ++call) {
          std::vector<CallLanes::Arrival> arrived;
          arrived.push_back({.tenant = i % 2 == 0 ? "a" : "b", .bytes = 1, .call = nullptr});
          lanes.push(arrived);
          EXPECT_TRUE(arrived.empty());
        }
      });
  }
  queue.reset();
  EXPECT_EQ(begun, kThreads * kCalls);
  EXPECT_EQ(ran, kThreads * kCalls);
  EXPECT_EQ(ended, kThreads * kCalls);
  EXPECT_EQ(lanes.waiting(), 0U);
}

}  // namespace
}  // namespace sallyport
