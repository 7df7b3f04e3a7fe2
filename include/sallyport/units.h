// Sizes, times and rates as typed values. Text becomes one of these at the edge and stays one.
//
//   size      NUMBER (B | kB | MB | GB | KiB | MiB | GiB)      256MiB, 0.5GiB
//   duration  NUMBER (ms | s | min | h)                        10s, 1.5s, 5min
//   rate      size "/s"                                        20MB/s
//   NUMBER    digits, or digits "." digits; no sign, no exponent, no leading zero, no space
//
// The unit is always written, because a number that means megabytes to one reader and mebibytes to
// another is a limit nobody set. A fraction must come to a whole number of bytes or microseconds.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "sallyport/error.h"

namespace sallyport {

struct ByteSize {
  std::uint64_t bytes = 0;
  friend auto operator<=>(const ByteSize&, const ByteSize&) = default;
};

using Duration = std::chrono::microseconds;

struct Rate {
  ByteSize per_second;
  friend auto operator<=>(const Rate&, const Rate&) = default;
};

// The kernel counts bytes in signed 64-bit numbers.
inline constexpr ByteSize kGreatestSize{std::numeric_limits<std::int64_t>::max()};

// A hundred years: added to any clock that counts nanoseconds, it cannot overflow.
inline constexpr Duration kGreatestDuration = std::chrono::hours{876'000};

// An error says what is wrong with `text` and, in its hint, what to write instead.
[[nodiscard]] Result<ByteSize> parse_size(std::string_view text);
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);
[[nodiscard]] Result<Rate> parse_rate(std::string_view text);

// The exact form with the fewest digits (1.5s, 256MiB, 10kB), whole numbers and greater units first
// among equals. Reads back as the same value. A duration must not be negative.
[[nodiscard]] std::string to_text(ByteSize size);
[[nodiscard]] std::string to_text(Duration duration);
[[nodiscard]] std::string to_text(Rate rate);

// Units in code: 256_MiB.
consteval ByteSize operator""_B(unsigned long long n) {
  return {n};
}
consteval ByteSize operator""_kB(unsigned long long n) {
  return {n * 1000};
}
consteval ByteSize operator""_MB(unsigned long long n) {
  return {n * 1000 * 1000};
}
consteval ByteSize operator""_GB(unsigned long long n) {
  return {n * 1000 * 1000 * 1000};
}
consteval ByteSize operator""_KiB(unsigned long long n) {
  return {n << 10};
}
consteval ByteSize operator""_MiB(unsigned long long n) {
  return {n << 20};
}
consteval ByteSize operator""_GiB(unsigned long long n) {
  return {n << 30};
}

}  // namespace sallyport
