#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "access/ledger.h"
#include "access/ledger_fixture.h"

namespace sallyport {
namespace {

using namespace ledger_test;
using testing::HasSubstr;

class MemoryLedger : public testing::Test {
 protected:
  MemoryLedger() {
    set_clock(1000s);
    g_wall = Moment{std::chrono::days{20'000} + 12h}.count();
  }
  std::unique_ptr<Ledger> open(LedgerOptions options = {}) {
    return memory_ledger(options, test_clock, test_wall);
  }
};

// A ledger that remembers everything and looks through all of it.
struct Model {
  std::map<std::string, std::vector<Moment>> calls;  // of the last minute, the longest window here
  std::map<std::string, std::vector<Moment>> all;

  static bool fits(const std::vector<Moment>& made, const CallRate& rate, Moment now) {
    return std::ranges::count_if(made, [&](Moment at) { return at >= now - rate.window; }) <
           rate.count;
  }
  bool fits(const std::vector<RateRule>& rules, Moment now) {
    return std::ranges::all_of(
        rules, [&](const RateRule& rule) { return fits(calls[rule.key], rule.rate, now); });
  }
  // Every moment at which something can change is tried.
  Moment first_fit(const std::vector<RateRule>& rules, Moment now) {
    std::set<Moment> moments;
    for (const RateRule& rule : rules)
      for (const Moment at : calls[rule.key])
        if (at + rule.rate.window + 1us > now) moments.insert(at + rule.rate.window + 1us);
    for (const Moment moment : moments)
      if (fits(rules, moment)) return moment;
    return {};
  }
  std::uint64_t remaining(const std::vector<RateRule>& rules, Moment now) {
    std::uint64_t least = UINT64_MAX;
    for (const RateRule& rule : rules) {
      const auto made = static_cast<std::uint64_t>(std::ranges::count_if(
          calls[rule.key], [&](Moment at) { return at >= now - rule.rate.window; }));
      least = std::min(least, rule.rate.count - made);
    }
    return least;
  }
  void add(const std::vector<RateRule>& rules, Moment now) {
    std::set<std::string> keys;
    for (const RateRule& rule : rules)
      if (keys.insert(rule.key).second) {
        std::erase_if(calls[rule.key], [&](Moment at) { return at < now - 1min; });
        calls[rule.key].push_back(now);
        all[rule.key].push_back(now);
      }
  }
  void remove(const std::vector<RateRule>& rules, Moment at) {
    std::set<std::string> keys;
    for (const RateRule& rule : rules)
      if (keys.insert(rule.key).second)
        for (auto* list : {&calls[rule.key], &all[rule.key]})
          if (const auto found = std::ranges::find(*list, at); found != list->end())
            list->erase(found);
  }
};

TEST_F(MemoryLedger, NeverLetsMoreThanItsCountThroughInAnyWindow) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 10; ++round) {
    const auto ledger = open();
    Model model;
    const auto pick = [&](std::uint64_t most) { return 1 + random() % most; };
    // Several rates on one key, and several keys that callers share.
    std::vector<std::vector<RateRule>> callers;
    const RateRule tenant = per("tenant/t", static_cast<std::uint32_t>(pick(20)), 20s);
    for (int i = 0; i < 3; ++i) {
      const std::string key = "caller/" + std::to_string(i);
      callers.push_back({per(key, static_cast<std::uint32_t>(pick(4)), 1s),
                         per(key, static_cast<std::uint32_t>(pick(12)), 10s),
                         per(key, static_cast<std::uint32_t>(pick(30)), 60s), tenant});
    }
    std::vector<std::pair<Ticket, std::pair<std::size_t, Moment>>> in_flight;
    for (int step = 0; step < 1000; ++step) {
      switch (random() % 4) {
        case 0:
          break;  // in the same microsecond
        case 1:
          advance_clock(Duration{static_cast<std::int64_t>(random() % 100)});
          break;
        default:
          advance_clock(Duration{static_cast<std::int64_t>(random() % 1'500'000)});
      }
      const Moment now = test_clock();
      if (!in_flight.empty() && random() % 5 == 0) {
        const auto [ticket, made] = in_flight.back();
        in_flight.pop_back();
        ledger->withdraw(ticket);
        model.remove(callers[made.first], made.second);
        continue;
      }
      const std::size_t who = random() % callers.size();
      const auto answer = Ask{.rates = callers[who]}(*ledger);
      ASSERT_EQ(answer.has_value(), model.fits(callers[who], now)) << "step " << step;
      if (!answer) {
        ASSERT_EQ(answer.error().error.reason, Reason::rate_limit);
        ASSERT_EQ(now + *answer.error().retry_after, model.first_fit(callers[who], now));
        if (random() % 3 == 0) {  // exactly then, and not a microsecond before
          set_clock(now + *answer.error().retry_after - 1us);
          ASSERT_FALSE(Ask{.rates = callers[who]}(*ledger));
          advance_clock(1us);
          ASSERT_TRUE(model.fits(callers[who], test_clock()));
        }
        continue;
      }
      model.add(callers[who], now);
      ASSERT_EQ(answer->remaining, model.remaining(callers[who], now));
      if (random() % 2 == 0)
        in_flight.push_back({*answer, {who, now}});
      else
        ledger->settle(*answer, {.cpu = 1ms});
    }
    // All windows, by their last call.
    for (const auto& rules : callers)
      for (const RateRule& rule : rules) {
        const auto& made = model.all[rule.key];
        for (const Moment end : made)
          ASSERT_LE(std::ranges::count_if(
                        made, [&](Moment at) { return at <= end && at >= end - rule.rate.window; }),
                    rule.rate.count);
      }
  }
}

TEST_F(MemoryLedger, CountsACallInEveryRateOrInNone) {
  const auto ledger = open();
  const RateRule shared = per("tenant/t", 5, 60s), narrow = per("caller/a", 1, 60s);
  ASSERT_TRUE((Ask{.rates = {shared, narrow}}(*ledger)));
  for (int i = 0; i < 10; ++i) {
    const auto refused = Ask{.rates = {shared, narrow}}(*ledger);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().rule, "caller/a.rate");
    EXPECT_EQ(refused.error().retry_after, Duration{60s} + 1us);
  }
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE((Ask{.rates = {shared}}(*ledger)));
  EXPECT_FALSE((Ask{.rates = {shared}}(*ledger)));
}

TEST_F(MemoryLedger, TakesBackWithdrawnCalls) {
  const auto ledger = open();
  const Ask ask{.rates = {per("caller/a", 1, 60s)}};
  for (int i = 0; i < 100; ++i) {
    const auto ticket = ask(*ledger);
    ASSERT_TRUE(ticket);
    EXPECT_FALSE(ask(*ledger)) << "a call in flight counts";
    ledger->withdraw(*ticket);
    ledger->withdraw(*ticket);  // once only
  }
  const auto ticket = ask(*ledger);
  ASSERT_TRUE(ticket);
  ledger->settle(*ticket, {.cpu = 1ms});
  ledger->withdraw(*ticket);
  EXPECT_FALSE(ask(*ledger)) << "what was settled cannot be withdrawn";
}

TEST_F(MemoryLedger, IgnoresTicketsThatItDidNotGive) {
  const auto ledger = open();
  const Ask ask{.rates = {per("caller/a", 1, 60s)}};
  ASSERT_TRUE(ask(*ledger));
  ledger->withdraw({.id = 77, .remaining = {}});
  ledger->settle({.id = 0, .remaining = {}}, {.cpu = 1h});
  EXPECT_FALSE(ask(*ledger));
}

TEST_F(MemoryLedger, WithdrawsACallThatOutlivedItsWindow) {
  const auto ledger = open();
  const Ask ask{.rates = {per("caller/a", 1, 1s)}};
  const auto old = ask(*ledger);
  advance_clock(1h);
  const auto fresh = ask(*ledger);
  ASSERT_TRUE(old && fresh);
  ledger->withdraw(*old);
  EXPECT_FALSE(ask(*ledger)) << "the old call, not the fresh one, was taken back";
}

TEST_F(MemoryLedger, LimitsCallsInFlight) {
  const auto ledger = open();
  const Ask ask{.rates = {per("caller/a", 100, 60s)},
                .concurrency = {{.key = "tenant/t", .rule = "tenants.t.concurrency", .most = 2}}};
  const auto first = ask(*ledger), second = ask(*ledger);
  ASSERT_TRUE(first && second);
  const auto third = ask(*ledger);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().error.reason, Reason::concurrency);
  EXPECT_EQ(third.error().rule, "tenants.t.concurrency");
  ledger->settle(*first, {.cpu = 1ms});
  const auto fourth = ask(*ledger);
  ASSERT_TRUE(fourth);
  EXPECT_FALSE(ask(*ledger));
  ledger->withdraw(*fourth);
  EXPECT_TRUE(ask(*ledger));
}

