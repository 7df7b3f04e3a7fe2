#include "kernel/seccomp_policy.h"

#include <linux/audit.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace sallyport {

namespace seccomp {

bool Comparison::holds(const seccomp_data& call) const {
  return std::ranges::find(values, call.args[argument] & mask) != values.end();
}

Condition operator&&(const Condition& left, const Condition& right) {
  Condition both;
  for (const Conjunction& ours : left.any_of) {
    for (const Conjunction& theirs : right.any_of) {
      Conjunction& joined = both.any_of.emplace_back(ours);
      joined.insert(joined.end(), theirs.begin(), theirs.end());
    }
  }
  return both;
}

Condition operator||(Condition left, Condition right) {
  std::ranges::move(right.any_of, std::back_inserter(left.any_of));
  return left;
}

Condition Value::is_one_of(std::initializer_list<std::uint64_t> values) const {
  return {{{Comparison{argument_, mask_, values}}}};
}

Verdict Rule::decide(const seccomp_data& call) const {
  for (const Clause& clause : clauses) {
    if (std::ranges::all_of(clause.all_of, [&](const Comparison& c) { return c.holds(call); }))
      return clause.verdict;
  }
  return otherwise;
}

Cases Cases::when(Condition condition, Verdict verdict) && {
  for (Conjunction& all_of : condition.any_of)
    clauses_.push_back({std::move(all_of), verdict});
  return std::move(*this);
}

Rule Cases::otherwise(Verdict verdict) && {
  Rule rule = verdict;
  rule.clauses = std::move(clauses_);
  return rule;
}

Cases when(Condition condition, Verdict verdict) {
  return Cases().when(std::move(condition), verdict);
}

}  // namespace seccomp

namespace {

constexpr int kMaxErrno = 4095;  // the kernel's MAX_ERRNO; beyond it a result reads as a success
constexpr unsigned kArguments = std::size(seccomp_data{}.args);

bool is_sound(seccomp::Verdict verdict) {
  if (lets_through(verdict)) return verdict.error == 0;
  return verdict.error > 0 && verdict.error <= kMaxErrno;
}

bool is_sound(const seccomp::Rule& rule) {
  return is_sound(rule.otherwise) &&
         std::ranges::all_of(rule.clauses, [](const seccomp::Clause& clause) {
           return is_sound(clause.verdict) &&
                  std::ranges::all_of(clause.all_of, [](const seccomp::Comparison& comparison) {
                    return comparison.argument < kArguments;
                  });
         });
}

}  // namespace

Result<SeccompPolicy> SeccompPolicy::make(std::vector<PolicyLine> lines) {
  SeccompPolicy policy;
  policy.rules_.reserve(lines.size());
  policy.rule_of_.resize(kCallLimit);
  for (PolicyLine& line : lines) {
    if (!is_sound(line.rule))
      return fail(Reason::internal, "a seccomp rule has an errno or an argument that cannot be");
    policy.rules_.push_back(std::move(line.rule));
    for (const int call : line.calls) {
      if (call < 0 || call >= kCallLimit)
        return fail(Reason::internal, "no system call has the number " + std::to_string(call));
      std::uint16_t& rule = policy.rule_of_[call];
      if (rule != 0)
        return fail(Reason::internal, "system call " + std::to_string(call) + " is ruled twice");
      rule = static_cast<std::uint16_t>(policy.rules_.size());
    }
  }
  return policy;
}

const seccomp::Rule* SeccompPolicy::find(int call) const {
  if (call < 0 || call >= kCallLimit || rule_of_[call] == 0) return nullptr;
  return &rules_[rule_of_[call] - 1];
}

seccomp::Verdict SeccompPolicy::decide(const seccomp_data& call) const {
  if (call.arch != AUDIT_ARCH_X86_64) return kUnnamedCall;
  const seccomp::Rule* rule = find(call.nr);
  return rule != nullptr ? rule->decide(call) : kUnnamedCall;
}

int refusal_errno(const SeccompPolicy& policy, const seccomp_data& call) {
  const seccomp::Verdict verdict = policy.decide(call);
  return lets_through(verdict) ? ENOSYS : verdict.error;
}

}  // namespace sallyport
