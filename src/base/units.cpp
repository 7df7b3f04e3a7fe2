#include "sallyport/units.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/text.h"

namespace sallyport {
namespace {

struct Unit {
  std::string_view name;
  std::string_view gloss;
  std::uint64_t scale;
};

// What people write, in lower case, and the one or two units they may have meant.
struct Slip {
  std::string_view written;
  std::string_view meant;
  std::string_view or_else = {};
};

// One kind of number with a unit. The units go from great to small.
struct Quantity {
  std::string_view noun;
  std::string_view grain;
  std::string_view suffix;
  std::string_view unit_list;
  std::string_view example;
  std::span<const Unit> units;
  std::span<const Slip> slips;
  std::uint64_t greatest;
};

constexpr Unit kSizeUnits[] = {
    {"GiB", "binary", 1ull << 30},
    {"GB", "decimal", 1'000'000'000},
    {"MiB", "binary", 1ull << 20},
    {"MB", "decimal", 1'000'000},
    {"KiB", "binary", 1ull << 10},
    {"kB", "decimal", 1'000},
    {"B", "bytes", 1},
};
constexpr Slip kSizeSlips[] = {
    {"b", "B"},          {"byte", "B"}, {"bytes", "B"}, {"k", "kB", "KiB"},
    {"kb", "kB", "KiB"}, {"ki", "KiB"}, {"kib", "KiB"}, {"m", "MB", "MiB"},
    {"mb", "MB", "MiB"}, {"mi", "MiB"}, {"mib", "MiB"}, {"g", "GB", "GiB"},
    {"gb", "GB", "GiB"}, {"gi", "GiB"}, {"gib", "GiB"},
};
constexpr Unit kDurationUnits[] = {
    {"h", "hours", 3'600'000'000},
    {"min", "minutes", 60'000'000},
    {"s", "seconds", 1'000'000},
    {"ms", "milliseconds", 1'000},
};
constexpr Slip kDurationSlips[] = {
    {"m", "min", "ms"}, {"mins", "min"}, {"minute", "min"}, {"minutes", "min"}, {"sec", "s"},
    {"secs", "s"},      {"second", "s"}, {"seconds", "s"},  {"hr", "h"},        {"hrs", "h"},
    {"hour", "h"},      {"hours", "h"},  {"msec", "ms"},    {"millis", "ms"},
};

constexpr Quantity kSize = {.noun = "size",
                            .grain = "bytes",
                            .suffix = "",
                            .unit_list = "B, kB, MB, GB, KiB, MiB or GiB",
                            .example = "256MiB",
                            .units = kSizeUnits,
                            .slips = kSizeSlips,
                            .greatest = kGreatestSize.bytes};
constexpr Quantity kRate = {.noun = "rate",
                            .grain = "bytes per second",
                            .suffix = "/s",
                            .unit_list = "B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s or GiB/s",
                            .example = "20MB/s",
                            .units = kSizeUnits,
                            .slips = kSizeSlips,
                            .greatest = kGreatestSize.bytes};
constexpr Quantity kDuration = {.noun = "duration",
                                .grain = "microseconds",
                                .suffix = "",
                                .unit_list = "ms, s, min or h",
                                .example = "10s",
                                .units = kDurationUnits,
                                .slips = kDurationSlips,
                                .greatest = kGreatestDuration.count()};

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kSpaces = " \t\n\v\f\r";

// Moves the leading digits of `text` out of it.
std::string_view take_digits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of(kDigits), text.size());
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

const Unit* find_unit(const Quantity& quantity, std::string_view name) {
  const auto found = std::ranges::find(quantity.units, name, &Unit::name);
  return found == quantity.units.end() ? nullptr : &*found;
}

std::string general_hint(const Quantity& quantity) {
  std::string hint = "write a number and one of ";
  return hint.append(quantity.unit_list).append(", such as ").append(quantity.example);
}

std::unexpected<Error> refuse(std::string_view text, std::string_view what, std::string hint) {
  return fail(Reason::argument, quoted(text).append(" ").append(what), std::move(hint));
}

// The unit at the end is missing or unknown: find out what was meant.
std::unexpected<Error> refuse_unit(const Quantity& quantity, std::string_view text,
                                   std::string_view number, std::string_view unit) {
  const auto with = [&](std::string_view name) {
    return std::string(number).append(name).append(quantity.suffix);
  };
  if (unit.empty()) return refuse(text, "has no unit", general_hint(quantity));
  if (lower(unit)[0] == 'e' && unit.find_first_of(kDigits) != std::string_view::npos)
    return refuse(text, "has an exponent", "write the digits in full, such as 1000s or 1000kB");

  const std::string what = std::string("has an unknown unit, ")
                               .append(quoted(std::string(unit).append(quantity.suffix)));
  const auto slip = std::ranges::find(quantity.slips, lower(unit), &Slip::written);
  if (slip == quantity.slips.end() || number.size() > 20)
    return refuse(text, what, general_hint(quantity));
  std::string hint = std::string("write ").append(with(slip->meant));
  if (!slip->or_else.empty()) {
    hint.append(" (").append(find_unit(quantity, slip->meant)->gloss).append(") or ");
    hint.append(with(slip->or_else));
    hint.append(" (").append(find_unit(quantity, slip->or_else)->gloss).append(")");
  }
  return refuse(text, what, std::move(hint));
}

// 0.`digits` times `scale`, or nothing if that is not whole. Going from the last digit to the
// first, each step has to divide by ten exactly if the whole is to be exact, so no intermediate
// value exceeds ten times the scale.
std::optional<std::uint64_t> scale_fraction(std::string_view digits, std::uint64_t scale) {
  std::uint64_t value = 0;
  for (std::size_t i = digits.size(); i-- > 0;) {
    value += static_cast<std::uint64_t>(digits[i] - '0') * scale;
    if (value % 10 != 0) return std::nullopt;
    value /= 10;
  }
  return value;
}

// `digits` times `scale`, or nothing if that is more than `greatest`.
std::optional<std::uint64_t> scale_whole(std::string_view digits, std::uint64_t scale,
                                         std::uint64_t greatest) {
  const std::uint64_t most = greatest / scale;
  std::uint64_t value = 0;
  for (const char c : digits) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (most - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value * scale;
}

std::string to_text(const Quantity& quantity, std::uint64_t value);

Result<std::uint64_t> parse(const Quantity& quantity, std::string_view text) {
  if (text.empty())
    return fail(Reason::argument, std::string("the ").append(quantity.noun).append(" is empty"),
                general_hint(quantity));
  if (text.find_first_of(kSpaces) != std::string_view::npos) {
    std::string closed(text);
    std::erase_if(closed, [](char c) { return kSpaces.find(c) != std::string_view::npos; });
    return refuse(text, "contains a space",
                  parse(quantity, closed) ? "write " + closed : general_hint(quantity));
  }
  if (text[0] == '-') return refuse(text, "is negative", general_hint(quantity));
  if (text[0] == '+') return refuse(text, "has a sign", general_hint(quantity));
  if (text.starts_with("0x") || text.starts_with("0X"))
    return refuse(text, "is hexadecimal", "write the number in decimal digits");

  std::string_view rest = text;
  const std::string_view whole = take_digits(rest);
  if (whole.empty()) return refuse(text, "does not begin with a number", general_hint(quantity));
  if (whole.size() > 1 && whole[0] == '0')
    return refuse(text, "begins with a zero", "write the number without leading zeros");
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
    if (fraction.empty())
      return refuse(text, "has no digit after the point", general_hint(quantity));
  }
  const std::string_view number = text.substr(0, text.size() - rest.size());

  std::string_view name = rest;
  if (!quantity.suffix.empty() && !name.empty()) {
    if (!name.ends_with(quantity.suffix)) {
      std::string hint = general_hint(quantity);
      if (find_unit(quantity, name))
        hint = std::string("write ").append(text).append(quantity.suffix);
      return refuse(text, std::string("does not end in ").append(quantity.suffix), std::move(hint));
    }
    name.remove_suffix(quantity.suffix.size());
  }
  const Unit* unit = find_unit(quantity, name);
  if (!unit) return refuse_unit(quantity, text, number, name);

  const auto part = scale_fraction(fraction, unit->scale);
  if (!part) {
    return refuse(text, std::string("is not a whole number of ").append(quantity.grain),
                  "write fewer digits after the point, or a smaller unit");
  }
  const auto value = scale_whole(whole, unit->scale, quantity.greatest);
  if (!value || *value > quantity.greatest - *part) {
    return refuse(text, "is too large",
                  std::string("the most is ").append(to_text(quantity, quantity.greatest)));
  }
  return *value + *part;
}

// `value` in `unit`, if a decimal fraction can say it exactly. A thirtieth digit can be needed for
// GiB; a third of an hour never ends.
std::optional<std::string> digits_in(const Unit& unit, std::uint64_t value) {
  constexpr int kMostDigits = 30;
  std::string digits = std::to_string(value / unit.scale);
  std::uint64_t rest = value % unit.scale;
  if (rest != 0) digits.push_back('.');
  for (int i = 0; rest != 0; ++i) {
    if (i == kMostDigits) return std::nullopt;
    rest *= 10;
    digits.push_back(static_cast<char>('0' + rest / unit.scale));
    rest %= unit.scale;
  }
  return digits;
}

std::string to_text(const Quantity& quantity, std::uint64_t value) {
  std::string best;
  std::string_view best_unit;
  for (const Unit& unit : quantity.units) {
    const auto digits = digits_in(unit, value);
    if (!digits) continue;
    const auto is_whole = [](std::string_view text) {
      return text.find('.') == std::string_view::npos;
    };
    if (best.empty() || digits->size() < best.size() ||
        (digits->size() == best.size() && is_whole(*digits) && !is_whole(best))) {
      best = *digits;
      best_unit = unit.name;
    }
  }
  return best.append(best_unit).append(quantity.suffix);
}

}  // namespace

Result<ByteSize> parse_size(std::string_view text) {
  auto bytes = parse(kSize, text);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  return ByteSize{*bytes};
}

Result<Duration> parse_duration(std::string_view text) {
  auto count = parse(kDuration, text);
  if (!count) return std::unexpected(std::move(count.error()));
  return Duration{static_cast<Duration::rep>(*count)};
}

Result<Rate> parse_rate(std::string_view text) {
  auto bytes = parse(kRate, text);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  return Rate{ByteSize{*bytes}};
}

std::string to_text(ByteSize size) {
  return size.bytes == 0 ? "0B" : to_text(kSize, size.bytes);
}

std::string to_text(Duration duration) {
  return duration.count() == 0 ? "0s"
                               : to_text(kDuration, static_cast<std::uint64_t>(duration.count()));
}

std::string to_text(Rate rate) {
  return rate.per_second.bytes == 0 ? "0B/s" : to_text(kRate, rate.per_second.bytes);
}

}  // namespace sallyport
