#include <mutex>

#include "access/accounts.h"
#include "access/ledger.h"

namespace sallyport {
namespace {

Moment monotonic() {
  return std::chrono::duration_cast<Moment>(std::chrono::steady_clock::now().time_since_epoch());
}

Moment wall_clock() {
  return std::chrono::duration_cast<Moment>(std::chrono::system_clock::now().time_since_epoch());
}

class MemoryLedger final : public Ledger {
 public:
  MemoryLedger(const LedgerOptions& options, Clock clock, Clock wall)
      : accounts_(options), clock_(clock), wall_(wall) {}

  std::expected<Ticket, Refusal> admit(const Admission& admission) override {
    const std::lock_guard guard(mutex_);
    return accounts_.admit(admission, clock_(), wall_());
  }
  void withdraw(const Ticket& ticket) override {
    const std::lock_guard guard(mutex_);
    accounts_.withdraw(ticket.id, clock_(), wall_());
  }
  void settle(const Ticket& ticket, Spent spent) override {
    const std::lock_guard guard(mutex_);
    accounts_.settle(ticket.id, spent, clock_(), wall_());
  }
  void denied(const std::string& caller, const std::string& address) override {
    const std::lock_guard guard(mutex_);
    accounts_.denied(caller, address, clock_());
  }
  Result<std::vector<LockedOut>> locked_out() override {
    const std::lock_guard guard(mutex_);
    return accounts_.locked_out(clock_());
  }
  Result<bool> lift(const std::string& who) override {
    const std::lock_guard guard(mutex_);
    return accounts_.lift(who, clock_());
  }
  void set_lockout(const std::optional<Lockout>& lockout) override {
    const std::lock_guard guard(mutex_);
    accounts_.set_lockout(lockout);
  }

 private:
  std::mutex mutex_;
  Accounts accounts_;
  Clock clock_, wall_;
};

}  // namespace

std::unique_ptr<Ledger> memory_ledger(LedgerOptions options, Clock clock, Clock wall) {
  return std::make_unique<MemoryLedger>(options, clock != nullptr ? clock : monotonic,
                                        wall != nullptr ? wall : wall_clock);
}

}  // namespace sallyport
