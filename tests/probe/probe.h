// The probe: a small program that tries one attack and says whether it worked. Tests run it inside
// a cell, where it must be refused, and outside, where the same attack must work: a test that
// cannot see an escape proves nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace probe {

// What an attack returns, and the program's exit code.
enum Verdict { kWorked = 0, kRefused = 1, kNotTried = 2 };

using Arguments = std::span<char* const>;

struct Attack {
  std::string_view name;
  std::string_view what;  // one sentence; `probe --list` prints them
  Verdict (*run)(Arguments);
};

// Each file of attacks defines one of these tables.
std::span<const Attack> file_attacks();
std::span<const Attack> kernel_attacks();
std::span<const Attack> process_attacks();
std::span<const Attack> network_attacks();
std::span<const Attack> resource_attacks();

// Prints what happened and turns it into a verdict: `result` < 0 is a refusal with errno.
Verdict refused_if_negative(long result, const char* call);

}  // namespace probe
