#include "kernel/seccomp_compile.h"

#include <linux/audit.h>
#include <linux/bpf_common.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <ranges>
#include <span>
#include <string>

#include "kernel/seccomp_evaluate.h"

namespace sallyport {

namespace {

using seccomp::Clause;
using seccomp::Comparison;
using seccomp::Rule;

// An instruction that is already written. Jumps only go forward, so the program is written from its
// end: whatever an instruction can jump to has its place before the instruction has one.
using Label = std::size_t;

class Assembler {
 public:
  // A conditional jump reaches 255 instructions far. A label that is further away is replaced by a
  // nearer copy of it, in place, so that what is written next finds the near one.
  Label branch(std::uint16_t test, std::uint32_t operand, Label& yes, Label& no) {
    bring_near(yes);
    bring_near(no);
    return emit(BPF_JMP | test | BPF_K, operand, distance(yes), distance(no));
  }

  Label load(std::size_t offset, Label then) {
    fall_into(then);
    return emit(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
  }

  Label mask(std::uint32_t bits) { return emit(BPF_ALU | BPF_AND | BPF_K, bits); }

  Label give_back(std::uint32_t action) {
    for (Label& label : returns_) {
      if (!returns(label, action)) continue;
      if (is_far(label)) label = emit(BPF_RET | BPF_K, action);
      return label;
    }
    return returns_.emplace_back(emit(BPF_RET | BPF_K, action));
  }

  [[nodiscard]] bool returns(Label label, std::uint32_t action) const {
    return code_[label].code == (BPF_RET | BPF_K) && code_[label].k == action;
  }

  std::vector<sock_filter> take() {
    std::ranges::reverse(code_);
    return std::move(code_);
  }

 private:
  static constexpr std::size_t kReach = 255;

  // How many instructions a jump written now would skip.
  [[nodiscard]] std::size_t distance(Label label) const { return code_.size() - 1 - label; }

  // One less than the reach: bringing one side of a branch near pushes the other side one away.
  [[nodiscard]] bool is_far(Label label) const { return distance(label) > kReach - 1; }

  void bring_near(Label& label) {
    if (!is_far(label)) return;
    if (code_[label].code == (BPF_RET | BPF_K)) {
      label = give_back(code_[label].k);
    } else {
      label = emit(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(distance(label)));
    }
  }

  void fall_into(Label label) {
    if (distance(label) != 0) emit(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(distance(label)));
  }

  Label emit(std::uint16_t code, std::uint32_t k, std::size_t yes = 0, std::size_t no = 0) {
    code_.push_back({code, static_cast<std::uint8_t>(yes), static_cast<std::uint8_t>(no), k});
    return code_.size() - 1;
  }

  std::vector<sock_filter> code_;  // last instruction first
  std::vector<Label> returns_;     // the nearest return of each action
};

class Compiler {
 public:
  explicit Compiler(const SeccompPolicy& policy) : ranges_(ranges_of(policy)) {}

  std::vector<sock_filter> run() {
    Label search_call = search(ranges_);
    Label native = code_.load(offsetof(seccomp_data, nr), search_call);
    Label foreign = code_.give_back(SECCOMP_RET_USER_NOTIF);
    code_.load(offsetof(seccomp_data, arch),
               code_.branch(BPF_JEQ, AUDIT_ARCH_X86_64, native, foreign));
    return code_.take();
  }

 private:
  // Without a rule, an action.
  struct Decision {
    const Rule* rule;
    std::uint32_t action;
    bool operator==(const Decision&) const = default;
  };

  struct Exception {
    std::uint32_t call;
    Decision decision;
  };

  // Calls from `first` up to the next range, but for a few single ones among them: each takes one
  // instruction, where a range of its own would take two. The kernel translates the program anew
  // for every cell.
  struct Range {
    std::uint32_t first;
    Decision decision;
    std::vector<Exception> exceptions;
  };
  // They are gone through one by one.
  static constexpr std::size_t kMostExceptions = 6;

  // The last range is open: numbers that no policy can name, x32's (from 0x40000000) among them.
  static std::vector<Range> ranges_of(const SeccompPolicy& policy) {
    std::vector<Range> ranges;
    for (int call = 0; call <= SeccompPolicy::kCallLimit; ++call) {
      const Decision decision = decision_of(policy.find(call));
      if (!ranges.empty() && ranges.back().decision == decision) continue;
      ranges.push_back({static_cast<std::uint32_t>(call), decision, {}});
      fold_single(ranges);
    }
    return ranges;
  }

  static Decision decision_of(const Rule* rule) {
    if (rule == nullptr) return {nullptr, action_of(kUnnamedCall)};
    if (rule->clauses.empty()) return {nullptr, action_of(rule->otherwise)};
    return {rule, 0};
  }

