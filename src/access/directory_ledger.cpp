// A ledger in a directory: every operation locks, reads, decides, writes a new file and puts it in
// the place of the old one.
//
//   ledger, ledger.new, ledger.lock   the accounts (accounts_file.h)
//   calls                             one locked byte per call in flight (call_locks.h)
//
// The new file is not forced to disk: what is written survives every death of a process, but the
// last seconds before a power failure may be lost. A machine that lost power ran no calls for a
// while either.
#include <fcntl.h>
#include <unistd.h>

#include <mutex>

#include "access/accounts_file.h"
#include "access/call_locks.h"
#include "access/ledger.h"
#include "access/state_directory.h"

namespace sallyport {
namespace {

constexpr std::chrono::seconds kPatience{10};

Moment wall_clock() {
  return std::chrono::duration_cast<Moment>(std::chrono::system_clock::now().time_since_epoch());
}

class DirectoryLedger final : public Ledger {
 public:
  DirectoryLedger(Fd directory, const LedgerOptions& options, Clock clock)
      : directory_(std::move(directory)),
        options_(options),
        clock_(clock),
        locks_(directory_.get()) {}

  std::expected<Ticket, Refusal> admit(const Admission& admission) override {
    const std::lock_guard guard(mutex_);
    auto session = begin();
    if (!session) return refuse(std::move(session.error()));
    Accounts& accounts = *session->accounts;
    bool swept = false;
    const Duration skew = accounts.skew();
    for (const std::uint64_t ticket : accounts.in_flight()) {
      if (locks_.is_held(ticket)) continue;
      accounts.abandon(ticket, session->now, session->now);
      swept = true;
    }
    auto ticket = accounts.admit(admission, session->now, session->now);
    if (!ticket) {
      // A refusal changes nothing that has to last, but for what was swept, and that the clock was
      // set back: unwritten, the ledger's time would stand still until the clock caught up.
      if (swept || accounts.skew() != skew) write_if_possible(accounts);
      return ticket;
    }
    if (auto held = locks_.hold(ticket->id); !held) return refuse(std::move(held.error()));
    if (auto written = write_accounts(directory_.get(), accounts); !written) {
      locks_.let_go(ticket->id);
      return refuse(std::move(written.error()));
    }
    return ticket;
  }

  void withdraw(const Ticket& ticket) override {
    finish(ticket, [&](Accounts& accounts, Moment now) { accounts.withdraw(ticket.id, now, now); });
  }
  void settle(const Ticket& ticket, Spent spent) override {
    finish(ticket,
           [&](Accounts& accounts, Moment now) { accounts.settle(ticket.id, spent, now, now); });
  }
  void denied(const std::string& caller, const std::string& address) override {
    if (!options_.lockout) return;
    const std::lock_guard guard(mutex_);
    auto session = begin();
    if (!session) return;
    session->accounts->denied(caller, address, session->now);
    write_if_possible(*session->accounts);
  }

  Result<std::vector<LockedOut>> locked_out() override {
    const std::lock_guard guard(mutex_);
    auto session = begin();
    if (!session) return std::unexpected(std::move(session.error()));
    return session->accounts->locked_out(session->now);
  }
  Result<bool> lift(const std::string& who) override {
    const std::lock_guard guard(mutex_);
    auto session = begin();
    if (!session) return std::unexpected(std::move(session.error()));
    if (!session->accounts->lift(who, session->now)) return false;
    if (auto written = write_accounts(directory_.get(), *session->accounts); !written)
      return std::unexpected(std::move(written.error()));
    return true;
  }

  void set_lockout(const std::optional<Lockout>& lockout) override {
    const std::lock_guard guard(mutex_);
    options_.lockout = lockout;
  }

  // Whether the directory can be used at all.
  Result<void> try_once() {
    const std::lock_guard guard(mutex_);
    auto session = begin();
    if (!session) return std::unexpected(std::move(session.error()));
    return {};
  }

 private:
  // One operation; the lock is held for as long as it lives.
  struct Session {
    Fd lock;
    std::unique_ptr<Accounts> accounts;
    Moment now{};
  };

  static std::unexpected<Refusal> refuse(Error error) {
    return std::unexpected(
        Refusal{.error = std::move(error), .rule = {}, .retry_after = std::nullopt});
  }

  Result<Session> begin() {
    if (auto opened = locks_.open(); !opened) return std::unexpected(std::move(opened.error()));
    auto lock = lock_accounts(directory_.get(), kPatience);
    if (!lock) return std::unexpected(std::move(lock.error()));
    auto accounts = read_accounts(directory_.get(), options_);
    if (!accounts) return std::unexpected(std::move(accounts.error()));
    // The clock is read under the lock: the order of the times is the order of the operations.
    return Session{.lock = std::move(*lock), .accounts = std::move(*accounts), .now = clock_()};
  }

  // For changes that may be lost: without them the ledger allows less, not more, and a disk that
  // takes no denial takes no call either.
  void write_if_possible(const Accounts& accounts) {
    [[maybe_unused]] const bool written = write_accounts(directory_.get(), accounts).has_value();
  }

  template <class Change>
  void finish(const Ticket& ticket, Change change) {
    const std::lock_guard guard(mutex_);
    if (auto session = begin()) {
      change(*session->accounts, session->now);
      write_if_possible(*session->accounts);
      locks_.let_go(ticket.id);
    } else if (locks_.open()) {
      // It stays in the file, not held: the next one who can write counts it as spent in full.
      locks_.let_go(ticket.id);
    }
  }

  std::mutex mutex_;
  Fd directory_;
  LedgerOptions options_;
  Clock clock_;
  CallLocks locks_;
};

}  // namespace

Result<std::unique_ptr<Ledger>> directory_ledger(int directory, LedgerOptions options,
                                                 Clock clock) {
  if (auto checked = check_state_directory(directory, "given"); !checked)
    return std::unexpected(std::move(checked.error()));
  Fd own(::fcntl(directory, F_DUPFD_CLOEXEC, 3));
  if (!own) return fail(Reason::unavailable, SysError{"fcntl", "state directory", errno});
  auto ledger = std::make_unique<DirectoryLedger>(std::move(own), options,
                                                  clock != nullptr ? clock : wall_clock);
  if (auto usable = ledger->try_once(); !usable) return std::unexpected(std::move(usable.error()));
  return ledger;
}

}  // namespace sallyport
