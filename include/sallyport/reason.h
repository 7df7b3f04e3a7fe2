// Why a call did not simply succeed. One list: the JSON result, the documentation and the tests are
// made from it.
#pragma once

#include <array>
#include <string_view>

namespace sallyport {

// X(name, denial, sentence). The name is what a caller sees in `reason`; a denial is a refusal that
// the caller brought about and that counts towards lock-out.
#define SALLYPORT_REASONS(X)                                                                      \
  X(permission, true, "the caller may not do this")                                               \
  X(unknown_tool, true, "there is no tool of that name")                                          \
  X(rate_limit, true, "a rate limit was reached; try again later")                                \
  X(concurrency, false, "too many calls are in flight")                                           \
  X(budget, false, "the budget of the day is spent")                                              \
  X(locked_out, false, "too many refused calls; locked out for a time")                           \
  X(argument, true, "the request itself is wrong; nothing was run")                               \
  X(screen, true, "the code was refused before it ran")                                           \
  X(approval, false, "a person must approve the call first")                                      \
  X(rejected, false, "a person refused the call")                                                 \
  X(expired, false, "nobody approved the call in time")                                           \
  X(in_flight, false, "the same call is running already")                                         \
  X(key_reused, true, "the idempotency key was used for another call")                            \
  X(timeout, false, "the wall-clock limit was reached")                                           \
  X(cpu, false, "the CPU time limit was reached")                                                 \
  X(memory, false, "the memory limit was reached")                                                \
  X(output, false, "the hard output limit was reached")                                           \
  X(syscall, false, "too many system calls were refused")                                         \
  X(cancelled, false, "the caller ended the call")                                                \
  X(exit, false, "the tool ended with an error of its own; a command, with a non-zero exit code") \
  X(signal, false, "the command was ended by a signal of its own making")                         \
  X(output_schema, false, "the result is not what the tool promised")                             \
  X(result_too_large, false, "the result is larger than allowed")                                 \
  X(withheld, false, "the result holds what must not leave")                                      \
  X(unavailable, false, "something the call needs is missing, busy or not built yet")             \
  X(cannot_enforce, false, "a layer that was asked for cannot be had on this machine")            \
  X(outcome_unknown, false, "the machine died while the call ran")                                \
  X(internal, false, "Sallyport itself failed")

enum class Reason {
  none,
#define SALLYPORT_REASON_ENUM(name, denial, sentence) name,
  SALLYPORT_REASONS(SALLYPORT_REASON_ENUM)
#undef SALLYPORT_REASON_ENUM
};

struct ReasonText {
  Reason reason;
  std::string_view name;
  bool denial;
  std::string_view sentence;
};

inline constexpr ReasonText kReasons[] = {
#define SALLYPORT_REASON_ROW(name, denial, sentence) {Reason::name, #name, denial, sentence},
    SALLYPORT_REASONS(SALLYPORT_REASON_ROW)
#undef SALLYPORT_REASON_ROW
};

// The name of a reason as callers see it; empty for Reason::none.
constexpr std::string_view name_of(Reason reason) {
  for (const ReasonText& row : kReasons)
    if (row.reason == reason) return row.name;
  return {};
}

// Whether a refusal for this reason counts towards lock-out.
constexpr bool is_denial(Reason reason) {
  for (const ReasonText& row : kReasons)
    if (row.reason == reason) return row.denial;
  return false;
}

}  // namespace sallyport
