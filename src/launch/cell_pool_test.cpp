#include "launch/cell_pool.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

namespace sallyport {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Clock = CellPool::Clock;

constexpr auto kClaimTime = 10s;

// A pool with a clock and supervisors of the test's own: nothing is ever started.
class Pool {
 public:
  explicit Pool(PoolRules rules = {.max = 32}, unsigned builders = 8)
      : pool(rules, {.wanted = builders, .ahead = std::max(builders / 2, 1U)}) {}

  static PacketId id(unsigned number) {
    PacketId made{};
    made[0] = static_cast<std::uint8_t>(number);
    made[1] = static_cast<std::uint8_t>(number >> 8);
    made[15] = 1;
    return made;
  }
  // False: it came back.
  bool claim(unsigned kind, Clock::duration patience = kClaimTime) {
    CellPool::WaitingClaim claim{.connection = null(), .claim = {}, .until = now + patience};
    claim.claim.kind = PacketKind::claim;
    claim.claim.flags = kHasClass;
    claim.claim.id = id(kind);
    claim.claim.fds.push_back(null());
    claim.claim.fds.push_back(null());
    return !pool.add(std::move(claim), now);
  }
  // Starts all that is to be made now; the classes, in that order.
  std::vector<unsigned> build() {
    std::vector<unsigned> kinds;
    while (auto build = pool.next_build(now, false)) {
      EXPECT_GE(build->class_bytes, 0);
      pool.building(build->id, ++last_handle, now);
      kinds.push_back(build->id[0] + (build->id[1] << 8U));
      under_way.emplace_back(last_handle, build->dozes);
    }
    return kinds;
  }
  void finish(std::uint64_t memory = 1'000'000) {
    for (const auto& [handle, dozes] : under_way)
      pool.ready(handle, dozes ? memory / 2 : memory, dozes, now);
    under_way.clear();
  }
  // What claims get, in their order; and nobody waits any more who could have one.
  std::vector<std::pair<int, unsigned>> hand_over() {
    std::vector<std::pair<int, unsigned>> given;
    while (auto pair = pool.next_hand_over(now))
      given.emplace_back(pair->to, pair->claim.claim.id[0]);
    return given;
  }
  // Until nothing is left to be made.
  void settle(std::uint64_t memory = 1'000'000) {
    for (int i = 0; i < 1000 && !build().empty(); ++i) {
      finish(memory);
      hand_over();
    }
  }

  CellPool pool;
  Clock::time_point now{1000s};
  std::vector<std::pair<int, bool>> under_way;  // and whether it may doze
  int last_handle = 100;

