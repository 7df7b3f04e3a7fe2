// Whatever Vault, or what stands in its place, answers: a value or a reason, never both, and
// nothing of the value in the reason.
#include <cstdint>
#include <string>
#include <string_view>

#include "check.h"
#include "reader/reading.h"
#include "reader/vault_answer.h"

using namespace sallyport;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const std::string_view fields : {"token", "username:password"}) {
    VaultSecret secret = parse_vault_secret(bytes, fields);
    FUZZ_CHECK(secret.value.empty() != secret.why.empty());
    FUZZ_CHECK(secret.lease.id.empty() == (secret.lease.duration.count() == 0));
    FUZZ_CHECK(secret.lease.duration <= kLongestLease);
    const Reading reading = check_secret(secret.value, "it");
    FUZZ_CHECK(reading.value.empty() != reading.why.empty());
    FUZZ_CHECK(reading.value.find_first_of("\r\n") == std::string::npos);
  }
  if (const auto lease = parse_vault_lease(bytes)) FUZZ_CHECK(!lease->id.empty());
  for (const char c : vault_complaint(bytes))
    FUZZ_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  return 0;
}
