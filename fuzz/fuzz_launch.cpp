// What the launcher reads from a front or a client that may be hostile, and what the front reads
// back: no crash, bounded memory, and one form only, so what is accepted is written back byte for
// byte. No claim gets past a ceiling that grants nothing with anything of the host in it.
#include <cstdint>
#include <string_view>

#include "cell/late.h"
#include "check.h"
#include "launch/ceiling.h"
#include "launch/visit.h"
#include "launch/wire.h"

using namespace sallyport;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto outcome = decode_outcome(bytes)) FUZZ_CHECK(*encode(*outcome) == bytes);
  if (const auto visit = decode_visit(bytes)) FUZZ_CHECK(*encode(*visit) == bytes);
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
  FUZZ_CHECK(spec.warm == Warmth{});
  // A class is one of itself, and holds no more than the claim.
  const auto kind = encode(Claim{.tenant = claim->tenant, .spec = class_of(spec)});
  FUZZ_CHECK(kind && kind->size() <= bytes.size());
  auto again = decode_claim(*kind);
  FUZZ_CHECK(again &&
             *encode(Claim{.tenant = again->tenant, .spec = class_of(again->spec)}) == *kind);
  if (may_be_parked(spec) && fits_parked(spec))
    FUZZ_CHECK(spec.network.allow.empty() && spec.client.files.empty());
  for (const InputFile& input : spec.inputs)
    FUZZ_CHECK(input.host.empty() && input.content && !input.name.starts_with("../"));
  return 0;
}
