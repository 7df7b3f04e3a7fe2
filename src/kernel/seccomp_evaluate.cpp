#include "kernel/seccomp_evaluate.h"

#include <linux/bpf_common.h>

#include <cstddef>
#include <cstring>
#include <string>

namespace sallyport {

namespace {

constexpr std::uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS;
constexpr std::uint16_t kAnd = BPF_ALU | BPF_AND | BPF_K;
constexpr std::uint16_t kReturn = BPF_RET | BPF_K;
constexpr std::uint16_t kJump = BPF_JMP | BPF_JA;
constexpr std::uint16_t kIfEqual = BPF_JMP | BPF_JEQ | BPF_K;
constexpr std::uint16_t kIfAbove = BPF_JMP | BPF_JGT | BPF_K;
constexpr std::uint16_t kIfNotBelow = BPF_JMP | BPF_JGE | BPF_K;
constexpr std::uint16_t kIfAnySet = BPF_JMP | BPF_JSET | BPF_K;

// Why an instruction with `behind` instructions after it is not acceptable; nullptr if it is.
const char* fault_in(const sock_filter& instruction, std::size_t behind) {
  switch (instruction.code) {
    case kLoad:
      if (instruction.k % 4 != 0) return "loads from an odd offset";
      if (instruction.k >= sizeof(seccomp_data)) return "loads from outside of the call";
      break;
    case kAnd:
      break;
    case kReturn:
      return nullptr;
    case kJump:
      return instruction.k < behind ? nullptr : "jumps out of the program";
    case kIfEqual:
    case kIfAbove:
    case kIfNotBelow:
    case kIfAnySet:
      return instruction.jt < behind && instruction.jf < behind ? nullptr
                                                                : "jumps out of the program";
    default:
      return "has an opcode that is not in use here";
  }
  return behind > 0 ? nullptr : "is the last one and no return";
}

bool holds(const sock_filter& jump, std::uint32_t accumulator) {
  switch (jump.code) {
    case kIfEqual:
      return accumulator == jump.k;
    case kIfAbove:
      return accumulator > jump.k;
    case kIfNotBelow:
      return accumulator >= jump.k;
    default:
      return (accumulator & jump.k) != 0;
  }
}

}  // namespace

Result<void> check_program(std::span<const sock_filter> program) {
  if (program.empty() || program.size() > BPF_MAXINSNS)
    return fail(Reason::internal, "a BPF program has 1 to " + std::to_string(BPF_MAXINSNS) +
                                      " instructions, not " + std::to_string(program.size()));
  for (std::size_t at = 0; at < program.size(); ++at) {
    if (const char* fault = fault_in(program[at], program.size() - 1 - at))
      return fail(Reason::internal, "BPF instruction " + std::to_string(at) + " " + fault);
  }
  return {};
}

Result<std::uint32_t> evaluate(std::span<const sock_filter> program, const seccomp_data& call) {
  if (auto sound = check_program(program); !sound) return std::unexpected(sound.error());
  std::uint32_t accumulator = 0;
  for (std::size_t at = 0;; ++at) {
    const sock_filter& instruction = program[at];
    switch (instruction.code) {
      case kLoad:
        std::memcpy(&accumulator, reinterpret_cast<const std::byte*>(&call) + instruction.k,
                    sizeof accumulator);
        break;
      case kAnd:
        accumulator &= instruction.k;
        break;
      case kReturn:
        return instruction.k;
      case kJump:
        at += instruction.k;
        break;
      default:
        at += holds(instruction, accumulator) ? instruction.jt : instruction.jf;
    }
  }
}

}  // namespace sallyport
