#include "input/schema_number.h"

#include <gtest/gtest.h>

#include <random>

namespace sallyport {
namespace {

bool multiple(std::string_view number, std::string_view divisor) {
  return is_multiple(parse_json(number).value(), parse_json(divisor).value());
}

TEST(SchemaNumber, DividesDecimalsAsTheyAreWritten) {
  for (const auto& [number, divisor] : {std::pair{"0.0075", "0.0001"},
                                        {"4.5", "1.5"},
                                        {"0", "7"},
                                        {"-0.0", "0.1"},
                                        {"-9", "3"},
                                        {"19.99", "0.01"},
                                        {"0.3", "0.1"},
                                        {"1e308", "0.5"},
                                        {"1e308", "1e-300"},
                                        {"12391239123", "1e-8"},
                                        {"1.0", "1"},
                                        {"9223372036854775807", "1"},
                                        {"-9223372036854775808", "2"},
                                        {"1e20", "10"},
                                        {"5e-324", "5e-324"}})
    EXPECT_TRUE(multiple(number, divisor)) << number << " / " << divisor;
  for (const auto& [number, divisor] : {std::pair{"0.00751", "0.0001"},
                                        {"35", "1.5"},
                                        {"1e308", "0.123456789"},
                                        {"1e-300", "1e300"},
                                        {"0.35", "0.1"},
                                        {"7", "1e308"},
                                        {"9223372036854775807", "2"},
                                        {"1e20", "3"}})
    EXPECT_FALSE(multiple(number, divisor)) << number << " / " << divisor;
}

TEST(SchemaNumber, AgreesWithIntegersScaledByTens) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto a = static_cast<std::int64_t>(random() % 100'000);
    const auto b = static_cast<std::int64_t>(random() % 300 + 1);
    const std::string scale = "e-" + std::to_string(random() % 12);
    EXPECT_EQ(multiple(std::to_string(a) + scale, std::to_string(b) + scale), a % b == 0)
        << a << scale << " / " << b << scale;
  }
}

TEST(SchemaNumber, AnIntegerHasNoFraction) {
  for (const char* text : {"1", "-0.0", "1.0", "1e308", "9007199254740993"})
    EXPECT_TRUE(is_integer(parse_json(text).value())) << text;
  for (const char* text : {"1.5", "5e-324", "\"1\"", "true", "null"})
    EXPECT_FALSE(is_integer(parse_json(text).value())) << text;
}

}  // namespace
}  // namespace sallyport
