// What the launcher reads from a front that may be hostile, and what the front reads back: no
// crash, bounded memory, and one form only, so what is accepted is written back byte for byte. No
// claim gets past a ceiling that grants nothing with anything of the host in it.
#include <cstdint>
#include <string_view>

#include "check.h"
#include "launch/ceiling.h"
#include "launch/wire.h"

using namespace sallyport;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto outcome = decode_outcome(bytes)) FUZZ_CHECK(*encode(*outcome) == bytes);
  auto claim = decode_claim(bytes);
  if (!claim) return 0;
  FUZZ_CHECK(*encode(*claim) == bytes);
  LaunchCeiling ceiling;
  ceiling.uids["default"] = {};
  ceiling.profiles = {"default"};
  if (!check_claim(ceiling, *claim, {.directory = true, .connection = true})) return 0;
  const CellSpec& spec = claim->spec;
  FUZZ_CHECK(spec.grants.empty() && spec.root.empty() && spec.output_directory.empty());
  FUZZ_CHECK(spec.uids && spec.limits.memory <= Limits{}.memory);
  for (const InputFile& input : spec.inputs)
    FUZZ_CHECK(input.host.empty() && input.content && !input.name.starts_with("../"));
  return 0;
}
