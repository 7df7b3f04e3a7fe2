#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "access/ledger.h"
#include "base/fd.h"

namespace sallyport {
namespace {

namespace fs = std::filesystem;

class ServiceLedger : public testing::Test {
 protected:
  ServiceLedger() {
    std::string name = fs::temp_directory_path() / "sallyport-ledger-XXXXXX";
    path_ = ::mkdtemp(name.data());
    directory_ = Fd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~ServiceLedger() override { fs::remove_all(path_); }

  std::unique_ptr<Ledger> open() {
    auto ledger = service_ledger(directory_.get(), options_);
    EXPECT_TRUE(ledger) << (ledger ? "" : ledger.error().message);
    return std::move(*ledger);
  }
  static std::expected<Ticket, Refusal> admit(Ledger& ledger, const std::string& caller = "vera") {
    static const std::vector<RateRule> kRates = {
        {"caller/vera", "callers.vera.rate", *parse_call_rate("3/h")}};
    static const std::vector<ConcurrencyRule> kNone;
    static const std::optional<BudgetRule> kNoBudget;
    static const std::string kAddress = "203.0.113.7";
    return ledger.admit({.caller = caller,
                         .address = kAddress,
                         .rates = kRates,
                         .concurrency = kNone,
                         .budget = kNoBudget,
                         .cpu_limit = Duration{}});
  }

  fs::path path_;
  Fd directory_;
  LedgerOptions options_{
      .lockout =
          Lockout{.after = 2, .within = std::chrono::minutes{5}, .lasts = std::chrono::minutes{5}}};
};

TEST_F(ServiceLedger, KeepsItsCountsOverARestart) {
  {
    const auto ledger = open();
    for (int i = 0; i < 3; ++i) {
      const auto ticket = admit(*ledger);
      ASSERT_TRUE(ticket);
      ledger->settle(*ticket, {.cpu = Duration{}});
    }
  }
  const auto refused = admit(*open());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.reason, Reason::rate_limit);
}

TEST_F(ServiceLedger, KeepsLockOutsOverARestartAndLiftsThem) {
  {
    const auto ledger = open();
    ledger->denied("vera", "");
    ledger->denied("vera", "");
  }
  const auto ledger = open();
  ASSERT_FALSE(admit(*ledger));
  EXPECT_EQ(ledger->locked_out()->size(), 1U);
  EXPECT_EQ(ledger->lift("caller/vera"), true);
  EXPECT_TRUE(admit(*ledger));
}

TEST_F(ServiceLedger, FollowsAPolicyThatChangesTheLockOut) {
  options_.lockout.reset();
  const auto ledger = open();
  for (int i = 0; i < 5; ++i)
    ledger->denied("vera", "");
  ASSERT_TRUE(admit(*ledger));
  ledger->set_lockout(
      Lockout{.after = 1, .within = std::chrono::minutes{5}, .lasts = std::chrono::minutes{5}});
  ledger->denied("vera", "");
  EXPECT_FALSE(admit(*ledger));
}

TEST_F(ServiceLedger, IsTheOnlyOneOfItsDirectory) {
  const auto ledger = open();
  const auto second = service_ledger(directory_.get(), options_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().reason, Reason::unavailable);
}

TEST_F(ServiceLedger, CountsACallThatADeathCutOff) {
  {
    const auto ledger = open();
    ASSERT_TRUE(admit(*ledger));  // never settled
  }
  const auto ledger = open();
  EXPECT_TRUE(admit(*ledger));
  EXPECT_TRUE(admit(*ledger));
  EXPECT_FALSE(admit(*ledger));
}

TEST_F(ServiceLedger, LetsNoMoreThanTheRateThroughFromManyThreads) {
  const auto ledger = open();
  std::atomic<int> let_in = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i)
    callers.emplace_back([&] {
      for (int call = 0; call < 20; ++call)
        if (auto ticket = admit(*ledger)) {
          ++let_in;
          ledger->settle(*ticket, {.cpu = Duration{}});
        }
    });
  for (std::thread& caller : callers)
    caller.join();
  EXPECT_EQ(let_in, 3);
}

}  // namespace
}  // namespace sallyport
