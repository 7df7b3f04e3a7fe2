// The arithmetic of a ledger: what was used, by key. It knows no clock, no lock and no file; a
// ledger brings these. Not for several threads at once.
//
// Time is the ledger's own and never runs backwards: when the clock does, it stands still until the
// clock moves on, so that a call of the future counts as one of now, and nothing more gets through.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "access/ledger.h"
#include "access/lockout_list.h"
#include "access/rate_window.h"

namespace sallyport {

class Accounts {
 public:
  // The most rates, and the most limits on concurrency, that one call can have.
  static constexpr std::size_t kMostRules = 256;

  explicit Accounts(const LedgerOptions& options);

  // As in Ledger. `now` is the time on the ledger's clock, `wall` the time of day in UTC.
  [[nodiscard]] std::expected<Ticket, Refusal> admit(const Admission& admission, Moment now,
                                                     Moment wall);
  void withdraw(std::uint64_t ticket, Moment now, Moment wall);
  void settle(std::uint64_t ticket, Spent spent, Moment now, Moment wall);
  void denied(const std::string& caller, const std::string& address, Moment now);
  [[nodiscard]] std::vector<LockedOut> locked_out(Moment now);
  [[nodiscard]] bool lift(const std::string& who, Moment now);

  // Calls that were admitted and are neither withdrawn nor settled.
  [[nodiscard]] std::vector<std::uint64_t> in_flight() const;
  // A call whose process died: nobody will say what it spent, so it spent all that it might.
  void abandon(std::uint64_t ticket, Moment now, Moment wall);

  // How far the ledger's own time is ahead of the clock, because the clock was set back.
  [[nodiscard]] Duration skew() const { return skew_; }

  // What all this takes, by estimate; new keys are refused before it passes the bound.
  void set_lockout(const std::optional<Lockout>& lockout) { options_.lockout = lockout; }
  [[nodiscard]] std::uint64_t memory() const { return memory_ + lockouts_.memory(); }
  [[nodiscard]] std::size_t keys() const { return accounts_.size(); }

 private:
  friend class AccountsFormat;

  using Hook =
      boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

  // What is counted under one key. Linked in the queue of its window's reach while it has calls.
  struct Account : Hook {
    RateWindow window;
    const std::string* name = nullptr;
    std::uint32_t running = 0;  // calls in flight that a ConcurrencyRule counts here
    std::uint32_t pins = 0;     // calls in flight that point here
  };
  using Queue = boost::intrusive::list<Account, boost::intrusive::constant_time_size<false>>;

  // What was spent under one key on one day.
  struct Spending {
    std::int64_t day = 0;  // since 1970
    Spent spent;
    Spent held;  // back for calls in flight
    std::uint64_t calls = 0;
    std::uint32_t pins = 0;  // calls in flight that point here
  };

  struct Call {
    Moment at{};
    std::vector<Account*> counted;  // with a rate
    std::vector<Account*> running;  // with a limit on concurrency
    Spending* spending = nullptr;
    Spent held;
    std::int64_t day = 0;
  };

  static std::uint64_t cost_of_account(const std::string& name);  // without its window
  static std::uint64_t cost_of_spending(const std::string& name);
  static std::uint64_t cost_of_call();

  Moment advance(Moment now);
  [[nodiscard]] Account* find(const std::string& key);
  void look_up(const Admission& admission);
  Account& find_or_add(const std::string& key);
  void link(Account& account);
  void forget(Account& account);
  void forget_expired(std::size_t most);
  void release(Account& account);
  static void roll(Spending& spending, std::int64_t day);
  void roll_all(std::int64_t day);

  [[nodiscard]] std::optional<Refusal> check_lockout(const Admission& admission) const;
  [[nodiscard]] std::optional<Refusal> check_rates(const Admission& admission);
  [[nodiscard]] std::optional<Refusal> check_concurrency(const Admission& admission);
  [[nodiscard]] std::optional<Refusal> check_budget(const Admission& admission, Moment wall);
  [[nodiscard]] std::optional<Refusal> check_memory(const Admission& admission);
  [[nodiscard]] std::optional<std::uint64_t> remaining(const Admission& admission) const;
  [[nodiscard]] Call& begin_call(std::uint64_t ticket);
  void end_call(std::map<std::uint64_t, Call>::iterator call);
  void finish(std::uint64_t ticket, std::optional<Spent> spent, bool counts, Moment wall);

  LedgerOptions options_;
  Moment now_{};  // the ledger's own time
  Moment skew_{};
  std::int64_t day_ = 0;
  std::uint64_t next_ticket_ = 1;
  std::unordered_map<std::string, Account> accounts_;
  std::map<std::uint32_t, Queue> queues_;  // by reach; within one, in the order of the last call
  std::map<std::string, Spending> spending_;
  std::map<std::uint64_t, Call> calls_;
  // Calls that have ended, for their memory.
  std::vector<std::map<std::uint64_t, Call>::node_type> ended_;
  // Of the call that asks to be let in, one for each of its rules; null: not there yet.
  std::vector<Account*> rated_, limited_;
  LockoutList lockouts_;
  std::uint64_t memory_ = 0;
};

}  // namespace sallyport
