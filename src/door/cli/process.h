// What every command of the program does with its exit code, its standard streams and its signals.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "sallyport/outcome.h"

namespace sallyport {

constexpr int kWrongUsage = 2;  // of commands that run nothing
constexpr int kTimeout = 124, kCouldNotStart = 125, kCancelled = 130, kKilled = 137;
constexpr int kPending = 75;  // a person has to approve first; EX_TEMPFAIL of sysexits.h

// The exit code for a call or a run that ended like this.
[[nodiscard]] int exit_code_of(const Outcome& outcome);

// A line of ours on stderr, safe for a terminal.
void say(const std::string& text);

// An error of ours on stderr, in one form for all commands.
void print_error(const Error& error);

// The same, and the exit code for it: of a command that runs nothing.
int report(const Error& error);

// A program that was started with a standard stream closed would find its first open file in that
// stream's place.
[[nodiscard]] Result<void> open_missing_streams();

// From here on, a signal that would end this process makes the descriptor readable instead: it ends
// the cell, so that the result can still be told.
[[nodiscard]] Fd catch_signals();

// Forgets the signals that ended the cell; from here on they end this process, which may wait for
// its reader.
void release_signals(Fd caught);

[[nodiscard]] bool write_all(int fd, std::string_view text);

}  // namespace sallyport
