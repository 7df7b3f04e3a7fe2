#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "access/accounts.h"
#include "access/ledger.h"
#include "access/ledger_fixture.h"

namespace sallyport {
namespace {

using namespace ledger_test;

const Lockout kThreeInAMinute{.after = 3, .within = 1min, .lasts = 15min};

class LockOut : public testing::Test {
 protected:
  LockOut() { set_clock(1000s); }
  void open(const Lockout& lockout, std::uint64_t max_memory = 1 << 20) {
    ledger_ = memory_ledger({.lockout = lockout, .max_memory = max_memory}, test_clock, test_wall);
  }
  Reason reason(const std::string& caller, const std::string& address = "") {
    const auto ticket = Ask{.caller = caller, .address = address}(*ledger_);
    return ticket ? Reason::none : ticket.error().error.reason;
  }
  void deny(int times, const std::string& caller, const std::string& address = "") {
    for (int i = 0; i < times; ++i)
      ledger_->denied(caller, address);
  }
  std::unique_ptr<Ledger> ledger_;
};

TEST_F(LockOut, BeginsWithTheLastDenialAndEndsExactlyInTime) {
  open(kThreeInAMinute);
  deny(2, "ann");
  EXPECT_EQ(reason("ann"), Reason::none);
  deny(1, "ann");
  const auto refused = Ask{.caller = "ann"}(*ledger_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.reason, Reason::locked_out);
  EXPECT_EQ(refused.error().rule, "lockout");
  EXPECT_EQ(refused.error().retry_after, Duration{15min});
  EXPECT_EQ(reason("bob"), Reason::none);
  advance_clock(15min - 1us);
  EXPECT_EQ(reason("ann"), Reason::locked_out);
  advance_clock(1us);
  EXPECT_EQ(reason("ann"), Reason::none);
  deny(2, "ann");
  EXPECT_EQ(reason("ann"), Reason::none) << "it starts anew";
}

TEST_F(LockOut, IsNotProlongedByWhatIsRefusedMeanwhile) {
  open(kThreeInAMinute);
  deny(3, "ann");
  advance_clock(14min);
  deny(50, "ann");
  EXPECT_EQ(reason("ann"), Reason::locked_out);
  advance_clock(1min);
  EXPECT_EQ(reason("ann"), Reason::none);
}

TEST_F(LockOut, CountsDenialsWithinAnyWindow) {
  open(kThreeInAMinute);
  deny(2, "slow");
  deny(2, "fast");
  advance_clock(1min);
  deny(1, "fast");
  advance_clock(1us);
  deny(1, "slow");
  EXPECT_EQ(reason("fast"), Reason::locked_out);
  EXPECT_EQ(reason("slow"), Reason::none);
}

TEST_F(LockOut, GoesByAddressAcrossCallers) {
  open(kThreeInAMinute);
  deny(1, "a", "203.0.113.7");
  deny(1, "b", "203.0.113.7");
  deny(1, "", "203.0.113.7");
  EXPECT_EQ(reason("c", "203.0.113.7"), Reason::locked_out);
  EXPECT_EQ(reason("a", "203.0.113.8"), Reason::none);
  EXPECT_EQ(reason("a", ""), Reason::none);
}

// Otherwise a fresh address for each try would cost nothing.
TEST_F(LockOut, TakesANetworkOfIPv6ForOneAddress) {
  open(kThreeInAMinute);
  deny(1, "a", "2001:db8:1:2::1");
  deny(1, "b", "2001:db8:1:2:ffff::2");
  deny(1, "", "2001:db8:1:2:aaaa:bbbb:cccc:dddd");
  EXPECT_EQ(reason("c", "2001:db8:1:2::99"), Reason::locked_out);
  EXPECT_EQ(reason("c", "2001:db8:1:3::1"), Reason::none);
  const auto list = ledger_->locked_out();
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 1U);
  EXPECT_EQ((*list)[0].who, "address/2001:db8:1:2::/64");
  EXPECT_FALSE(*ledger_->lift("address/2001:db8:1:3::1"));
  EXPECT_TRUE(*ledger_->lift("address/2001:db8:1:2::7"));
  deny(3, "", "2001:db8:1:2::1");
  EXPECT_TRUE(*ledger_->lift("address/2001:db8:1:2::/64"));
}

// All of them lie in one /64: one of them would lock out everybody.
TEST_F(LockOut, TakesAnIPv4AddressWithinIPv6ForItself) {
  open(kThreeInAMinute);
  deny(2, "", "::ffff:203.0.113.7");
  deny(1, "", "203.0.113.7");
  EXPECT_EQ(reason("c", "203.0.113.7"), Reason::locked_out);
  EXPECT_EQ(reason("c", "::ffff:203.0.113.7"), Reason::locked_out);
  EXPECT_EQ(reason("c", "::ffff:203.0.113.8"), Reason::none);
  EXPECT_EQ(reason("c", "64:ff9b::cb00:7107"), Reason::locked_out);
  EXPECT_EQ(reason("c", "64:ff9b::cb00:7108"), Reason::none);
}

TEST_F(LockOut, DoesNotTakeCallersWithoutAnAddressForOne) {
  open(kThreeInAMinute);
  for (int i = 0; i < 20; ++i)
    deny(1, "caller" + std::to_string(i), "");
  EXPECT_EQ(reason("ann", ""), Reason::none);
}

TEST_F(LockOut, CountsOnlyWhatTheRulesName) {
  open({.after = 1, .within = 1min, .lasts = 1min, .by_caller = false, .by_address = true});
  deny(1, "ann", "a1");
  EXPECT_EQ(reason("ann", "a2"), Reason::none);
  EXPECT_EQ(reason("bob", "a1"), Reason::locked_out);
  open({.after = 1, .within = 1min, .lasts = 1min, .by_caller = true, .by_address = false});
  deny(1, "ann", "a1");
  EXPECT_EQ(reason("ann", "a2"), Reason::locked_out);
  EXPECT_EQ(reason("bob", "a1"), Reason::none);
}

TEST_F(LockOut, KeepsACallerAndAnAddressOfTheSameNameApart) {
  open(kThreeInAMinute);
  deny(3, "10.0.0.1", "");
  EXPECT_EQ(reason("ann", "10.0.0.1"), Reason::none);
}

TEST_F(LockOut, IsVisibleAndCanBeLifted) {
  open(kThreeInAMinute);
  deny(3, "ann", "a1");
  deny(1, "bob", "");
  const auto list = ledger_->locked_out();
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 2U);
  EXPECT_EQ((*list)[0].who, "address/a1");
  EXPECT_EQ((*list)[1].who, "caller/ann");
  EXPECT_EQ((*list)[1].until, test_clock() + 15min);
  EXPECT_EQ((*list)[1].denials, 3U);
  EXPECT_TRUE(*ledger_->lift("caller/ann"));
  EXPECT_FALSE(*ledger_->lift("caller/ann"));
  EXPECT_FALSE(*ledger_->lift("caller/bob")) << "denied once, but not locked out";
  EXPECT_FALSE(*ledger_->lift("ann"));
  EXPECT_EQ(reason("ann"), Reason::none);
  EXPECT_EQ(reason("ann", "a1"), Reason::locked_out);
  EXPECT_TRUE(*ledger_->lift("address/a1"));
  deny(2, "ann", "a1");
  EXPECT_EQ(reason("ann", "a1"), Reason::none) << "lifting forgets the denials too";
}

