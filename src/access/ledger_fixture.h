// For the tests of ledgers: clocks that stand still until they are moved, and admissions that own
// what they refer to.
#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "access/ledger.h"

namespace sallyport::ledger_test {

using namespace std::chrono_literals;

inline std::atomic<std::int64_t> g_now{0}, g_wall{0};

inline Moment test_clock() {
  return Moment{g_now.load()};
}
inline Moment test_wall() {
  return Moment{g_wall.load()};
}
inline void set_clock(Moment now) {
  g_now = now.count();
}
inline void advance_clock(Duration by) {
  g_now += by.count();
}

struct Ask {
  std::string caller = "ann", address;
  std::vector<RateRule> rates{};
  std::vector<ConcurrencyRule> concurrency{};
  std::optional<BudgetRule> budget{};
  Duration cpu = 1s;

  [[nodiscard]] std::expected<Ticket, Refusal> operator()(Ledger& ledger) const {
    return ledger.admit({.caller = caller,
                         .address = address,
                         .rates = rates,
                         .concurrency = concurrency,
                         .budget = budget,
                         .cpu_limit = cpu});
  }
};

inline RateRule per(std::string key, std::uint32_t count, Duration window) {
  return {.key = key, .rule = key + ".rate", .rate = {.count = count, .window = window}};
}

}  // namespace sallyport::ledger_test
