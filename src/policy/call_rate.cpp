#include "sallyport/call_rate.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/text.h"

namespace sallyport {
namespace {

struct Window {
  std::string_view name;
  Duration length;
};
constexpr Window kWindows[] = {
    {"s", std::chrono::seconds{1}},
    {"min", std::chrono::minutes{1}},
    {"h", std::chrono::hours{1}},
    {"day", std::chrono::hours{24}},
};

// What people write for a window, and what it is called here.
struct Slip {
  std::string_view written, meant;
};
constexpr Slip kSlips[] = {{"sec", "s"},    {"second", "s"}, {"m", "min"},  {"minute", "min"},
                           {"hour", "h"},   {"hr", "h"},     {"d", "day"},  {"days", "day"},
                           {"mins", "min"}, {"24h", "day"},  {"60s", "min"}};

constexpr std::string_view kHint = "write N/s, N/min, N/h or N/day, such as 10/min";

std::unexpected<Error> refuse(std::string_view text, std::string_view what, std::string hint) {
  return fail(Reason::argument, quoted(text).append(" ").append(what), std::move(hint));
}

}  // namespace

Result<CallRate> parse_call_rate(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view digits = text.substr(0, slash);
  const bool number =
      !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (slash == std::string_view::npos) {
    if (number)
      return refuse(
          text, "does not say per what",
          "write it as " + std::string(digits.substr(0, 20)) + "/min, or per s, h or day");
    return refuse(text, "is not a rate", std::string(kHint));
  }
  if (!number) return refuse(text, "does not begin with a whole number", std::string(kHint));
  if (digits.size() > 1 && digits[0] == '0')
    return refuse(text, "has a leading zero", std::string(kHint));
  CallRate rate;
  const auto [end, status] =
      std::from_chars(digits.data(), digits.data() + digits.size(), rate.count);
  if (status != std::errc{} || end != digits.data() + digits.size())
    return refuse(text, "is too large",
                  "the most is " + std::to_string(std::numeric_limits<std::uint32_t>::max()));
  if (rate.count == 0)
    return refuse(text, "allows nothing",
                  "write a number from 1; to forbid a tool, give nobody its permission");

  const std::string_view per = text.substr(slash + 1);
  const auto window = std::ranges::find(kWindows, per, &Window::name);
  if (window == std::end(kWindows)) {
    const auto slip = std::ranges::find(kSlips, per, &Slip::written);
    std::string hint(kHint);
    if (slip != std::end(kSlips))
      hint = "write " + std::string(digits) + "/" + std::string(slip->meant);
    return refuse(text, "has an unknown window, " + quoted(per), std::move(hint));
  }
  rate.window = window->length;
  return rate;
}

std::string to_text(CallRate rate) {
  std::string text = std::to_string(rate.count) + "/";
  const auto window = std::ranges::find(kWindows, rate.window, &Window::length);
  return text.append(window != std::end(kWindows) ? std::string(window->name)
                                                  : to_text(rate.window));
}

}  // namespace sallyport