  // If the last but one is a single call between ranges that are alike, they become one.
  static void fold_single(std::vector<Range>& ranges) {
    if (ranges.size() < 3) return;
    const Range& after = ranges[ranges.size() - 1];
    const Range& single = ranges[ranges.size() - 2];
    Range& before = ranges[ranges.size() - 3];
    if (after.first != single.first + 1 || !single.exceptions.empty() ||
        before.decision != after.decision)
      return;
    const Exception exception{single.first, single.decision};
    if (before.exceptions.size() < kMostExceptions) {
      before.exceptions.push_back(exception);
      ranges.pop_back();
      ranges.pop_back();
    } else {
      ranges.pop_back();
      ranges.back() = {exception.call, before.decision, {exception}};
    }
  }

  Label search(std::span<const Range> ranges) {
    if (ranges.size() == 1) return outcome(ranges.front());
    const std::size_t half = ranges.size() / 2;
    Label upper = search(ranges.subspan(half));
    Label lower = search(ranges.first(half));
    return code_.branch(BPF_JGE, ranges[half].first, upper, lower);
  }

  Label outcome(const Range& range) {
    Label next = outcome(range.decision);
    for (const Exception& exception : range.exceptions) {
      Label found = outcome(exception.decision);
      next = code_.branch(BPF_JEQ, exception.call, found, next);
    }
    return next;
  }

  Label outcome(const Decision& decision) {
    if (decision.rule == nullptr) return code_.give_back(decision.action);
    for (const Written& written : written_)
      if (written.rule == decision.rule) return written.at;
    return written_.emplace_back(decision.rule, decide(*decision.rule)).at;
  }

  Label decide(const Rule& rule) {
    Label next = code_.give_back(action_of(rule.otherwise));
    for (const Clause& clause : rule.clauses | std::views::reverse) {
      const std::uint32_t action = action_of(clause.verdict);
      if (code_.returns(next, action)) continue;  // the supervisor tells them apart
      Label target = code_.give_back(action);
      for (const Comparison& comparison : clause.all_of | std::views::reverse)
        target = compare(comparison, target, next);
      next = target;
    }
    return next;
  }

  // BPF sees a register as two words of 32 bits.
  struct Word {
    Word(const Comparison& comparison, unsigned shift)
        : offset(offsetof(seccomp_data, args) + sizeof(std::uint64_t) * comparison.argument +
                 shift / 8),
          mask(static_cast<std::uint32_t>(comparison.mask >> shift)) {}

    std::size_t offset;
    std::uint32_t mask;
  };

  Label compare(const Comparison& comparison, Label& yes, Label& no) {
    std::vector<std::uint64_t> values;
    for (const std::uint64_t value : comparison.values)
      if ((value & ~comparison.mask) == 0) values.push_back(value);
    if (values.empty()) return no;
    if (comparison.mask == 0) return yes;

    const Word low(comparison, 0);
    const Word high(comparison, 32);
    if (high.mask == 0) return compare_word(low, values, 0, yes, no);
    if (low.mask == 0) return compare_word(high, values, 32, yes, no);
    Label next = no;
    for (const std::uint64_t& value : values | std::views::reverse) {
      const std::span one(&value, 1);
      Label low_word = compare_word(low, one, 0, yes, next);
      next = compare_word(high, one, 32, low_word, next);
    }
    return next;
  }

  Label compare_word(Word word, std::span<const std::uint64_t> values, unsigned shift, Label& yes,
                     Label& no) {
    if (values.size() == 1 && values.front() == 0)
      return code_.load(word.offset, code_.branch(BPF_JSET, word.mask, no, yes));
    Label next = no;
    for (const std::uint64_t value : values | std::views::reverse)
      next = code_.branch(BPF_JEQ, static_cast<std::uint32_t>(value >> shift), yes, next);
    if (word.mask != 0xffff'ffff) next = code_.mask(word.mask);
    return code_.load(word.offset, next);
  }

  struct Written {
    const Rule* rule;
    Label at;
  };

  std::vector<Range> ranges_;
  std::vector<Written> written_;
  Assembler code_;
};

}  // namespace

std::uint32_t action_of(seccomp::Verdict verdict) {
  switch (verdict.kind) {
    case seccomp::Verdict::Kind::allow:
      return SECCOMP_RET_ALLOW;
    case seccomp::Verdict::Kind::pretend:
      return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(verdict.error);
    case seccomp::Verdict::Kind::refuse:
    case seccomp::Verdict::Kind::observe:
      break;
  }
  return SECCOMP_RET_USER_NOTIF;
}

Result<std::vector<sock_filter>> compile(const SeccompPolicy& policy) {
  std::vector<sock_filter> program = Compiler(policy).run();
  if (program.size() > BPF_MAXINSNS)
    return fail(Reason::internal, "the seccomp policy needs " + std::to_string(program.size()) +
                                      " instructions; the kernel takes " +
                                      std::to_string(BPF_MAXINSNS));
  if (auto sound = check_program(program); !sound) return std::unexpected(sound.error());
  return program;
}

Result<std::vector<sock_filter>> compile_to_kill(const SeccompPolicy& policy) {
  auto program = compile(policy);
  if (!program) return program;
  for (sock_filter& line : *program)
    if (line.code == (BPF_RET | BPF_K) && line.k == SECCOMP_RET_USER_NOTIF)
      line.k = SECCOMP_RET_KILL_PROCESS;
  return program;
}

}  // namespace sallyport
