// What has been used: calls per window, calls in flight, denials, the budget of the day. One ledger
// is shared by all threads of a boundary, or, in a state directory, by all processes that name it.
//
// Counting is exact. A call is counted when it is admitted and taken back if a later gate refuses
// it, so that calls in flight can never add up to more than the rate. What cannot be counted (no
// memory left within the bound, a state file that cannot be written) is refused.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "access/rate_window.h"
#include "policy/envelope.h"
#include "sallyport/error.h"

namespace sallyport {

// A call that asks to be let in. Views must live for the time of admit() only.
struct Admission {
  const std::string& caller;
  const std::string& address;  // empty: none
  const std::vector<RateRule>& rates;
  const std::vector<ConcurrencyRule>& concurrency;
  const std::optional<BudgetRule>& budget;
  // What the call may spend at most; held back from the budget while it runs.
  Duration cpu_limit;
  std::uint64_t send_limit = 0;
};

// A refusal by the ledger: the reason is rate_limit, concurrency, budget, locked_out or
// unavailable.
struct Refusal {
  Error error;
  std::string rule;
  std::optional<Duration> retry_after;
};

// What a call used of the budget of its day.
struct Spent {
  Duration cpu{};
  std::uint64_t sent = 0;  // bytes to the network
};

struct Ticket {
  std::uint64_t id = 0;
  std::optional<std::uint64_t> remaining;  // calls left in the tightest window; none: no rate
};

// Who is locked out, until when and why.
struct LockedOut {
  std::string who;  // "caller/agent_42" or "address/203.0.113.7"
  Moment until{};
  std::uint32_t denials = 0;
};

class Ledger {
 public:
  virtual ~Ledger() = default;

  // Lets a call in, counted in every rate at once or in none.
  [[nodiscard]] virtual std::expected<Ticket, Refusal> admit(const Admission& admission) = 0;
  // The call was refused by a later gate: it does not count.
  virtual void withdraw(const Ticket& ticket) = 0;
  // The call ended and spent this much.
  virtual void settle(const Ticket& ticket, Spent spent) = 0;
  // Counts a denial of this caller, and of the address, unless they are empty. The ledger does not
  // count its own refusals: whoever answers the call does. For a caller that the policy does not
  // know, leave the name empty: counting invented names only costs memory.
  virtual void denied(const std::string& caller, const std::string& address) = 0;

  [[nodiscard]] virtual Result<std::vector<LockedOut>> locked_out() = 0;
  // Whether `who` was locked out.
  [[nodiscard]] virtual Result<bool> lift(const std::string& who) = 0;
  // Another policy is in force.
  virtual void set_lockout(const std::optional<Lockout>& lockout) = 0;
};

struct LedgerOptions {
  std::optional<Lockout> lockout;
  std::uint64_t max_memory = std::uint64_t{64} << 20;  // past it, new callers are refused
};

// In memory, on the monotonic clock, with the days of the wall clock (or those given, for tests).
using Clock = Moment (*)();
[[nodiscard]] std::unique_ptr<Ledger> memory_ledger(LedgerOptions options, Clock clock = nullptr,
                                                    Clock wall = nullptr);

// In files of a directory (open descriptor of it), shared with other processes and lasting. The
// directory must belong to the user and be nobody else's to write.
[[nodiscard]] Result<std::unique_ptr<Ledger>> directory_ledger(int directory, LedgerOptions options,
                                                               Clock clock = nullptr);

// In memory, kept in files of a directory that nobody else uses meanwhile: for a service.
[[nodiscard]] Result<std::unique_ptr<Ledger>> service_ledger(int directory, LedgerOptions options);

}  // namespace sallyport
