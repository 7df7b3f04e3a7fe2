// Accounts as bytes, for a state file.
//
//   "sallyport ledger 2\n"
//   body: numbers are LEB128 in their shortest form, texts a length and bytes, lists a count and
//         items; sorted by name or number, so that equal accounts are equal bytes
//     time, skew, day, next ticket
//     accounts   name, reach in seconds, calls: age of the latest, then steps back
//     spending   name, day, cpu, bytes sent, calls
//     calls      ticket, age, accounts counted in, accounts running in (by place in the list),
//                spending (place + 1; 0: none), cpu and bytes held back, day
//     offenders  name, locked, until, count, denials: ages
//     until when denials went uncounted
//   FNV-1a of all bytes before it, 64 bits, little end first
//
// The reader takes exactly what the writer writes and nothing else.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "access/accounts.h"

namespace sallyport {

class AccountsFormat {
 public:
  [[nodiscard]] static std::string write(const Accounts& accounts);

  // The error says what is wrong with the bytes, as the end of a sentence about the file.
  [[nodiscard]] static std::expected<std::unique_ptr<Accounts>, std::string> read(
      std::string_view bytes, const LedgerOptions& options);

  // The body alone, without the line in front and the checksum behind. Null: not one.
  [[nodiscard]] static std::string write_body(const Accounts& accounts);
  [[nodiscard]] static std::unique_ptr<Accounts> read_body(std::string_view body,
                                                           const LedgerOptions& options);
};

}  // namespace sallyport
