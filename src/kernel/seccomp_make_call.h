// A system call as a filter sees it, for tests.
#pragma once

#include <linux/audit.h>
#include <linux/seccomp.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>

namespace sallyport {

inline seccomp_data make_call(int number, std::initializer_list<std::uint64_t> arguments = {},
                              std::uint32_t arch = AUDIT_ARCH_X86_64) {
  seccomp_data call{};
  call.nr = number;
  call.arch = arch;
  std::ranges::copy(arguments, call.args);
  return call;
}

}  // namespace sallyport
