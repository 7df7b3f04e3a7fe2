// A ledger in a directory: every operation locks, reads, decides, writes a new file and puts it in
// the place of the old one.
//
//   ledger        the accounts (accounts_format.h)
//   ledger.new    the next ones, while they are being written
//   ledger.lock   locked for the time of one operation
//   calls         one locked byte per call in flight (call_locks.h)
//
// The new file is not forced to disk: what is written survives every death of a process, but the
// last seconds before a power failure may be lost. A machine that lost power ran no calls for a
// while either.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>

#include "access/accounts_format.h"
#include "access/call_locks.h"
#include "access/ledger.h"
#include "access/state_directory.h"
#include "base/private_file.h"

namespace sallyport {
namespace {

constexpr const char *kState = "ledger", *kNewState = "ledger.new", *kLock = "ledger.lock";
constexpr std::chrono::seconds kPatience{10};

Moment wall_clock() {
  return std::chrono::duration_cast<Moment>(std::chrono::system_clock::now().time_since_epoch());
}

std::unexpected<Error> unusable(const std::string& why) {
  return fail(Reason::unavailable,
              "what has been used cannot be known: the file '" + std::string(kState) +
                  "' in the state directory " + why,
              "put back a good copy, or move it away to count from zero");
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
    if (auto written = write(accounts); !written) {
      locks_.let_go(ticket->id);
      return refuse(std::move(written.error()));
    }
    return ticket;
  }

  void withdraw(const Ticket& ticket) override {
    finish(ticket, [&](Accounts& accounts, Moment now) { accounts.withdraw(ticket.id, now, now); });
  }
  void settle(const Ticket& ticket, Duration cpu) override {
    finish(ticket,
           [&](Accounts& accounts, Moment now) { accounts.settle(ticket.id, cpu, now, now); });
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
    if (auto written = write(*session->accounts); !written)
      return std::unexpected(std::move(written.error()));
    return true;
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
    auto lock = lock_private_file(directory_.get(), kLock, O_RDWR | O_CREAT, kPatience);
    if (!lock) return std::unexpected(std::move(lock.error()));
    auto accounts = read();
    if (!accounts) return std::unexpected(std::move(accounts.error()));
    // The clock is read under the lock: the order of the times is the order of the operations.
    return Session{.lock = std::move(*lock), .accounts = std::move(*accounts), .now = clock_()};
  }

  Result<std::unique_ptr<Accounts>> read() {
    const auto file = open_private_file(directory_.get(), kState, O_RDONLY);
    if (!file) return std::unexpected(file.error());
    if (!file->valid()) return std::make_unique<Accounts>(options_);
    struct stat status{};
    if (::fstat(file->get(), &status) != 0)
      return fail(Reason::unavailable, SysError{"fstat", kState, errno});
    // The bytes are fewer than what they take in memory.
    if (static_cast<std::uint64_t>(status.st_size) > 2 * options_.max_memory + 4096)
      return unusable("is larger than its bound on memory allows");
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t got = ::read(file->get(), bytes.data() + done, bytes.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail(Reason::unavailable, SysError{"read", kState, errno});
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
    auto accounts = AccountsFormat::read(bytes, options_);
    if (!accounts) return unusable(accounts.error());
    return std::move(*accounts);
  }

  Result<void> write(const Accounts& accounts) {
    const std::string bytes = AccountsFormat::write(accounts);
    const auto file = open_private_file(directory_.get(), kNewState, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file) return std::unexpected(file.error());
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t wrote = ::write(file->get(), bytes.data() + done, bytes.size() - done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0)
        return fail(Reason::unavailable, SysError{"write", kNewState, errno},
                    "make room on the disk of the state directory");
      done += static_cast<std::size_t>(wrote);
    }
    if (::renameat(directory_.get(), kNewState, directory_.get(), kState) != 0)
      return fail(Reason::unavailable, SysError{"rename", kNewState, errno});
    return {};
  }

  // For changes that may be lost: without them the ledger allows less, not more, and a disk that
  // takes no denial takes no call either.
  void write_if_possible(const Accounts& accounts) {
    [[maybe_unused]] const bool written = write(accounts).has_value();
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
