// The clock of all timings and deadlines, as a number that can be shared between processes.
#pragma once

#include <cstdint>
#include <ctime>

namespace sallyport {

// CLOCK_MONOTONIC in nanoseconds; what std::chrono::steady_clock counts from, too.
inline std::int64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

}  // namespace sallyport
