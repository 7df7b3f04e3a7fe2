// Text of any kind loads as a policy or is refused with sentences and places. What loads, loads
// again to the same hash.
#include <cstdint>
#include <string_view>

#include "check.h"
#include "sallyport/policy.h"

using namespace sallyport;

// libfyaml 0.7 loses a buffer of 4 KiB when some malformed quoted scalars end early. A policy is
// read once per process or reload, so it is noted here and not worked around.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:fy_atom_iter_grow_chunk";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const PolicyResult result = Policy::parse(text, "fuzz");
  if (result) {
    FUZZ_CHECK(result->hash().size() == 64);
    const PolicyResult again = Policy::parse(text, "again");
    FUZZ_CHECK(again && again->hash() == result->hash());
    return 0;
  }
  FUZZ_CHECK(!result.error().empty());
  for (const PolicyProblem& problem : result.error()) {
    FUZZ_CHECK(problem.line >= 1 && problem.column >= 1);
    FUZZ_CHECK(!problem.message.empty());
    FUZZ_CHECK(!to_text(problem).contains('\n'));
  }
  return 0;
}
