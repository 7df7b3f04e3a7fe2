// Of all that a process does about signals, its children inherit one thing through execve: which
// ones it ignores.
#pragma once

#include <cstdint>

namespace sallyport {

// Those that this process ignores; the bit `number - 1` for each.
[[nodiscard]] std::uint64_t ignored_signals();
// The same, asked once: for a process of ours, which does not change its mind. A program with the
// library in it may.
[[nodiscard]] std::uint64_t lasting_ignored_signals();

[[nodiscard]] constexpr bool is_ignored(std::uint64_t signals, int number) {
  return (signals >> (number - 1) & 1) != 0;
}

}  // namespace sallyport