 private:
  static Fd null() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
};

TEST(CellPools, AreEmptyBeforeTheFirstClaim) {
  Pool pool({.min = 4, .max = 8});
  EXPECT_THAT(pool.build(), IsEmpty());
  EXPECT_FALSE(pool.pool.next_change(false));
  EXPECT_EQ(pool.pool.class_bytes(Pool::id(1)), -1);
  EXPECT_EQ(pool.pool.status().classes, 0U);
}

TEST(CellPools, MakeACellForTheFirstClaimAndKeepOneMore) {
  Pool pool;
  pool.claim(1);
  EXPECT_EQ(pool.pool.status().misses, 1U);
  EXPECT_EQ(pool.pool.status().waiting, 1U);
  EXPECT_GE(pool.pool.class_bytes(Pool::id(1)), 0);
  EXPECT_THAT(pool.hand_over(), IsEmpty());
  EXPECT_FALSE(pool.build().empty());
  pool.finish();
  EXPECT_THAT(pool.hand_over(), SizeIs(1));
  pool.settle();
  EXPECT_EQ(pool.pool.status().parked, 2U) << "a miss doubles what is wanted";
  pool.claim(1);
  EXPECT_EQ(pool.pool.status().hits, 1U);
  EXPECT_THAT(pool.hand_over(), SizeIs(1));
}

TEST(CellPools, HandOutTheOldestCellToTheOldestClaim) {
  Pool pool({.min = 4, .max = 8});
  pool.claim(1);
  pool.settle();
  ASSERT_GE(pool.pool.status().parked, 4U);
  pool.claim(1, 8s);
  pool.claim(1, 9s);
  const auto given = pool.hand_over();
  ASSERT_THAT(given, SizeIs(2));
  EXPECT_LT(given[0].first, given[1].first);
}

TEST(CellPools, GrowWithMissesUpToTheMostAndNoFurther) {
  Pool pool({.max = 5});
  for (int i = 0; i < 50; ++i)
    pool.claim(1);
  EXPECT_EQ(pool.pool.status().misses, 50U);
  for (int i = 0; i < 100; ++i) {
    pool.build();
    pool.finish();
    pool.hand_over();
    EXPECT_LE(pool.pool.status().parked, 5U);
  }
  EXPECT_EQ(pool.pool.status().parked, 5U);
  EXPECT_EQ(pool.pool.status().waiting, 0U);
  EXPECT_EQ(pool.pool.status().built, 55U) << "one for each claim, and those that wait";
}

TEST(CellPools, ThatMayKeepNoneMakeCellsForClaimsOnly) {
  Pool pool({.max = 0});
  pool.claim(1);
  EXPECT_THAT(pool.build(), ElementsAre(1));
  pool.finish();
  EXPECT_THAT(pool.hand_over(), SizeIs(1));
  EXPECT_THAT(pool.build(), IsEmpty());
  EXPECT_EQ(pool.pool.status().parked, 0U);
}

TEST(CellPools, CountAHitOnlyForACellThatNobodyElseGets) {
  Pool pool({.min = 1, .max = 1});
  pool.claim(1);
  pool.settle();
  ASSERT_EQ(pool.pool.status().parked, 1U);
  pool.claim(1);
  pool.claim(1);
  EXPECT_EQ(pool.pool.status().hits, 1U);
  EXPECT_EQ(pool.pool.status().misses, 2U);
}

TEST(CellPools, DrainToTheLeastWhenTheyAreIdle) {
  Pool pool({.min = 2, .max = 16, .idle = 60s});
  for (int i = 0; i < 8; ++i)
    pool.claim(1);
  pool.settle();
  EXPECT_EQ(pool.pool.status().parked, 16U);
  pool.now += 59s;
  EXPECT_THAT(pool.pool.surplus(pool.now), IsEmpty());
  ASSERT_TRUE(pool.pool.next_change(false));
  EXPECT_EQ(*pool.pool.next_change(false), pool.now + 1s);
  pool.now += 1s;
  EXPECT_THAT(pool.pool.surplus(pool.now), SizeIs(14));
  EXPECT_EQ(pool.pool.status().parked, 2U);
  EXPECT_EQ(pool.pool.status().retired, 14U);
  EXPECT_THAT(pool.build(), IsEmpty());
  EXPECT_FALSE(pool.pool.next_change(false)) << "or the launcher would wake up for nothing";
}

TEST(CellPools, KeepTheLeastForAsLongAsTheyLive) {
  Pool pool({.min = 2, .max = 4, .idle = 60s});
  pool.claim(1);
  pool.settle();
  pool.now += 1h;
  (void)pool.pool.surplus(pool.now);
  // One dies while nobody calls.
  const int first = pool.last_handle;
  pool.pool.gone(first, pool.now);
  EXPECT_EQ(pool.pool.status().parked, 1U);
  ASSERT_TRUE(pool.pool.next_change(false));
  pool.now = *pool.pool.next_change(false);
  EXPECT_THAT(pool.build(), ElementsAre(1));
}

TEST(CellPools, NeedNoMemoryBeyondTheCeilingAheadOfNeed) {
  Pool pool({.max = 32, .memory = {10'000'000}}, 2);
  for (int i = 0; i < 32; ++i)
    pool.claim(1);
  for (int i = 0; i < 100 && !pool.build().empty(); ++i) {
    pool.finish(3'000'000);
    pool.hand_over();
  }
  EXPECT_EQ(pool.pool.status().waiting, 0U) << "claims are served all the same";
  EXPECT_EQ(pool.pool.status().parked, 4U);
  const auto change = pool.pool.next_change(false);
  EXPECT_TRUE(!change || *change > pool.now) << "a loop without a pause";
  // What is given away is memory of the call.
  pool.claim(1);
  EXPECT_THAT(pool.hand_over(), SizeIs(1));
  EXPECT_THAT(pool.build(), SizeIs(1));
}

TEST(CellPools, ServeClaimsInTheirOrderWhateverTheirClass) {
  Pool pool({.max = 32}, 2);
  pool.claim(2, 5s);
  pool.claim(1, 6s);
  pool.claim(3, 4s);
  EXPECT_THAT(pool.build(), ElementsAre(3, 2)) << "who waits for longest comes first";
  pool.finish();
  const auto given = pool.hand_over();
  ASSERT_THAT(given, SizeIs(2));
  EXPECT_EQ(given[0].second, 3U);
  EXPECT_EQ(given[1].second, 2U);
  EXPECT_EQ(pool.build().front(), 1U) << "a claim comes before what is made ahead";
}

TEST(CellPools, MakeNoMoreAtOnceThanThereAreBuilders) {
  Pool pool({.max = 32}, 4);
  for (int i = 0; i < 20; ++i)
    pool.claim(1);
  EXPECT_THAT(pool.build(), SizeIs(4));
  EXPECT_THAT(pool.build(), IsEmpty());
  pool.settle();
  pool.finish();
  pool.hand_over();
  pool.settle();
  // Ahead of need with half of them.
  ASSERT_EQ(pool.pool.status().waiting, 0U);
  EXPECT_THAT(pool.pool.retire(Pool::id(1)), SizeIs(32));
  EXPECT_THAT(pool.build(), SizeIs(2));
}

TEST(CellPools, WaitAfterACellCouldNotBeMade) {
  Pool pool;
  pool.claim(1);
  pool.settle();
  (void)pool.pool.retire(Pool::id(1));
  ASSERT_FALSE(pool.build().empty());
  for (const auto& [handle, dozes] : pool.under_way)
    pool.pool.gone(handle, pool.now);
  pool.under_way.clear();
  EXPECT_EQ(pool.pool.status().failed, 2U);
  EXPECT_THAT(pool.build(), IsEmpty()) << "or it would try for ever";
  ASSERT_TRUE(pool.pool.next_change(false));
  EXPECT_GT(*pool.pool.next_change(false), pool.now + 1s);
  // A claim is another matter.
  pool.claim(1);
  EXPECT_THAT(pool.build(), SizeIs(1));
  pool.finish();
  pool.hand_over();
  EXPECT_THAT(pool.build(), IsEmpty());
  pool.now = *pool.pool.next_change(false);
  EXPECT_FALSE(pool.build().empty());
}

TEST(CellPools, ForgetACellThatDied) {
  Pool pool;
  pool.claim(1);
  pool.settle();
  ASSERT_EQ(pool.pool.status().parked, 2U);
  pool.pool.gone(pool.last_handle, pool.now);
  pool.pool.gone(pool.last_handle, pool.now);
  pool.pool.gone(9999, pool.now);
  EXPECT_EQ(pool.pool.status().parked, 1U);
  EXPECT_EQ(pool.pool.status().failed, 1U);
  pool.claim(1);
  const auto given = pool.hand_over();
  ASSERT_THAT(given, SizeIs(1));
  EXPECT_NE(given[0].first, pool.last_handle);
}

TEST(CellPools, AnswerClaimsThatWaitedForTooLong) {
  Pool pool;
  pool.claim(1, 3s);
  pool.claim(1, 5s);
  pool.claim(2, 4s);
  EXPECT_EQ(*pool.pool.next_change(false), pool.now + 0s) << "cells are to be made";
  pool.build();
  EXPECT_EQ(*pool.pool.next_change(false), pool.now + 3s);
  pool.now += 4s;
  EXPECT_THAT(pool.pool.expired(pool.now), SizeIs(2));
  EXPECT_EQ(pool.pool.status().expired, 2U);
  EXPECT_EQ(pool.pool.status().waiting, 1U);
  pool.finish();
  EXPECT_THAT(pool.hand_over(), SizeIs(1)) << "its cell goes to the next";
}

TEST(CellPools, LetTheOldestClaimGoWhenTooManyWait) {
  Pool pool({.max = 4}, 2);
  for (int i = 0; i < 1024; ++i)
    pool.claim(1);
  EXPECT_THAT(pool.pool.expired(pool.now), IsEmpty());
  pool.claim(1);
  EXPECT_THAT(pool.pool.expired(pool.now), SizeIs(1));
  EXPECT_EQ(pool.pool.status().waiting, 1024U);
}

TEST(CellPools, RetireTheCellsOfAClassAndMakeOthers) {
  Pool pool;
  pool.claim(1);
  pool.claim(2);
  pool.settle();
  const auto before = pool.pool.status();
  EXPECT_THAT(pool.pool.retire(Pool::id(1)), SizeIs(2));
  EXPECT_THAT(pool.pool.retire(Pool::id(3)), IsEmpty());
  EXPECT_EQ(pool.pool.status().parked, before.parked - 2);
  EXPECT_EQ(pool.pool.status().retired, 2U);
  EXPECT_THAT(pool.build(), ElementsAre(1, 1));
}

TEST(CellPools, RetireOneCell) {
  Pool pool;
  pool.claim(1);
  pool.settle();
  pool.pool.retire(pool.last_handle);
  pool.pool.retire(pool.last_handle);
  EXPECT_EQ(pool.pool.status().parked, 1U);
  EXPECT_EQ(pool.pool.status().retired, 1U);
  EXPECT_EQ(pool.pool.status().memory, 1'000'000U);
}

TEST(CellPools, MakeCellsForClaimsOnlyWhileABetterWayIsFound) {
  Pool pool;
  pool.claim(1);
  pool.pool.hold(Pool::id(1), true);
  pool.pool.hold(Pool::id(2), true);
  EXPECT_THAT(pool.build(), ElementsAre(1));
  pool.finish();
  pool.hand_over();
  EXPECT_THAT(pool.build(), IsEmpty());
  EXPECT_FALSE(pool.pool.next_change(false)) << "a loop without a pause";
  pool.pool.hold(Pool::id(1), false);
  EXPECT_THAT(pool.build(), ElementsAre(1, 1));
}

// A front that has been taken over makes up what it likes.
TEST(CellPools, KeepNoMoreClassesThanAPolicyHas) {
  Pool pool({.max = 4}, 2);
  pool.claim(1);
  pool.settle();
  std::set<int> retired;
  for (unsigned kind = 2; kind < 1000; ++kind) {
    pool.now += 1ms;
    pool.claim(kind);
    pool.settle();
    for (const int handle : pool.pool.surplus(pool.now))
      EXPECT_TRUE(retired.insert(handle).second);
    EXPECT_LE(pool.pool.status().classes, 64U) << kind;
    EXPECT_LE(pool.pool.status().parked, 64U * 4) << kind;
  }
  EXPECT_EQ(pool.pool.status().waiting, 0U) << "every claim got its cell";
  EXPECT_EQ(pool.pool.status().retired, retired.size());
  EXPECT_EQ(pool.pool.class_bytes(Pool::id(1)), -1) << "the oldest is forgotten";
  EXPECT_GE(pool.pool.class_bytes(Pool::id(999)), 0);
}

TEST(CellPools, GiveAClaimBackWhenClaimsOfTooManyClassesWait) {
  Pool pool({.max = 4}, 200);
  for (unsigned kind = 1; kind <= 64; ++kind)
    EXPECT_TRUE(pool.claim(kind));
  EXPECT_FALSE(pool.claim(100));
  EXPECT_TRUE(pool.claim(64)) << "one that is known";
  pool.build();
  EXPECT_FALSE(pool.claim(100));
  pool.settle();
  pool.finish();
  pool.hand_over();
  pool.settle();
  EXPECT_EQ(pool.pool.status().waiting, 0U);
  EXPECT_TRUE(pool.claim(100));
  EXPECT_EQ(pool.pool.status().classes, 64U);
}

TEST(CellPools, WaitAfterACellCouldNotEvenBeBegun) {
  Pool pool;
  pool.claim(1);
  pool.settle();
  (void)pool.pool.retire(Pool::id(1));
  ASSERT_TRUE(pool.pool.next_build(pool.now, false));
  pool.pool.not_building(Pool::id(1), pool.now);
  EXPECT_FALSE(pool.pool.next_build(pool.now, false));
  EXPECT_GT(*pool.pool.next_change(false), pool.now + 1s) << "a loop without a pause";
}

TEST(CellPools, LeaveTheProcessorsToCallsAsLongAsEnoughWait) {
  Pool pool({.min = 8, .max = 8});
  pool.claim(1);
  pool.settle();
  ASSERT_EQ(pool.pool.status().parked, 8U);
  for (int taken = 1; taken <= 4; ++taken) {
    pool.claim(1);
    EXPECT_THAT(pool.hand_over(), SizeIs(1));
    const bool enough = taken < 4;
    EXPECT_EQ(pool.pool.next_build(pool.now, true).has_value(), !enough) << taken;
    ASSERT_TRUE(pool.pool.next_build(pool.now, false)) << "no call runs";
    EXPECT_EQ(pool.pool.next_build(pool.now, false)->spare, enough) << taken;
    EXPECT_EQ(pool.pool.next_change(false), pool.now);
    // Who asks again at once would have the processor all the time.
    EXPECT_EQ(pool.pool.next_change(true) == pool.now, !enough) << taken;
  }
}

TEST(CellPools, HaveCellsOfExpectedClassesBeforeTheFirstClaim) {
  Pool pool({.min = 2, .max = 8});
  const auto null = [] { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); };
  pool.pool.expect(Pool::id(1), null(), pool.now);
  pool.pool.expect(Pool::id(1), null(), pool.now);
  pool.settle();
  EXPECT_EQ(pool.pool.status().parked, 2U);
  EXPECT_TRUE(pool.claim(1));
  EXPECT_THAT(pool.hand_over(), SizeIs(1));
  EXPECT_EQ(pool.pool.status().hits, 1U);
  EXPECT_EQ(pool.pool.status().misses, 0U);
  // However long nobody calls.
  pool.now += 24h;
  EXPECT_THAT(pool.pool.surplus(pool.now), IsEmpty());
  pool.settle();
  EXPECT_EQ(pool.pool.status().parked, 2U);
  for (unsigned kind = 2; kind < 100; ++kind)
    pool.pool.expect(Pool::id(kind), null(), pool.now);
  EXPECT_EQ(pool.pool.status().classes, 64U);
}

