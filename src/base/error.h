// Beside `Error`, the one failed system call: `SysError` is cheap enough for the code between clone
// and exec, which must not allocate.
#pragma once

#include <cerrno>
#include <cstring>
#include <expected>
#include <string>
#include <utility>

#include "sallyport/error.h"

namespace sallyport {

// One failed system call. `call` and `path` point at storage that outlives the error: literals, or
// text owned by the launch plan.
struct [[nodiscard]] SysError {
  const char* call = "";
  const char* path = "";
  int err = 0;
};

template <class T>
using Sys = std::expected<T, SysError>;

inline std::unexpected<SysError> sys_fail(const char* call, const char* path = "",
                                          int err = errno) {
  return std::unexpected(SysError{call, path, err});
}

// "openat2(/etc/shadow): Permission denied"
inline std::string describe(const SysError& error) {
  std::string text = error.call;
  if (error.path[0] != '\0') text.append("(").append(error.path).append(")");
  return text.append(": ").append(std::strerror(error.err));
}

inline std::unexpected<Error> fail(Reason reason, const SysError& error, std::string hint = {}) {
  return fail(reason, describe(error), std::move(hint));
}

}  // namespace sallyport
