#include "sallyport/units.h"

#include <gtest/gtest.h>

#include <random>

namespace sallyport {
namespace {

using namespace std::chrono_literals;

struct Refusal {
  std::string text;
  std::string message;  // both are looked for in the error
  std::string hint;
};

template <class T>
void expect_refused(Result<T> (*parse)(std::string_view), const Refusal& refusal) {
  SCOPED_TRACE(refusal.text);
  const auto result = parse(refusal.text);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().reason, Reason::argument);
  EXPECT_NE(result.error().message.find(refusal.message), std::string::npos)
      << result.error().message;
  EXPECT_NE(result.error().hint.find(refusal.hint), std::string::npos) << result.error().hint;
}

TEST(Units, SizesAreReadInEveryUnit) {
  const std::pair<std::string_view, ByteSize> rows[] = {
      {"0B", 0_B},
      {"1B", 1_B},
      {"10kB", 10_kB},
      {"10MB", 10_MB},
      {"2GB", 2_GB},
      {"1KiB", 1_KiB},
      {"256MiB", 256_MiB},
      {"4GiB", 4_GiB},
      {"0.5GiB", 512_MiB},
      {"1.5kB", 1500_B},
      {"1.0B", 1_B},
      {"0.0009765625KiB", 1_B},
      {"0.000000000931322574615478515625GiB", 1_B},
      {"9223372036854775807B", kGreatestSize},
      {"8589934591.999999999068677425384521484375GiB", kGreatestSize},
  };
  for (const auto& [text, size] : rows) {
    SCOPED_TRACE(text);
    const auto parsed = parse_size(text);
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    EXPECT_EQ(parsed->bytes, size.bytes);
  }
}

TEST(Units, DurationsAreReadInEveryUnit) {
  const std::pair<std::string_view, Duration> rows[] = {
      {"0s", 0s},
      {"500ms", 500ms},
      {"10s", 10s},
      {"5min", 5min},
      {"1h", 1h},
      {"1.5s", 1500ms},
      {"0.001ms", 1us},
      {"0.000001s", 1us},
      {"1.5h", 90min},
      {"0.25min", 15s},
      {"876000h", kGreatestDuration},
  };
  for (const auto& [text, duration] : rows) {
    SCOPED_TRACE(text);
    const auto parsed = parse_duration(text);
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    EXPECT_EQ(parsed->count(), duration.count());
  }
}

TEST(Units, RatesAreSizesPerSecond) {
  EXPECT_EQ(parse_rate("20MB/s").value(), Rate{20_MB});
  EXPECT_EQ(parse_rate("0.5KiB/s").value(), Rate{512_B});
}

TEST(Units, ARefusedSizeSaysWhatToWrite) {
  const Refusal rows[] = {
      {"256M", "'256M' has an unknown unit, 'M'", "write 256MB (decimal) or 256MiB (binary)"},
      {"256Mb", "unknown unit, 'Mb'", "write 256MB (decimal) or 256MiB (binary)"},
      {"256mb", "unknown unit, 'mb'", "write 256MB (decimal) or 256MiB (binary)"},
      {"1.5g", "unknown unit, 'g'", "write 1.5GB (decimal) or 1.5GiB (binary)"},
      {"10K", "unknown unit, 'K'", "write 10kB (decimal) or 10KiB (binary)"},
      {"10KB", "unknown unit, 'KB'", "write 10kB (decimal) or 10KiB (binary)"},
      {"10Mi", "unknown unit, 'Mi'", "write 10MiB"},
      {"10b", "unknown unit, 'b'", "write 10B"},
      {"10TB", "unknown unit, 'TB'", "one of B, kB, MB, GB, KiB, MiB or GiB, such as 256MiB"},
      {"10s", "unknown unit, 's'", "one of B, kB, MB"},
      {"10MB/s", "unknown unit, 'MB/s'", "one of B, kB, MB"},
      {"10", "'10' has no unit", "one of B, kB, MB, GB, KiB, MiB or GiB, such as 256MiB"},
      {"", "the size is empty", "such as 256MiB"},
      {"MB", "does not begin with a number", "such as 256MiB"},
      {".5MB", "does not begin with a number", "such as 256MiB"},
      {"5.MB", "no digit after the point", "such as 256MiB"},
      {"5..1MB", "no digit after the point", "such as 256MiB"},
      {"1.5.1MB", "unknown unit, '.1MB'", "such as 256MiB"},
      {"1,5MB", "unknown unit, ',5MB'", "such as 256MiB"},
      {"-5B", "'-5B' is negative", "such as 256MiB"},
      {"+5B", "'+5B' has a sign", "such as 256MiB"},
      {"0x10B", "'0x10B' is hexadecimal", "decimal digits"},
      {"010B", "begins with a zero", "without leading zeros"},
      {"1e3B", "has an exponent", "write the digits in full"},
      {"1E-3B", "has an exponent", "write the digits in full"},
      {" 5B", "contains a space", "write 5B"},
      {"5 B", "contains a space", "write 5B"},
      {"5B\n", "'5B\\n' contains a space", "write 5B"},
      {"5 M", "contains a space", "such as 256MiB"},
      {"0.5B", "is not a whole number of bytes", "a smaller unit"},
      {"1.0005kB", "is not a whole number of bytes", "fewer digits"},
      {"0.1KiB", "is not a whole number of bytes", "fewer digits"},
      {"9223372036854775808B", "is too large", "the most is 9223372036854775807B"},
      {"8589934592GiB", "is too large", "the most is 9223372036854775807B"},
      {"18446744073709551617B", "is too large", "the most is"},
      {"99999999999999999999999999GB", "is too large", "the most is"},
      {"1\x1b[31mB", "unknown unit, '\\x1b[31mB'", "such as 256MiB"},
      {std::string("1\0B", 3), "unknown unit, '\\x00B'", "such as 256MiB"},
  };
  for (const Refusal& row : rows)
    expect_refused(parse_size, row);
}

TEST(Units, ARefusedDurationSaysWhatToWrite) {
  const Refusal rows[] = {
      {"10", "'10' has no unit", "one of ms, s, min or h, such as 10s"},
      {"5m", "unknown unit, 'm'", "write 5min (minutes) or 5ms (milliseconds)"},
      {"5sec", "unknown unit, 'sec'", "write 5s"},
      {"5S", "unknown unit, 'S'", "one of ms, s, min or h"},
      {"5us", "unknown unit, 'us'", "one of ms, s, min or h"},
      {"1e3s", "'1e3s' has an exponent", "write the digits in full, such as 1000s"},
      {"-5s", "is negative", "such as 10s"},
      {" 5s", "contains a space", "write 5s"},
      {"5 s", "contains a space", "write 5s"},
      {"0.0001ms", "is not a whole number of microseconds", "fewer digits"},
      {"876000.001h", "is too large", "the most is 876000h"},
      {"876001h", "is too large", "the most is 876000h"},
      {"", "the duration is empty", "such as 10s"},
      {"inf", "does not begin with a number", "such as 10s"},
  };
  for (const Refusal& row : rows)
    expect_refused(parse_duration, row);
}

TEST(Units, ARefusedRateSaysWhatToWrite) {
  const Refusal rows[] = {
      {"20MB", "'20MB' does not end in /s", "write 20MB/s"},
      {"20MBps", "does not end in /s", "one of B/s, kB/s"},
      {"20M/s", "unknown unit, 'M/s'", "write 20MB/s (decimal) or 20MiB/s (binary)"},
      {"20/s", "has no unit", "such as 20MB/s"},
      {"20", "has no unit", "such as 20MB/s"},
      {"0.5B/s", "is not a whole number of bytes per second", "fewer digits"},
      {"8589934592GiB/s", "is too large", "the most is 9223372036854775807B/s"},
      {"", "the rate is empty", "such as 20MB/s"},
  };
  for (const Refusal& row : rows)
    expect_refused(parse_rate, row);
}

TEST(Units, AnErrorDoesNotRepeatAnEndlessNumber) {
  const auto result = parse_size(std::string(100'000, '9') + "M");
  ASSERT_FALSE(result.has_value());
  EXPECT_LT(result.error().message.size() + result.error().hint.size(), 400u);
}

TEST(Units, TextIsTheExactFormWithTheFewestDigits) {
  const std::pair<ByteSize, std::string_view> sizes[] = {
      {0_B, "0B"},         {1_B, "1B"},
      {1000_B, "1kB"},     {1024_B, "1KiB"},
      {1500_B, "1.5kB"},   {1001_B, "1001B"},
      {10_kB, "10kB"},     {100_kB, "100kB"},
      {10_MB, "10MB"},     {256_MiB, "256MiB"},
      {512_MiB, "512MiB"}, {1536_MiB, "1.5GiB"},
      {1000_MB, "1GB"},    {1_GiB, "1GiB"},
      {10'240_B, "10KiB"}, {kGreatestSize, "9223372036854775807B"},
  };
  for (const auto& [size, text] : sizes)
    EXPECT_EQ(to_text(size), text);

  const std::pair<Duration, std::string_view> durations[] = {
      {0s, "0s"},       {1us, "0.001ms"}, {1ms, "1ms"},       {100ms, "100ms"}, {500ms, "500ms"},
      {1500ms, "1.5s"}, {10s, "10s"},     {60s, "1min"},      {90s, "90s"},     {600s, "10min"},
      {30min, "30min"}, {1h, "1h"},       {1234ms, "1234ms"}, {20min, "20min"}, {36s, "36s"},
  };
  for (const auto& [duration, text] : durations)
    EXPECT_EQ(to_text(duration), text);

  EXPECT_EQ(to_text(Rate{20_MB}), "20MB/s");
  EXPECT_EQ(to_text(Rate{0_B}), "0B/s");
}

TEST(Units, EveryValueReadsBackAsItself) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 4'000; ++i) {
    const std::uint64_t scale[] = {1, 1000, 1024, 1'000'000, 1 << 20, 60'000'000};
    std::uint64_t value = (random() >> (random() % 64)) * scale[random() % std::size(scale)];

    const ByteSize size{value & kGreatestSize.bytes};
    EXPECT_EQ(parse_size(to_text(size)).value(), size) << to_text(size);
    EXPECT_EQ(parse_rate(to_text(Rate{size})).value(), Rate{size});
    const Duration duration{value % (kGreatestDuration.count() + 1)};
    EXPECT_EQ(parse_duration(to_text(duration)).value(), duration) << to_text(duration);
  }
}

}  // namespace
}  // namespace sallyport