// One claim with what it gets, and the number of that.
int use_one(Pool& pool) {
  pool.claim(1);
  const auto given = pool.hand_over();
  EXPECT_THAT(given, SizeIs(1));
  return given.empty() ? -1 : given[0].first;
}

TEST(CellPools, LetCellsDozeThatManyWaitBefore) {
  Pool pool({.min = 40, .max = 40}, 1);
  pool.claim(1);
  pool.settle(1'000'000);
  EXPECT_EQ(pool.pool.status().parked, 40U);
  EXPECT_EQ(pool.pool.status().memory, 32U * 1'000'000 + 8U * 500'000);
  EXPECT_FALSE(pool.pool.next_wake(false)) << "the first 32 are awake";
}

TEST(CellPools, WakeThoseThatMoveUpOneAfterTheOther) {
  Pool pool({.min = 40, .max = 40}, 1);
  pool.claim(1);
  pool.settle(1'000'000);
  const int first = use_one(pool);
  (void)use_one(pool);
  EXPECT_FALSE(pool.pool.next_wake(true)) << "calls come first, and enough are awake";
  const auto woken = pool.pool.next_wake(false);
  EXPECT_EQ(woken, first + 32);
  EXPECT_FALSE(pool.pool.next_wake(false)) << "one is being woken";
  const std::uint64_t before = pool.pool.status().memory;
  const std::uint64_t built = pool.pool.status().built;
  pool.pool.ready(*woken, 1'000'000, false, pool.now);
  EXPECT_EQ(pool.pool.status().memory, before + 500'000);
  EXPECT_EQ(pool.pool.status().built, built) << "it is none that was made";
  EXPECT_EQ(pool.pool.next_wake(false), first + 33);
}

TEST(CellPools, WakeCellsWhileCallsRunWhenHalfAreUsedUp) {
  Pool pool({.min = 40, .max = 40}, 1);
  pool.claim(1);
  pool.settle();
  for (int used = 1; used <= 16; ++used) {
    EXPECT_FALSE(pool.pool.next_wake(true));
    (void)use_one(pool);
  }
  EXPECT_FALSE(pool.pool.next_wake(true));
  (void)use_one(pool);
  EXPECT_TRUE(pool.pool.next_wake(true));
}

TEST(CellPools, HandOutACellThatDozesOrIsBeingWoken) {
  Pool pool({.min = 40, .max = 40}, 1);
  pool.claim(1);
  pool.settle();
  const int first = use_one(pool);
  const auto woken = pool.pool.next_wake(false);
  ASSERT_TRUE(woken);
  for (int next = first + 1; next < first + 40; ++next)
    EXPECT_EQ(use_one(pool), next);
  EXPECT_EQ(pool.pool.status().memory, 0U);
  // It has a claim by now.
  pool.pool.ready(*woken, 1'000'000, false, pool.now);
  EXPECT_EQ(pool.pool.status().parked, 0U);
  EXPECT_EQ(pool.pool.status().memory, 0U);
}

TEST(CellPools, WakeNoneBeyondTheirMemory) {
  Pool pool({.min = 40, .max = 40, .memory = ByteSize{34'000'000}}, 1);
  pool.claim(1);
  pool.settle(1'000'000);
  ASSERT_GT(pool.pool.status().parked, 33U);
  ASSERT_GE(pool.pool.status().memory, 34'000'000U);
  (void)pool.pool.next_hand_over(pool.now);
  EXPECT_FALSE(pool.pool.next_wake(false));
}

TEST(CellPools, ForgetClaimsInAChild) {
  Pool pool;
  pool.claim(1);
  pool.claim(2);
  pool.pool.forget_claims();
  EXPECT_EQ(pool.pool.status().waiting, 0U);
}

TEST(CellPools, SayWhatBecameOfTheirCells) {
  Pool pool;
  pool.claim(1);
  pool.build();
  EXPECT_GE(pool.pool.status().building, 1U);
  pool.now += 5ms;
  pool.finish();
  const PoolStatus status = pool.pool.status();
  EXPECT_EQ(status.built, status.parked);
  EXPECT_EQ(status.build_us, 5000 * status.built);
  EXPECT_EQ(status.building, 0U);
  EXPECT_EQ(status.templates, 0U);
  pool.pool.note_template();
  EXPECT_EQ(pool.pool.status().templates, 1U);
}

}  // namespace
}  // namespace sallyport
