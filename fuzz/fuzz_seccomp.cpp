// A compiled seccomp program does what its policy says, for any policy and any call.
#include <cstddef>
#include <cstdint>
#include <span>

#include "check.h"
#include "kernel/seccomp_compile.h"
#include "kernel/seccomp_evaluate.h"
#include "kernel/seccomp_policy_from_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sallyport;
  const std::span bytes(data, size);
  PolicyFromBytes source(bytes.first(size / 2));
  const SeccompPolicy policy = source.policy();
  const auto program = compile(policy);
  if (!program) return 0;  // more than the kernel takes
  source.go_on_with(bytes.subspan(size / 2));
  while (!source.exhausted()) {
    const seccomp_data call = source.call();
    FUZZ_CHECK(evaluate(*program, call) == action_of(policy.decide(call)));
  }
  return 0;
}
