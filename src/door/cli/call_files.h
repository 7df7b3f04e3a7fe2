// The files and the standard input that a call takes along, and the files that it brings back.
#pragma once

#include <span>
#include <string>

#include "cell/spec.h"
#include "sallyport/call.h"
#include "sallyport/error.h"

namespace sallyport {

// The file of an --in, as the call takes it: a regular file, of 64 MiB at most.
[[nodiscard]] Result<CallFile> read_call_file(const InputFile& input);

// All of our own standard input, with the same bound.
[[nodiscard]] Result<std::string> read_standard_input();

// Puts what came back into the current directory, as far as it was asked for with --out: what the
// tool collects by itself must not reach files that nobody named. Never over a file that is there:
// that is a finding, and false.
[[nodiscard]] bool put_files(std::span<const std::string> globs, CallResult& result);

}  // namespace sallyport
