#include "kernel/seccomp_evaluate.h"

#include <gtest/gtest.h>
#include <linux/bpf_common.h>

#include <string>
#include <vector>

#include "kernel/seccomp_make_call.h"

namespace sallyport {
namespace {

constexpr sock_filter kReturnOne = BPF_STMT(BPF_RET | BPF_K, 1);
constexpr sock_filter kReturnTwo = BPF_STMT(BPF_RET | BPF_K, 2);
constexpr sock_filter kLoadNumber = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);

TEST(SeccompEvaluate, RunsEveryKindOfJump) {
  struct Jump {
    std::uint16_t test;
    std::uint32_t operand;
    int number;
    std::uint32_t returns;
  };
  for (const Jump& jump : {Jump{BPF_JEQ, 7, 7, 1}, Jump{BPF_JEQ, 7, 8, 2}, Jump{BPF_JGT, 7, 8, 1},
                           Jump{BPF_JGT, 7, 7, 2}, Jump{BPF_JGE, 7, 7, 1}, Jump{BPF_JGE, 7, 6, 2},
                           Jump{BPF_JSET, 6, 4, 1}, Jump{BPF_JSET, 6, 9, 2}}) {
    const std::vector<sock_filter> program = {
        kLoadNumber,
        {static_cast<std::uint16_t>(BPF_JMP | jump.test | BPF_K), 1, 0, jump.operand},
        kReturnTwo,
        kReturnOne};
    EXPECT_EQ(evaluate(program, make_call(jump.number)), jump.returns) << jump.test;
  }
}

TEST(SeccompEvaluate, JumpsFurtherThanAByteWithJa) {
  std::vector<sock_filter> program(1000, kReturnTwo);
  program.front() = BPF_STMT(BPF_JMP | BPF_JA, 998);
  program.back() = kReturnOne;
  EXPECT_EQ(evaluate(program, {}), 1u);
}

TEST(SeccompEvaluate, LoadsAndMasksAnyWordOfTheCall) {
  seccomp_data call{};
  call.args[5] = 0x1234'5678'0000'0000;
  const std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof call - 4),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x78, 0, 1),
      kReturnOne,
      kReturnTwo,
  };
  EXPECT_EQ(evaluate(program, call), 1u);
}

TEST(SeccompEvaluate, RejectsMalformedProgramsEvenWhereTheyAreNotReached) {
  struct Malformed {
    std::vector<sock_filter> program;
    std::string fault;
  };
  const std::vector<Malformed> all = {
      {{}, "1 to 4096 instructions, not 0"},
      {std::vector<sock_filter>(4097, kReturnOne), "1 to 4096 instructions, not 4097"},
      {{kLoadNumber}, "instruction 0 is the last one and no return"},
      {{kReturnOne, BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 1)}, "is the last one and no return"},
      {{BPF_STMT(BPF_JMP | BPF_JA, 1), kReturnOne}, "instruction 0 jumps out of the program"},
      {{BPF_STMT(BPF_JMP | BPF_JA, 0xffff'ffff), kReturnOne}, "jumps out of the program"},
      {{BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), kReturnOne}, "jumps out of the program"},
      {{BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0, 0, 1), kReturnOne}, "jumps out of the program"},
      {{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2), kReturnOne}, "loads from an odd offset"},
      {{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64), kReturnOne}, "loads from outside of the call"},
      {{BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0), kReturnOne}, "has an opcode that is not in use"},
      {{kReturnOne, BPF_STMT(BPF_MISC | BPF_TAX, 0), kReturnOne}, "instruction 1 has an opcode"},
      {{BPF_STMT(BPF_RET | BPF_A, 0)}, "has an opcode that is not in use"},
      {{{0xffff, 0, 0, 0}, kReturnOne}, "has an opcode that is not in use"},
  };
  for (const Malformed& malformed : all) {
    const auto action = evaluate(malformed.program, {});
    ASSERT_FALSE(action) << malformed.fault;
    EXPECT_NE(action.error().message.find(malformed.fault), std::string::npos)
        << action.error().message << "; expected: " << malformed.fault;
  }
}

}  // namespace
}  // namespace sallyport
