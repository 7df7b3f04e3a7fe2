// A state file is read without a crash and in bounded memory, whatever it holds; what is accepted
// is written back byte for byte, and can be gone on with.
#include <cstdint>
#include <string>
#include <string_view>

#include "access/accounts_format.h"
#include "check.h"

using namespace sallyport;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace std::chrono_literals;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const LedgerOptions options{.lockout = Lockout{.after = 3, .within = 1min, .lasts = 5min},
                              .max_memory = 1 << 20};
  if (const auto whole = AccountsFormat::read(bytes, options))
    FUZZ_CHECK(AccountsFormat::write(**whole) == bytes);

  // Without the checksum, which a fuzzer does not guess.
  const auto accounts = AccountsFormat::read_body(bytes, options);
  if (accounts == nullptr) return 0;
  FUZZ_CHECK(AccountsFormat::write_body(*accounts) == bytes);
  FUZZ_CHECK(accounts->memory() <= (std::uint64_t{1} << 12) + 512 * size);

  const std::string caller = "ann", address = "a";
  const std::vector<RateRule> rates{{.key = "a", .rule = "r", .rate = {2, 1min}},
                                    {.key = "tenant/t", .rule = "r", .rate = {9, 1h}}};
  const std::vector<ConcurrencyRule> concurrency{{.key = "a", .rule = "r", .most = 4}};
  const std::optional<BudgetRule> budget =
      BudgetRule{.key = "t", .rule = "r", .budget = {.cpu = 1h, .egress = {}, .calls = 9}};
  Moment now{1s};
  for (int i = 0; i < 4; ++i, now += 30s) {
    const auto ticket = accounts->admit({.caller = caller,
                                         .address = address,
                                         .rates = rates,
                                         .concurrency = concurrency,
                                         .budget = budget,
                                         .cpu_limit = 1s},
                                        now, now);
    if (ticket && i % 2 == 0) accounts->withdraw(ticket->id, now, now);
    accounts->denied(caller, address, now);
  }
  for (const std::uint64_t ticket : accounts->in_flight())
    accounts->abandon(ticket, now, now);
  FUZZ_CHECK(accounts->in_flight().empty());
  FUZZ_CHECK(AccountsFormat::read(AccountsFormat::write(*accounts), options).has_value());
  return 0;
}
