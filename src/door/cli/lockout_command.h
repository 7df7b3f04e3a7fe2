// `sallyport lockout`
#pragma once

#include <span>
#include <string>
#include <vector>

#include "access/ledger.h"
#include "base/error.h"

namespace sallyport {

struct LockoutRequest {
  enum class Verb { list, lift };
  Verb verb = Verb::list;
  std::string who;    // of lift
  std::string state;  // empty: the user's private directory
  bool json = false;
  bool help = false;
};

// Reads the words behind "lockout".
[[nodiscard]] Result<LockoutRequest> parse_lockout(std::span<const char* const> words);

// What `sallyport lockout --help` prints.
[[nodiscard]] std::string lockout_help_text();

// The list for people, and for programs. `now` is on the clock of the list.
[[nodiscard]] std::string lockout_text(const std::vector<LockedOut>& list, Moment now);
[[nodiscard]] std::string lockout_json(const std::vector<LockedOut>& list, Moment now);

// Returns the exit code of the program.
int lockout_command(std::span<const char* const> words);

}  // namespace sallyport
