// Policies and calls made out of arbitrary bytes, for the property test and the fuzzer. The values
// that a policy compares with come back as arguments of its calls, so that comparisons hold often
// enough.
#pragma once

#include <linux/audit.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "kernel/seccomp_policy.h"

namespace sallyport {

class PolicyFromBytes {
 public:
  explicit PolicyFromBytes(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  // Takes what comes next from here, so that a long policy leaves bytes for calls.
  void go_on_with(std::span<const std::uint8_t> bytes) { bytes_ = bytes; }

  [[nodiscard]] bool exhausted() const { return bytes_.empty(); }

  SeccompPolicy policy() {
    std::vector<bool> ruled(SeccompPolicy::kCallLimit);
    std::vector<PolicyLine> lines;
    for (unsigned line = take<std::uint8_t>(); line > 0 && !exhausted(); --line) {
      std::vector<int> calls;
      unsigned call = take<std::uint16_t>();
      for (unsigned adjacent = take<std::uint8_t>() % 8 + 1; adjacent > 0; --adjacent, ++call) {
        const unsigned number = call % SeccompPolicy::kCallLimit;
        if (ruled[number]) continue;
        ruled[number] = true;
        calls.push_back(static_cast<int>(number));
      }
      lines.emplace_back(std::span<const int>(calls), rule());
    }
    return std::move(SeccompPolicy::make(std::move(lines)).value());
  }

  seccomp_data call() {
    seccomp_data call{};
    call.arch = take<std::uint8_t>() < 8 ? take<std::uint32_t>() : AUDIT_ARCH_X86_64;
    call.nr = take<std::uint8_t>() < 8 ? take<std::int32_t>()
                                       : take<std::uint16_t>() % (SeccompPolicy::kCallLimit + 2);
    call.instruction_pointer = take<std::uint64_t>();
    for (auto& argument : call.args)
      argument = word();
    return call;
  }

 private:
  template <class T>
  T take() {
    T value{};
    const std::size_t size = std::min(sizeof value, bytes_.size());
    std::memcpy(&value, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
    return value;
  }

  std::uint64_t word() {
    const unsigned shape = take<std::uint8_t>();
    const std::uint64_t known = seen_.empty() ? 0 : seen_[take<std::uint16_t>() % seen_.size()];
    switch (shape % 6) {
      case 0:
        return 0;
      case 1:
        return take<std::uint64_t>();
      case 2:
        return known ^ std::uint64_t{1} << shape / 6;
      case 3:
        return known | std::uint64_t{take<std::uint32_t>()} << 32;
      default:
        return known;
    }
  }

  std::uint64_t mask() {
    constexpr std::uint64_t kLow = 0xffff'ffff;
    switch (take<std::uint8_t>() % 6) {
      case 0:
        return ~std::uint64_t{0};
      case 1:
        return kLow;
      case 2:
        return ~kLow;
      case 3:
        return take<std::uint64_t>() & kLow;
      case 4:
        return take<std::uint64_t>() & ~kLow;
      default:
        return take<std::uint64_t>();
    }
  }

  seccomp::Verdict verdict() {
    const int error = take<std::uint8_t>() % 4 + 1;
    switch (take<std::uint8_t>() % 3) {
      case 0:
        return seccomp::allow();
      case 1:
        return seccomp::refuse(error);
      default:
        return seccomp::pretend(error);
    }
  }

  seccomp::Comparison comparison() {
    seccomp::Comparison comparison{take<std::uint8_t>() % 6u, mask(), {}};
    // Now and then more values than a conditional jump reaches over.
    const unsigned size = take<std::uint8_t>();
    for (unsigned values = size < 4 ? size * 120 : size % 5; values > 0; --values) {
      const std::uint64_t value = word();
      comparison.values.push_back(value % 8 == 7 ? value : value & comparison.mask);
      seen_.push_back(comparison.values.back());
    }
    return comparison;
  }

  seccomp::Rule rule() {
    seccomp::Rule rule = verdict();
    for (unsigned clauses = take<std::uint8_t>() % 5; clauses > 0; --clauses) {
      seccomp::Clause& clause = rule.clauses.emplace_back(seccomp::Conjunction{}, verdict());
      for (unsigned all_of = take<std::uint8_t>() % 4; all_of > 0; --all_of)
        clause.all_of.push_back(comparison());
    }
    return rule;
  }

  std::span<const std::uint8_t> bytes_;
  std::vector<std::uint64_t> seen_;
};

}  // namespace sallyport
