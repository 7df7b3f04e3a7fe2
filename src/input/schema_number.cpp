#include "input/schema_number.h"

#include <charconv>
#include <cmath>
#include <cstdint>

namespace sallyport {
namespace {

__extension__ using Wide = unsigned __int128;

// digits * 10^exponent, without a sign.
struct Decimal {
  std::uint64_t digits = 0;
  int exponent = 0;
};

Decimal decimal_of(const json::value& number) {
  if (number.is_uint64()) return {number.get_uint64(), 0};
  if (number.is_int64()) {
    const std::int64_t value = number.get_int64();
    return {value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value),
            0};
  }
  // The shortest decimal that reads back as this double is at most 17 digits long.
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, std::fabs(number.get_double()),
                                 std::chars_format::scientific)
                       .ptr;
  Decimal decimal;
  const char* c = text;
  bool behind_point = false;
  for (; c != end && *c != 'e'; ++c) {
    if (*c == '.') {
      behind_point = true;
      continue;
    }
    decimal.digits = decimal.digits * 10 + static_cast<std::uint64_t>(*c - '0');
    if (behind_point) --decimal.exponent;
  }
  int exponent = 0;
  if (c != end) std::from_chars(c[1] == '+' ? c + 2 : c + 1, end, exponent);
  decimal.exponent += exponent;
  return decimal;
}

std::uint64_t power_of_ten(unsigned exponent, std::uint64_t modulus) {
  Wide result = 1 % modulus, base = 10 % modulus;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result = result * base % modulus;
    base = base * base % modulus;
  }
  return static_cast<std::uint64_t>(result);
}

}  // namespace

bool is_integer(const json::value& number) {
  if (!number.is_double()) return number.is_number();
  return std::isfinite(number.get_double()) &&
         std::trunc(number.get_double()) == number.get_double();
}

bool is_multiple(const json::value& number, const json::value& divisor) {
  const Decimal a = decimal_of(number), b = decimal_of(divisor);
  if (a.digits == 0) return true;
  if (b.digits == 0) return false;
  const int shift = a.exponent - b.exponent;
  if (shift >= 0) {
    const Wide product =
        Wide{a.digits % b.digits} * power_of_ten(static_cast<unsigned>(shift), b.digits);
    return product % b.digits == 0;
  }
  // b * 10^-shift must divide a, which has at most 20 digits.
  Wide scaled = b.digits;
  for (int i = 0; i < -shift; ++i) {
    scaled *= 10;
    if (scaled > a.digits) return false;
  }
  return Wide{a.digits} % scaled == 0;
}

}  // namespace sallyport
