// A policy that lets the same calls through as another one and tells the supervisor of some of them
// first: those that say what a program needs (files, programs, destinations), and those by which
// the profiles differ.
#pragma once

#include <span>
#include <vector>

#include "base/error.h"
#include "kernel/seccomp_policy.h"

namespace sallyport {

// The same decisions, except that the calls of which the supervisor is to be told are observed
// where they were allowed. What was refused stays refused.
[[nodiscard]] Result<SeccompPolicy> observing(const SeccompPolicy& policy);

// The calls that are observed where the policy allows them.
[[nodiscard]] std::vector<int> observed_calls();

// The calls by which one profile differs from another.
[[nodiscard]] std::span<const int> profile_calls();

}  // namespace sallyport
