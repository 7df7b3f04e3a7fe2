#include "door/cli/values.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

bool consists_of(std::string_view text, std::initializer_list<std::string_view> sets) {
  return std::ranges::all_of(text, [sets](char c) {
    return std::ranges::any_of(sets, [c](std::string_view set) { return set.contains(c); });
  });
}

std::unexpected<Error> refuse(std::string_view text, std::string_view what, std::string hint) {
  return fail(Reason::argument, quoted(text).append(" ").append(what), std::move(hint));
}

template <class T>
Result<T> within(std::string_view text, Result<T> value, T least, T most) {
  if (!value) return value;
  if (*value < least) return refuse(text, "is too small", "the least is " + to_text(least));
  if (*value > most) return refuse(text, "is too large", "the most is " + to_text(most));
  return value;
}

Result<void> check_input_name(std::string_view name) {
  constexpr std::string_view kHint = "NAME is a path below /workspace, such as input.csv";
  if (name.empty()) return fail(Reason::argument, "NAME is empty", std::string(kHint));
  if (name.starts_with('/'))
    return refuse(name, "begins with '/' but NAME is relative", std::string(kHint));
  if (const auto odd = irregular_component(name)) {
    return refuse(name, odd->empty() ? "has an empty component" : "contains " + quoted(*odd),
                  std::string(kHint));
  }
  return {};
}

}  // namespace

Result<Grant> parse_grant(std::string_view text, bool write) {
  Grant grant{.host = std::string(text), .inside = {}, .write = write};
  if (text.ends_with(':')) {
    return refuse(text, "ends in ':'",
                  "write PATH or PATH:/INSIDE; for a PATH that ends in ':' give its INSIDE");
  }
  const std::size_t colon = text.rfind(":/");
  if (colon == std::string_view::npos) return grant;
  if (colon == 0) return refuse(text, "has no PATH before the ':'", "write PATH:/INSIDE");

  auto inside = parse_inside_path(text.substr(colon + 1));
  if (!inside) return std::unexpected(std::move(inside.error()));
  if (auto checked = check_grant_place(*inside); !checked)
    return std::unexpected(std::move(checked.error()));
  grant.host = text.substr(0, colon);
  grant.inside = std::move(*inside);
  return grant;
}

Result<InputFile> parse_input_file(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const std::string_view host = text.substr(0, colon);
  if (host.empty()) return refuse(text, "has no FILE before the ':'", "write FILE or FILE:NAME");
  std::string_view name;
  if (colon == std::string_view::npos) {
    name = host.substr(host.rfind('/') + 1);
    if (name.empty() || name == "." || name == "..")
      return refuse(text, "does not name a file", "write FILE or FILE:NAME");
  } else {
    name = text.substr(colon + 1);
    if (auto checked = check_input_name(name); !checked)
      return std::unexpected(std::move(checked.error()));
  }
  return InputFile{.host = std::string(host), .name = std::string(name)};
}

Result<std::pair<std::string, std::string>> parse_variable(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return refuse(text, "has no '='",
                  "write KEY=VALUE; nothing is taken from your own environment");
  }
  const std::string_view key = text.substr(0, equals);
  if (key.empty() || kDigits.contains(key[0]) ||
      !consists_of(key, {kLower, kUpper, kDigits, "_"})) {
    return refuse(key, "is not a name for a variable",
                  "KEY is letters, digits and '_', and does not begin with a digit");
  }
  return std::pair(std::string(key), std::string(text.substr(equals + 1)));
}

Result<std::string> parse_hostname(std::string_view text) {
  if (text.empty() || text.size() > 63 || text.starts_with('-') || text.ends_with('-') ||
      !consists_of(text, {kLower, kUpper, kDigits, "-"})) {
    return refuse(text, "is not a host name",
                  "write 1 to 63 letters, digits and '-', with no '-' at either end");
  }
  return std::string(text);
}

Result<std::string> parse_profile_name(std::string_view text) {
  if (text.empty() || text.size() > 63 || text.starts_with('-') || text.ends_with('-') ||
      !consists_of(text, {kLower, kDigits, "-"})) {
    return refuse(text, "is not a profile name", "write one such as 'default'");
  }
  return std::string(text);
}

Result<WriteMode> parse_write_mode(std::string_view text) {
  if (text == "direct") return WriteMode::direct;
  if (text == "copy") return WriteMode::copy;
  return refuse(text, "is not a write mode", "write 'direct' or 'copy'");
}

Result<double> parse_cpus(std::string_view text) {
  constexpr double kLeast = 0.01, kMost = 1024;
  double cpus = 0;
  // from_chars alone would also take "inf", "nan" and "-1".
  const bool plain =
      consists_of(text, {kDigits, "."}) && !text.starts_with('.') && !text.ends_with('.');
  const auto [end, status] =
      std::from_chars(text.begin(), text.end(), cpus, std::chars_format::fixed);
  if (!plain || status != std::errc{} || end != text.end() || cpus < kLeast || cpus > kMost) {
    return refuse(text, "is not a number of CPUs that can be given",
                  "write a number from 0.01 to 1024, such as 0.5 or 2");
  }
  return cpus;
}

Result<unsigned> parse_count(std::string_view text, unsigned least, unsigned most) {
  unsigned count = 0;
  const auto [end, status] = std::from_chars(text.begin(), text.end(), count);
  if (status == std::errc{} && end == text.end() && count >= least && count <= most) return count;
  const bool is_number = !text.empty() && consists_of(text, {kDigits});
  return refuse(
      text, is_number ? "is out of range" : "is not a whole number",
      "write a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

Result<ByteSize> parse_size_between(std::string_view text, ByteSize least, ByteSize most) {
  return within(text, parse_size(text), least, most);
}

Result<Duration> parse_time_limit(std::string_view text) {
  return within(text, parse_duration(text), Duration{1000}, kGreatestDuration);
}

Result<Rate> parse_rate_limit(std::string_view text) {
  return within(text, parse_rate(text), Rate{1_B}, Rate{kGreatestSize});
}

}  // namespace sallyport