TEST_F(MemoryLedger, HoldsBackWhatCallsInFlightMaySpend) {
  const auto ledger = open();
  Ask ask{.budget = BudgetRule{.key = "tenant/t",
                               .rule = "tenants.t.budget",
                               .budget = {.cpu = 10s, .egress = {}, .calls = {}}},
          .cpu = 4s};
  const auto first = ask(*ledger), second = ask(*ledger);
  ASSERT_TRUE(first && second);
  const auto third = ask(*ledger);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().error.reason, Reason::budget);
  EXPECT_EQ(third.error().retry_after, std::nullopt) << "it depends on the calls in flight";
  ledger->settle(*first, {.cpu = 1s});
  ledger->settle(*second, {.cpu = 3s});  // 4 of 10 spent
  const auto fourth = ask(*ledger);
  ASSERT_TRUE(fourth);
  ledger->settle(*fourth, {.cpu = 5s});  // more than its limit: 9 of 10
  const auto fifth = ask(*ledger);
  ASSERT_FALSE(fifth);
  EXPECT_EQ(fifth.error().retry_after, Duration{12h});
  EXPECT_EQ(fifth.error().error.hint, "try again in 12 h; or ask for less with a lower cpu limit");
  ask.cpu = 1s;
  EXPECT_TRUE(ask(*ledger)) << "what is left can be spent to the end";
  ask.cpu = 11s;
  g_wall += Duration{12h}.count();
  EXPECT_FALSE(ask(*ledger)) << "no day is large enough";
}

