// The directory that holds what outlives a process: rates, lock-outs, records.
#pragma once

#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// Opens the directory and makes it, with mode 0700, if it is not there. Empty: the user's private
// one, $XDG_STATE_HOME/sallyport or $HOME/.local/state/sallyport, and for root without a home
// /var/lib/sallyport. Refused as `unavailable`: a symbolic link, what belongs to another user, and
// what others may write to, for whoever can write there can give themselves calls.
[[nodiscard]] Result<Fd> open_state_directory(const std::string& path);

// Whether an open directory is one that nobody else can write to.
[[nodiscard]] Result<void> check_state_directory(int directory, const std::string& name);

// The path that an empty one stands for.
[[nodiscard]] Result<std::string> private_state_directory();

// 32 random bytes that the directory keeps in the file of that name, made at first use.
[[nodiscard]] Result<std::string> state_secret(int directory, const char* name);

}  // namespace sallyport
