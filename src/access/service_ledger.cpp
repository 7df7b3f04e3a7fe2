// The ledger of a service: in memory, and written to the directory every second that changed it.
//
// The service is the directory's only user while it runs. Killed, it loses at most the last second
// of counting, and nothing of who is locked out before that.
#include <fcntl.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "access/accounts_file.h"
#include "access/accounts_format.h"
#include "access/ledger.h"
#include "access/state_directory.h"
#include "base/short_mutex.h"

namespace sallyport {
namespace {

constexpr std::chrono::seconds kPatience{5}, kInterval{1};

Moment wall_clock() {
  return std::chrono::duration_cast<Moment>(std::chrono::system_clock::now().time_since_epoch());
}

class ServiceLedger final : public Ledger {
  template <class Work>
  decltype(auto) change(Work work) {
    const std::lock_guard guard(mutex_);
    changed_ = true;
    return work(wall_clock());
  }

 public:
  ServiceLedger(Fd directory, Fd lock, std::unique_ptr<Accounts> accounts)
      : directory_(std::move(directory)), lock_(std::move(lock)), accounts_(std::move(accounts)) {
    const Moment now = wall_clock();
    for (const std::uint64_t ticket : accounts_->in_flight())
      accounts_->abandon(ticket, now, now);
    writer_ = std::jthread([this](const std::stop_token& stop) { write_on(stop); });
  }
  ServiceLedger(const ServiceLedger&) = delete;
  ServiceLedger& operator=(const ServiceLedger&) = delete;
  ~ServiceLedger() override {
    writer_.request_stop();
    writer_.join();
    write_if_changed();
  }

  std::expected<Ticket, Refusal> admit(const Admission& admission) override {
    return change([&](Moment now) { return accounts_->admit(admission, now, now); });
  }
  void withdraw(const Ticket& ticket) override {
    change([&](Moment now) { accounts_->withdraw(ticket.id, now, now); });
  }
  void settle(const Ticket& ticket, Spent spent) override {
    change([&](Moment now) { accounts_->settle(ticket.id, spent, now, now); });
  }
  void denied(const std::string& caller, const std::string& address) override {
    change([&](Moment now) { accounts_->denied(caller, address, now); });
  }
  Result<std::vector<LockedOut>> locked_out() override {
    const std::lock_guard guard(mutex_);
    return accounts_->locked_out(wall_clock());
  }
  Result<bool> lift(const std::string& who) override {
    return change([&](Moment now) { return accounts_->lift(who, now); });
  }
  void set_lockout(const std::optional<Lockout>& lockout) override {
    const std::lock_guard guard(mutex_);
    accounts_->set_lockout(lockout);
  }

 private:
  void write_on(const std::stop_token& stop) {
    std::unique_lock lock(waiting_);
    while (!wake_.wait_for(lock, stop, kInterval, [&] { return stop.stop_requested(); }))
      write_if_changed();
  }

  // No call waits for the file. A disk that takes no ledger takes no record either: calls are
  // refused by the audit.
  void write_if_changed() {
    std::string bytes;
    {
      const std::lock_guard guard(mutex_);
      if (!std::exchange(changed_, false)) return;
      bytes = AccountsFormat::write(*accounts_);
    }
    if (write_accounts(directory_.get(), bytes)) return;
    const std::lock_guard guard(mutex_);
    changed_ = true;
  }

  Fd directory_, lock_;
  ShortMutex mutex_;
  std::unique_ptr<Accounts> accounts_;
  bool changed_ = false;
  std::mutex waiting_;
  std::condition_variable_any wake_;
  std::jthread writer_;
};

}  // namespace

Result<std::unique_ptr<Ledger>> service_ledger(int directory, LedgerOptions options) {
  if (auto checked = check_state_directory(directory, "given"); !checked)
    return std::unexpected(std::move(checked.error()));
  Fd own(::fcntl(directory, F_DUPFD_CLOEXEC, 3));
  if (!own) return fail(Reason::unavailable, SysError{"fcntl", "state directory", errno});
  auto lock = lock_accounts(own.get(), kPatience);
  if (!lock)
    return fail(Reason::unavailable, "the state directory is in use: " + lock.error().message,
                "another service may be running on it");
  auto accounts = read_accounts(own.get(), options);
  if (!accounts) return std::unexpected(std::move(accounts.error()));
  return std::make_unique<ServiceLedger>(std::move(own), std::move(*lock), std::move(*accounts));
}

}  // namespace sallyport