TEST_F(MemoryLedger, GivesEveryDayItsOwnBudget) {
  const auto ledger = open();
  const Ask ask{.budget = BudgetRule{.key = "tenant/t",
                                     .rule = "tenants.t.budget",
                                     .budget = {.cpu = 10s, .egress = {}, .calls = 2}},
                .cpu = 4s};
  ASSERT_TRUE(ask(*ledger));
  const auto over_midnight = ask(*ledger);
  ASSERT_TRUE(over_midnight);
  const auto refused = ask(*ledger);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().error.message, HasSubstr("calls of the day"));
  g_wall += Duration{12h}.count() - 1;
  EXPECT_FALSE(ask(*ledger));
  g_wall += 1;
  EXPECT_FALSE(ask(*ledger)) << "the calls in flight still hold back 8 of 10";
  ledger->withdraw(*over_midnight);
  const auto next = ask(*ledger);
  ASSERT_TRUE(next);
  ledger->settle(*next, {.cpu = 0s});
  EXPECT_TRUE(ask(*ledger)) << "a call of yesterday, withdrawn, takes nothing off today's count";
  EXPECT_FALSE(ask(*ledger));
}

TEST_F(MemoryLedger, DoesNotGiveADayTwiceWhenTheClockIsSetBackOverMidnight) {
  const auto ledger = open();
  const Ask ask{.budget = BudgetRule{
                    .key = "t", .rule = "r", .budget = {.cpu = {}, .egress = {}, .calls = 1}}};
  g_wall += Duration{12h}.count();
  ASSERT_TRUE(ask(*ledger));
  g_wall -= 1;
  const auto refused = ask(*ledger);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().retry_after, Duration{24h} + 1us);
  g_wall += 1;
  EXPECT_FALSE(ask(*ledger));
  g_wall += Duration{24h}.count();
  EXPECT_TRUE(ask(*ledger));
}

