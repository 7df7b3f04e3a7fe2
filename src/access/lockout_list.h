// Who was denied how often, and who is locked out for it. Not for several threads at once; time is
// passed in and never runs backwards.
//
// Names come from outside, unknown callers among them: an ordered map, because a hash table can be
// made slow by whoever chooses the names, and a bound on memory. Denials that no longer fit are not
// forgotten in silence: for as long as they would have counted, nobody is let in who is not in the
// list already.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "access/rate_window.h"
#include "policy/rules.h"

namespace sallyport {

struct Offender {
  std::vector<Moment> denials;  // in order of time; empty while locked out
  std::uint32_t count = 0;      // denials that led to the lock-out
  bool locked = false;
  Moment until{};  // end of the lock-out, or when the last denial no longer counts
};

class LockoutList {
 public:
  explicit LockoutList(std::uint64_t max_memory) : max_memory_(max_memory) {}

  // Counts a denial of "caller/NAME" and "address/ADDRESS", as far as the rules say; empty names
  // are not counted, and neither is who is locked out already. All IPv6 addresses of one /64 are
  // one
  // ("address/2001:db8::/64").
  void denied(const Lockout& rules, std::string_view caller, std::string_view address, Moment now);

  struct Standing {
    std::string who;
    Moment until{};
    bool uncounted = false;  // not locked out, but denials could not be counted
  };
  // Why a call may not come in; the lock-out that lasts longest.
  [[nodiscard]] std::optional<Standing> find(const Lockout& rules, std::string_view caller,
                                             std::string_view address, Moment now) const;

  // Ends a lock-out, of an address also by any other of its network. Whether there was one.
  bool lift(std::string_view who, Moment now);

  // Forgets what no longer counts.
  void expire(Moment now);

  [[nodiscard]] const std::map<std::string, Offender, std::less<>>& offenders() const {
    return offenders_;
  }
  [[nodiscard]] Moment uncounted_until() const { return uncounted_until_; }
  [[nodiscard]] std::uint64_t memory() const { return memory_; }

  // Puts back what was read from a state file.
  void restore(std::string who, Offender&& offender);
  void restore_uncounted(Moment until) { uncounted_until_ = until; }

 private:
  using Offenders = std::map<std::string, Offender, std::less<>>;
  void count(const Lockout& rules, const std::string& who, Moment now);
  void forget(Offenders::iterator offender);

  Offenders offenders_;
  // By the moment that each is to be forgotten; the names are those in the map.
  std::set<std::pair<Moment, std::string_view>> expiry_;
  std::uint64_t max_memory_;
  std::uint64_t memory_ = 0;
  Moment uncounted_until_{};
};

}  // namespace sallyport
