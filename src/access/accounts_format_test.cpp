#include "access/accounts_format.h"

#include <gtest/gtest.h>

#include <random>

#include "access/ledger_fixture.h"

namespace sallyport {
namespace {

using namespace ledger_test;

const LedgerOptions kOptions{.lockout = Lockout{.after = 3, .within = 1min, .lasts = 5min}};

// Accounts in which everything occurs.
std::unique_ptr<Accounts> busy(unsigned seed, int steps = 300) {
  auto accounts = std::make_unique<Accounts>(kOptions);
  std::mt19937 random(seed);
  Moment now = Moment{std::chrono::days{20'000}};
  const std::string address = "203.0.113.7";
  std::vector<std::uint64_t> tickets;
  for (int i = 0; i < steps; ++i) {
    now += Moment{random() % 2'000'000};
    const std::string caller = "caller" + std::to_string(random() % 7);
    const std::vector<RateRule> rates{per("caller/" + caller, 20, 60s),
                                      per("caller/" + caller, 100, 1h), per("tenant/t", 90, 1min)};
    const std::vector<ConcurrencyRule> concurrency{{.key = "tenant/t", .rule = "r", .most = 9}};
    const std::optional<BudgetRule> budget =
        BudgetRule{.key = "t", .rule = "b", .budget = {.cpu = 1h, .egress = {}, .calls = 1000}};
    const auto ticket = accounts->admit({.caller = caller,
                                         .address = address,
                                         .rates = rates,
                                         .concurrency = concurrency,
                                         .budget = budget,
                                         .cpu_limit = 1s},
                                        now, now);
    if (ticket) tickets.push_back(ticket->id);
    if (tickets.size() > 5) {
      const std::size_t which = random() % tickets.size();
      if (random() % 2 == 0)
        accounts->settle(tickets[which], {.cpu = 10ms}, now, now);
      else
        accounts->withdraw(tickets[which], now, now);
      tickets.erase(tickets.begin() + static_cast<std::ptrdiff_t>(which));
    }
    if (random() % 9 == 0) accounts->denied(caller, "", now);
    if (random() % 50 == 0) now -= 5s;
  }
  return accounts;
}

TEST(AccountsFormat, ReadsBackWhatItWrote) {
  for (unsigned seed = 1; seed < 20; ++seed) {
    const auto accounts = busy(seed);
    const std::string bytes = AccountsFormat::write(*accounts);
    const auto again = AccountsFormat::read(bytes, kOptions);
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(AccountsFormat::write(**again), bytes);
    EXPECT_EQ((*again)->keys(), accounts->keys());
    EXPECT_EQ((*again)->in_flight(), accounts->in_flight());
  }
}

TEST(AccountsFormat, ContinuesAsIfNothingHadBeenWritten) {
  const auto accounts = busy(5);
  auto again = std::move(*AccountsFormat::read(AccountsFormat::write(*accounts), kOptions));
  Moment now = Moment{std::chrono::days{20'001}};
  const std::vector<RateRule> rates{per("caller/caller1", 20, 60s), per("tenant/t", 90, 1min)};
  const std::string caller = "caller1", address;
  const Admission admission{.caller = caller,
                            .address = address,
                            .rates = rates,
                            .concurrency = {},
                            .budget = {},
                            .cpu_limit = 1s};
  for (int i = 0; i < 200; ++i) {
    now += 500ms;
    const auto a = accounts->admit(admission, now, now), b = again->admit(admission, now, now);
    ASSERT_EQ(a.has_value(), b.has_value());
    if (a)
      ASSERT_EQ(a->remaining, b->remaining);
    else
      ASSERT_EQ(a.error().retry_after, b.error().retry_after);
  }
  for (const std::uint64_t ticket : accounts->in_flight()) {
    accounts->withdraw(ticket, now, now);
    again->withdraw(ticket, now, now);
  }
  EXPECT_EQ(AccountsFormat::write(*accounts), AccountsFormat::write(*again));
}

TEST(AccountsFormat, RefusesEveryCutAndEveryChangedByte) {
  const std::string bytes = AccountsFormat::write(*busy(3, 40));
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(AccountsFormat::read(bytes.substr(0, length), kOptions)) << length;
  for (std::size_t place = 0; place < bytes.size(); ++place) {
    std::string changed = bytes;
    changed[place] = static_cast<char>(changed[place] ^ 0x10);
    EXPECT_FALSE(AccountsFormat::read(changed, kOptions)) << place;
  }
  EXPECT_FALSE(AccountsFormat::read(bytes + "x", kOptions));
}

TEST(AccountsFormat, AcceptsNoBodyThatItWouldWriteDifferently) {
  const std::string body = AccountsFormat::write_body(*busy(4, 30));
  std::mt19937 random(1);
  int accepted = 0;
  for (int i = 0; i < 5'000; ++i) {
    std::string changed = body;
    for (unsigned n = 0; n <= random() % 2; ++n)
      changed[random() % changed.size()] = static_cast<char>(random());
    const auto accounts = AccountsFormat::read_body(changed, kOptions);
    if (accounts == nullptr) continue;
    ++accepted;
    ASSERT_EQ(AccountsFormat::write_body(*accounts), changed);
  }
  EXPECT_GT(accepted, 0);
}

TEST(AccountsFormat, SaysWhatIsWrong) {
  const auto why = [](std::string_view bytes) {
    return AccountsFormat::read(bytes, kOptions).error();
  };
  EXPECT_EQ(why(""), "is empty, as a power failure can leave it");
  EXPECT_EQ(why("{\"rates\": []}"), "is not a file that Sallyport wrote");
  EXPECT_EQ(why("sallyport ledger 9\n...."),
            "was written by another version of Sallyport, or is damaged");
  EXPECT_EQ(why("sallyport ledger 2\n"), "is cut off");
}

TEST(AccountsFormat, TakesAFewBytesPerCall) {
  Accounts accounts({});
  const std::string caller = "a", address;
  const std::vector<RateRule> rates{per("caller/a", 1000, 1h)};
  Moment now = Moment{std::chrono::days{20'000}};
  for (int i = 0; i < 1000; ++i) {
    now += 3600ms;
    const auto ticket = accounts.admit({.caller = caller,
                                        .address = address,
                                        .rates = rates,
                                        .concurrency = {},
                                        .budget = {},
                                        .cpu_limit = 1s},
                                       now, now);
    ASSERT_TRUE(ticket);
    accounts.settle(ticket->id, {.cpu = 0s}, now, now);
  }
  EXPECT_LT(AccountsFormat::write(accounts).size(), 5000U);
}

}  // namespace
}  // namespace sallyport