TEST_F(MemoryLedger, LetsNothingMoreThroughWhenTheClockIsSetBack) {
  const auto ledger = open();
  const Ask ask{.rates = {per("caller/a", 2, 60s)}};
  ASSERT_TRUE(ask(*ledger));
  advance_clock(30s);
  ASSERT_TRUE(ask(*ledger));
  set_clock(10s);
  const auto refused = ask(*ledger);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().retry_after, Duration{30s} + 1us);
  advance_clock(30s);
  EXPECT_FALSE(ask(*ledger));
  advance_clock(1us);
  EXPECT_TRUE(ask(*ledger)) << "a clock that was wrong once does not stop the ledger";
}

TEST_F(MemoryLedger, RefusesRatesThatItCannotCount) {
  const auto ledger = open();
  const auto refused = Ask{.rates = {per("caller/a", 1, 24h * 365)}}(*ledger);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.reason, Reason::unavailable);
  const Ask many{.rates = std::vector<RateRule>(300, per("caller/a", 9, 1s))};
  EXPECT_FALSE(many(*ledger));
}

TEST_F(MemoryLedger, RefusesNewCallersAtItsBoundAndForgetsNobody) {
  const auto ledger = open({.lockout = {}, .max_memory = 100'000});
  const auto ask = [&](int caller) {
    return Ask{.rates = {per("caller/" + std::to_string(caller), 3, 60s)}}(*ledger);
  };
  int callers = 0;
  while (true) {
    const auto ticket = ask(callers);
    if (!ticket) {
      EXPECT_EQ(ticket.error().error.reason, Reason::unavailable);
      EXPECT_THAT(ticket.error().error.hint, HasSubstr("try again later"));
      break;
    }
    ledger->settle(*ticket, {.cpu = 0s});
    ++callers;
    ASSERT_LT(callers, 1000) << "no bound";
  }
  EXPECT_GT(callers, 100);
  for (int i = 0; i < 5000; ++i)
    EXPECT_FALSE(ask(callers + i));
  // Nobody who is counted is forgotten, and nobody who is counted is kept out.
  for (int i = 0; i < callers; ++i) {
    for (int again = 0; again < 2; ++again) {
      const auto ticket = ask(i);
      ASSERT_TRUE(ticket);
      ledger->settle(*ticket, {.cpu = 0s});
    }
    EXPECT_FALSE(ask(i));
  }
  // What is expired makes room.
  advance_clock(60s + 1us);
  for (int i = 0; i < callers - 20; ++i) {  // of longer names
    const auto ticket = ask(100'000 + i);
    ASSERT_TRUE(ticket);
    ledger->settle(*ticket, {.cpu = 0s});
  }
}

TEST_F(MemoryLedger, FindsTheOneCallerThatIsExpiredAmongAllOthers) {
  const auto ledger = open({.lockout = {}, .max_memory = 100'000});
  const auto ask = [&](const std::string& caller, Duration window) {
    const auto ticket = Ask{.rates = {per(caller, 3, window)}}(*ledger);
    if (ticket) ledger->settle(*ticket, {.cpu = 0s});
    return ticket.has_value();
  };
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(ask("long/" + std::to_string(i), 1h));
  ASSERT_TRUE(ask("short", 1s));
  int more = 0;
  while (ask("more/" + std::to_string(more), 1h))
    ++more;
  advance_clock(2s);
  EXPECT_TRUE(ask("other", 1h));
  EXPECT_FALSE(ask("another", 1h));
}

TEST_F(MemoryLedger, CountsExactlyWithManyThreadsAtOnce) {
  const auto ledger = open({.lockout = Lockout{.after = 5, .within = 1min, .lasts = 1min}});
  std::atomic<int> admitted{0}, withdrawn{0};
  std::atomic<int> most_in_flight{0}, in_flight{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      const Ask ask{
          .caller = "c" + std::to_string(t),
          .rates = {per("tenant/t", 300, 1h), per("caller/" + std::to_string(t % 3), 1000, 1h)},
          .concurrency = {{.key = "tenant/t", .rule = "r", .most = 3}}};
      for (int i = 0; i < 400; ++i) {
        advance_clock(1us);
        const auto ticket = ask(*ledger);
        if (!ticket) {
          ledger->denied("x" + std::to_string(random() % 50), "");
          (void)ledger->locked_out();
          (void)ledger->lift("caller/x1");
          continue;
        }
        const int now = ++in_flight;
        int seen = most_in_flight;
        while (now > seen && !most_in_flight.compare_exchange_weak(seen, now)) {
        }
        if (random() % 4 == 0) std::this_thread::yield();
        --in_flight;
        if (random() % 3 == 0) {
          ledger->withdraw(*ticket);
          ++withdrawn;
        } else {
          ledger->settle(*ticket, {.cpu = 1ms});
          ++admitted;
        }
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_LE(admitted, 300);
  EXPECT_LE(most_in_flight, 3);
  EXPECT_GT(withdrawn, 0);
  // What is left of the 300 can be had, and no more.
  const Ask rest{.rates = {per("tenant/t", 300, 1h)}};
  for (int i = admitted; i < 300; ++i)
    EXPECT_TRUE(rest(*ledger));
  EXPECT_FALSE(rest(*ledger));
}

TEST_F(MemoryLedger, SaysInUnitsOfPeopleWhenToTryAgain) {
  struct Row {
    Duration window;
    std::string_view hint;
  };
  for (const Row& row : {Row{1ms, "try again in 1 s"}, Row{12s - 1us, "try again in 12 s"},
                         Row{90s, "try again in 91 s"}, Row{15min - 1us, "try again in 15 min"},
                         Row{15min, "try again in 16 min"}, Row{24h - 1us, "try again in 24 h"}}) {
    const auto ledger = memory_ledger({}, test_clock, test_wall);
    const Ask ask{.rates = {per("caller/ann", 1, row.window)}};
    ASSERT_TRUE(ask(*ledger));
    const auto refused = ask(*ledger);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().error.hint, row.hint);
  }
}

TEST_F(MemoryLedger, HoldsBackWhatACallMaySend) {
  const auto ledger = memory_ledger({});
  const std::optional<BudgetRule> budget =
      BudgetRule{.key = "t", .rule = "r", .budget = {.cpu = {}, .egress = 10_MB, .calls = {}}};
  const std::string caller = "a", address;
  const auto ask = [&](std::uint64_t send) {
    return ledger->admit({.caller = caller,
                          .address = address,
                          .rates = {},
                          .concurrency = {},
                          .budget = budget,
                          .cpu_limit = 1s,
                          .send_limit = send});
  };
  const auto first = ask(6'000'000);
  ASSERT_TRUE(first);
  const auto second = ask(6'000'000);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().error.reason, Reason::budget);
  EXPECT_THAT(second.error().error.hint, HasSubstr("in flight"));
  EXPECT_TRUE(ask(0));  // a tool without a network is not held to it
  ledger->settle(*first, {.cpu = {}, .sent = 5'000'000});
  const auto third = ask(5'000'000);
  ASSERT_TRUE(third);
  ledger->settle(*third, {.cpu = {}, .sent = 5'000'000});
  const auto fourth = ask(1);
  ASSERT_FALSE(fourth);
  EXPECT_TRUE(fourth.error().retry_after);
}

// The memory of a call is used again by the next one, and nothing else of it.
TEST_F(MemoryLedger, ACallHoldsNothingOfTheOneBeforeIt) {
  const auto ledger = open();
  const Ask bound{.rates = {per("a", 10, 1min)},
                  .concurrency = {{.key = "a", .rule = "a.concurrency", .most = 1}},
                  .budget = BudgetRule{.key = "a", .rule = "a.budget", .budget = {.cpu = 10s}}};
  const Ask free{.rates = {per("b", 10, 1min)}};
  for (int i = 0; i < 3; ++i) {
    const auto first = bound(*ledger);
    ASSERT_TRUE(first) << first.error().error.message;
    ledger->settle(*first, {.cpu = 1s});
    const auto second = free(*ledger);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->remaining, 9U);
    const auto third = bound(*ledger);
    ASSERT_TRUE(third);
    ledger->withdraw(*third);
    ledger->withdraw(*second);
  }
  const auto held = bound(*ledger);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->remaining, 6U);
  EXPECT_EQ(bound(*ledger).error().error.reason, Reason::concurrency);
}

}  // namespace
}  // namespace sallyport
