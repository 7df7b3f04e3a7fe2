// The accounts as a file of a directory.
//
//   ledger        the accounts (accounts_format.h)
//   ledger.new    the next ones, while they are being written
//   ledger.lock   locked by whoever reads and changes them
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "access/accounts.h"
#include "base/fd.h"

namespace sallyport {

// Locked for as long as the descriptor is open.
[[nodiscard]] Result<Fd> lock_accounts(int directory, std::chrono::milliseconds patience);

// Empty ones if there is no file yet.
[[nodiscard]] Result<std::unique_ptr<Accounts>> read_accounts(int directory,
                                                              const LedgerOptions& options);

// The new file takes the old one's place in whole or not at all.
[[nodiscard]] Result<void> write_accounts(int directory, const Accounts& accounts);
// The same with what AccountsFormat made of them.
[[nodiscard]] Result<void> write_accounts(int directory, std::string_view bytes);

}  // namespace sallyport
