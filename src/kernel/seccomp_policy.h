// What a cell may ask of the kernel, as an immutable value.
//
//   policy     := for some calls a rule; every other call is refused with ENOSYS
//   rule       := verdict
//               | when(condition, verdict) { .when(condition, verdict) } .otherwise(verdict)
//                                             the first condition that holds decides
//   verdict    := allow()                     the kernel carries the call out
//               | refuse(errno)               the call fails with errno and the supervisor is told
//               | pretend(errno)              the call fails with errno and nobody is told: for
//               probes
//                                             that runtimes make and expect to fail
//               | observe()                   the supervisor is told, then the kernel carries the
//                                             call out: to find out what a program needs
//   condition  := value.is(x) | value.is_one_of({x, ...}) | value.has_none(bits)
//               | condition && condition | condition || condition
//   value      := arg(0..5)                   all 64 bits of the register
//               | value.low32()               for arguments that the kernel takes as int or
//               unsigned:
//                                             it drops the upper half, so a comparison that keeps
//                                             it is passed by TIOCSTI | 1 << 32 (CVE-2019-10063)
//               | value.masked(bits)
//
// Conditions see registers only. What lies behind a pointer can change between check and use, so no
// rule looks there.
#pragma once

#include <linux/seccomp.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/error.h"

namespace sallyport {

namespace seccomp {

struct Verdict {
  enum class Kind : std::uint8_t { allow, refuse, pretend, observe };
  Kind kind = Kind::refuse;
  int error = 0;  // the errno; 0 for allow and observe

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

constexpr Verdict allow() {
  return {Verdict::Kind::allow, 0};
}
constexpr Verdict refuse(int error) {
  return {Verdict::Kind::refuse, error};
}
constexpr Verdict pretend(int error) {
  return {Verdict::Kind::pretend, error};
}
constexpr Verdict observe() {
  return {Verdict::Kind::observe, 0};
}
constexpr bool lets_through(Verdict verdict) {
  return verdict.kind == Verdict::Kind::allow || verdict.kind == Verdict::Kind::observe;
}

// Holds if the register's bits under `mask` are one of `values`. Every condition is made of these.
struct Comparison {
  unsigned argument = 0;
  std::uint64_t mask = 0;
  std::vector<std::uint64_t> values;

  [[nodiscard]] bool holds(const seccomp_data& call) const;
};

using Conjunction = std::vector<Comparison>;

// Holds if all comparisons of any one conjunction hold.
struct Condition {
  std::vector<Conjunction> any_of;

  friend Condition operator&&(const Condition& left, const Condition& right);
  friend Condition operator||(Condition left, Condition right);
};

class Value {
 public:
  explicit constexpr Value(unsigned argument) : argument_(argument) {}

  [[nodiscard]] constexpr Value low32() const { return masked(0xffff'ffff); }
  [[nodiscard]] constexpr Value masked(std::uint64_t bits) const {
    Value narrowed = *this;
    narrowed.mask_ &= bits;
    return narrowed;
  }

  [[nodiscard]] Condition is_one_of(std::initializer_list<std::uint64_t> values) const;
  [[nodiscard]] Condition is(std::uint64_t value) const { return is_one_of({value}); }
  [[nodiscard]] Condition has_none(std::uint64_t bits) const { return masked(bits).is(0); }

 private:
  unsigned argument_;
  std::uint64_t mask_ = ~std::uint64_t{0};
};

constexpr Value arg(unsigned argument) {
  return Value(argument);
}

struct Clause {
  Conjunction all_of;
  Verdict verdict;
};

struct Rule {
  Rule(Verdict verdict) : otherwise(verdict) {}  // NOLINT(google-explicit-constructor)

  std::vector<Clause> clauses;
  Verdict otherwise;

  [[nodiscard]] Verdict decide(const seccomp_data& call) const;
};

// A rule that still lacks its `otherwise`.
class Cases {
 public:
  [[nodiscard]] Cases when(Condition condition, Verdict verdict) &&;
  [[nodiscard]] Rule otherwise(Verdict verdict) &&;

 private:
  std::vector<Clause> clauses_;
};

[[nodiscard]] Cases when(Condition condition, Verdict verdict);

}  // namespace seccomp

// One line of a policy: a set of calls, by number, and the rule for each of them.
struct PolicyLine {
  PolicyLine(std::span<const int> set, seccomp::Rule its_rule)
      : calls(set.begin(), set.end()), rule(std::move(its_rule)) {}
  PolicyLine(int call, seccomp::Rule its_rule) : calls{call}, rule(std::move(its_rule)) {}

  std::vector<int> calls;
  seccomp::Rule rule;
};

class SeccompPolicy {
 public:
  // Numbers at or above this are no x86-64 calls: the table has fewer than 500, and is dense.
  static constexpr int kCallLimit = 1024;

  // An error means that the lines contradict each other or themselves: a call that is ruled twice,
  // a number that is no call, an argument that no call has, an errno that would read as success.
  static Result<SeccompPolicy> make(std::vector<PolicyLine> lines);

  // The rule for a call, or nullptr when no line names it.
  [[nodiscard]] const seccomp::Rule* find(int call) const;

  // What happens to a call. Foreign architectures and x32 numbers are refused with ENOSYS.
  [[nodiscard]] seccomp::Verdict decide(const seccomp_data& call) const;

 private:
  SeccompPolicy() = default;

  std::vector<seccomp::Rule> rules_;
  std::vector<std::uint16_t> rule_of_;  // by call: 1 + index into rules_, 0 for none
};

inline constexpr seccomp::Verdict kUnnamedCall = seccomp::refuse(ENOSYS);

// The errno that answers a call of which the filter has notified the supervisor, and which is to be
// refused. Never 0.
[[nodiscard]] int refusal_errno(const SeccompPolicy& policy, const seccomp_data& call);

}  // namespace sallyport