TEST_F(LockOut, SaysHowLongBothALockOutAndARateTake) {
  open({.after = 1, .within = 1min, .lasts = 10s});
  const Ask ask{.rates = {per("caller/ann", 1, 60s)}};
  ASSERT_TRUE(ask(*ledger_));
  deny(1, "ann");
  const auto refused = ask(*ledger_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.reason, Reason::locked_out);
  EXPECT_EQ(refused.error().retry_after, Duration{60s} + 1us);
  EXPECT_EQ(refused.error().error.hint,
            "try again in 61 s; an operator can end it with `sallyport lockout lift`");
}

TEST_F(LockOut, LastsAsLongAsItShouldWhenTheClockIsSetBack) {
  open(kThreeInAMinute);
  deny(3, "ann");
  advance_clock(5min);
  EXPECT_EQ(reason("ann"), Reason::locked_out);
  set_clock(10s);
  const auto refused = Ask{.caller = "ann"}(*ledger_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().retry_after, Duration{10min});
  EXPECT_EQ(ledger_->locked_out()->at(0).until, Moment{10s} + 10min);
}

TEST_F(LockOut, StaysWithinItsMemoryUnderAFloodOfNames) {
  Accounts accounts({.lockout = kThreeInAMinute, .max_memory = 1 << 20});
  for (int i = 0; i < 20'000; ++i)
    accounts.denied("unknown" + std::to_string(i) + std::string(2000, 'x'), "", 5s);
  EXPECT_LE(accounts.memory(), 1U << 18);
}

TEST_F(LockOut, LetsNobodyInUncountedWhenTheListIsFull) {
  open(kThreeInAMinute, 1 << 16);
  deny(2, "early");
  for (int i = 0; i < 1000; ++i)
    deny(1, "flood" + std::to_string(i));
  EXPECT_EQ(reason("ann"), Reason::unavailable);
  EXPECT_EQ(reason("early"), Reason::none) << "whose denials are counted may go on";
  deny(1, "early");
  EXPECT_EQ(reason("early"), Reason::locked_out);
  advance_clock(1min + 1us);
  EXPECT_EQ(reason("ann"), Reason::none) << "it passes by itself";
  deny(3, "ann");
  EXPECT_EQ(reason("ann"), Reason::locked_out);
}

TEST_F(LockOut, DoesNotGrowWithoutEndByDenialsOfOneCaller) {
  Accounts accounts({.lockout = Lockout{.after = 4'000'000'000, .within = 1h, .lasts = 1h},
                     .max_memory = 1 << 16});
  for (int i = 0; i < 20'000; ++i)
    accounts.denied("ann", "", Moment{5s} + Moment{i});
  EXPECT_LE(accounts.memory(), 1U << 14);
  EXPECT_EQ(accounts.locked_out(6s).size(), 1U) << "what cannot be counted any more is too many";
}

}  // namespace
}  // namespace sallyport
