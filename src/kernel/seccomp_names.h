// System calls by name, for the person who reads what a cell was refused.
#pragma once

#include <linux/seccomp.h>

#include <span>
#include <string>
#include <string_view>

namespace sallyport {

// "mount"; "syscall 512" for a number without a name; "i386 syscall 20" and "x32 syscall 5" for the
// other two ways into the kernel, whose numbers mean other calls.
[[nodiscard]] std::string name_of_call(const seccomp_data& call);

// The names of the x86-64 calls by number; empty where the table has a gap.
[[nodiscard]] std::span<const std::string_view> call_names();

}  // namespace sallyport
