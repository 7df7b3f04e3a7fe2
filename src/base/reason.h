// Why a call did not simply succeed. One list: the JSON result, the documentation and the tests are
// made from it.
#pragma once

#include <array>
#include <string_view>

namespace sallyport {

// X(name, sentence). The name is what a caller sees in `reason`.
#define SALLYPORT_REASONS(X)                                                    \
  X(argument, "the request itself is wrong; nothing was run")                   \
  X(cannot_enforce, "a layer that was asked for cannot be had on this machine") \
  X(unavailable, "something the call needs is missing or busy")                 \
  X(timeout, "the wall-clock limit was reached")                                \
  X(cpu, "the CPU time limit was reached")                                      \
  X(memory, "the memory limit was reached")                                     \
  X(output, "the hard output limit was reached")                                \
  X(syscall, "too many system calls were refused")                              \
  X(cancelled, "the caller ended the call")                                     \
  X(exit, "the command ended with a non-zero exit code")                        \
  X(signal, "the command was ended by a signal of its own making")              \
  X(internal, "Sallyport itself failed")

enum class Reason {
  none,
#define SALLYPORT_REASON_ENUM(name, sentence) name,
  SALLYPORT_REASONS(SALLYPORT_REASON_ENUM)
#undef SALLYPORT_REASON_ENUM
};

struct ReasonText {
  Reason reason;
  std::string_view name;
  std::string_view sentence;
};

inline constexpr ReasonText kReasons[] = {
#define SALLYPORT_REASON_ROW(name, sentence) {Reason::name, #name, sentence},
    SALLYPORT_REASONS(SALLYPORT_REASON_ROW)
#undef SALLYPORT_REASON_ROW
};

// The name of a reason as callers see it; empty for Reason::none.
constexpr std::string_view name_of(Reason reason) {
  for (const ReasonText& row : kReasons)
    if (row.reason == reason) return row.name;
  return {};
}

}  // namespace sallyport
