#include "policy/limit_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/text.h"

namespace sallyport {
namespace {

// A value of every limit.
struct LimitValues {
#define SALLYPORT_LIMIT_VALUE(name, type, sentence) type name;
  SALLYPORT_LIMITS(SALLYPORT_LIMIT_VALUE)
#undef SALLYPORT_LIMIT_VALUE
};

// As for the options of `sallyport run`.
constexpr LimitValues kLeast = {
    .timeout = std::chrono::milliseconds{1},
    .cpu = std::chrono::milliseconds{1},
    .cpus = 0.01,  // less is below the least quota that the kernel takes
    .memory = 1_MiB,
    .processes = 1,
    .open_files = 8,
    .disk = 4_KiB,
    .inodes = 1,
    .file_size = 1_B,
    .max_output = 0_B,
    .max_output_hard = 1_B,
    .max_result = 0_B,
    .refused_syscalls = 0,
    .io = {1_B},
};
constexpr LimitValues kMost = {
    .timeout = kGreatestDuration,
    .cpu = kGreatestDuration,
    .cpus = 1024,
    .memory = kGreatestSize,
    .processes = 32'768,
    .open_files = 1'048'576,
    .disk = kGreatestSize,
    .inodes = 1'000'000'000,
    .file_size = kGreatestSize,
    .max_output = 1_GiB,  // kept in memory
    .max_output_hard = kGreatestSize,
    .max_result = 1_GiB,
    .refused_syscalls = 1'000'000'000,
    .io = {kGreatestSize},
};

constexpr std::string_view kDigits = "0123456789";

bool consists_of(std::string_view text, std::string_view set) {
  return text.find_first_not_of(set) == std::string_view::npos;
}

std::unexpected<Error> refuse(std::string_view text, std::string_view what, std::string hint) {
  return fail(Reason::argument, quoted(text).append(" ").append(what), std::move(hint));
}

template <class Value>
struct Reader;

template <>
struct Reader<Duration> {
  static Result<Duration> read(std::string_view text) { return parse_duration(text); }
};
template <>
struct Reader<ByteSize> {
  static Result<ByteSize> read(std::string_view text) { return parse_size(text); }
};
template <>
struct Reader<Rate> {
  static Result<Rate> read(std::string_view text) { return parse_rate(text); }
};
template <>
struct Reader<double> {
  static Result<double> read(std::string_view text) {
    double value = 0;
    // from_chars alone would also take "inf", "nan" and "-1".
    const bool plain = !text.empty() && consists_of(text, "0123456789.") &&
                       !text.starts_with('.') && !text.ends_with('.');
    const auto [end, status] =
        std::from_chars(text.begin(), text.end(), value, std::chars_format::fixed);
    if (plain && status == std::errc{} && end == text.end()) return value;
    return refuse(text, "is not a number", "write a number such as 0.5 or 2");
  }
};
template <class Count>
Result<Count> read_count(std::string_view text) {
  Count value = 0;
  const bool plain =
      !text.empty() && consists_of(text, kDigits) && (text.size() == 1 || !text.starts_with('0'));
  const auto [end, status] = std::from_chars(text.begin(), text.end(), value);
  if (plain && status == std::errc{} && end == text.end()) return value;
  if (plain) return refuse(text, "is too large", "write a smaller whole number");
  return refuse(text, "is not a whole number", "write a whole number such as 64");
}
template <>
struct Reader<unsigned> {
  static Result<unsigned> read(std::string_view text) { return read_count<unsigned>(text); }
};
template <>
struct Reader<std::uint64_t> {
  static Result<std::uint64_t> read(std::string_view text) {
    return read_count<std::uint64_t>(text);
  }
};

template <class Value>
Result<void> read_within(std::optional<Value>& place, std::string_view text, Value least,
                         Value most) {
  auto value = Reader<Value>::read(text);
  if (!value) return std::unexpected(std::move(value.error()));
  if (*value < least) return refuse(text, "is too small", "the least is " + limit_text(least));
  if (*value > most) return refuse(text, "is too large", "the most is " + limit_text(most));
  place = *value;
  return {};
}

constexpr std::string_view kNames[] = {
#define SALLYPORT_LIMIT_NAME(name, type, sentence) #name,
    SALLYPORT_LIMITS(SALLYPORT_LIMIT_NAME)
#undef SALLYPORT_LIMIT_NAME
};

}  // namespace

Result<void> set_limit(LimitRules& limits, std::string_view name, std::string_view text) {
#define SALLYPORT_SET_LIMIT(member, type, sentence) \
  if (name == #member) return read_within(limits.member, text, kLeast.member, kMost.member);
  SALLYPORT_LIMITS(SALLYPORT_SET_LIMIT)
#undef SALLYPORT_SET_LIMIT
  std::string hint;
  if (const auto meant = nearest(name, kNames)) {
    hint = "did you mean '" + std::string(*meant) + "'?";
  } else {
    for (const std::string_view each : kNames)
      hint.append(hint.empty() ? "the limits are " : ", ").append(each);
  }
  return refuse(name, "is not a limit", std::move(hint));
}

std::string limit_text(Duration value) {
  return to_text(value);
}
std::string limit_text(ByteSize value) {
  return to_text(value);
}
std::string limit_text(Rate value) {
  return to_text(value);
}
std::string limit_text(double value) {
  std::array<char, 400> text{};
  const auto [end, status] =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  return status == std::errc{} ? std::string(text.data(), end) : std::string();
}
std::string limit_text(unsigned value) {
  return std::to_string(value);
}
std::string limit_text(std::uint64_t value) {
  return std::to_string(value);
}

}  // namespace sallyport
