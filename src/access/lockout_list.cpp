#include "access/lockout_list.h"

#include <algorithm>
#include <array>
#include <span>

#include "input/ip_address.h"

namespace sallyport {
namespace {

constexpr Moment kTick{1};
constexpr std::size_t kLongestName = 256;
// Two tree nodes with what they hold, and what the allocator takes for itself.
constexpr std::uint64_t kOffenderCost = 240;

// A name that nobody needs at full length is cut: those that then are the same share a count,
// which can only be too high.
std::string name_of(std::string_view kind, std::string_view name) {
  return std::string(kind).append(name.substr(0, kLongestName));
}

// Whoever has one IPv6 address has the 2^64 of its network, and could come from another each time:
// they share a count. An IPv4 address within IPv6 is counted as itself, for those of everybody lie
// in one such network.
std::string address_name(std::string_view text) {
  const auto address = IpAddress::parse(text);
  if (!address || address->is_v4()) return name_of("address/", text);
  constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  constexpr std::array<std::uint8_t, 12> kNat64 = {0x00, 0x64, 0xff, 0x9b};
  std::array<std::uint8_t, 16> bytes = address->bytes();
  const auto begins = [&](const std::array<std::uint8_t, 12>& prefix) {
    return std::ranges::equal(prefix, std::span(bytes).first(12));
  };
  if (begins(kMapped) || begins(kNat64))
    return "address/" + IpAddress::v4({bytes[12], bytes[13], bytes[14], bytes[15]}).to_text();
  std::ranges::fill(std::span(bytes).last(8), std::uint8_t{0});
  return "address/" + IpAddress::v6(bytes).to_text() + "/64";
}

std::uint64_t cost_of(std::string_view name, const Offender& offender) {
  return kOffenderCost + name.size() + offender.denials.capacity() * sizeof(Moment);
}

}  // namespace

void LockoutList::forget(Offenders::iterator offender) {
  expiry_.erase({offender->second.until, offender->first});
  memory_ -= cost_of(offender->first, offender->second);
  offenders_.erase(offender);
}

void LockoutList::expire(Moment now) {
  while (!expiry_.empty() && expiry_.begin()->first <= now)
    forget(offenders_.find(expiry_.begin()->second));
}

void LockoutList::restore(std::string who, Offender&& offender) {
  const auto [place, added] = offenders_.try_emplace(std::move(who), std::move(offender));
  if (!added) return;
  memory_ += cost_of(place->first, place->second);
  expiry_.emplace(place->second.until, place->first);
}

void LockoutList::count(const Lockout& rules, const std::string& who, Moment now) {
  auto place = offenders_.find(who);
  if (place != offenders_.end() && place->second.locked) return;
  Offender offender;
  if (place != offenders_.end()) {
    offender = place->second;
    forget(place);
  } else if (memory_ + kOffenderCost + who.size() > max_memory_ / 4 * 3) {
    uncounted_until_ = std::max(uncounted_until_, now + rules.within + kTick);
    return;
  }
  std::erase_if(offender.denials, [&](Moment at) { return at < now - rules.within; });
  offender.denials.push_back(now);
  // One more denial of somebody in the list that finds no room is one too many: a lock-out takes
  // less room than the denials do.
  const bool fits = memory_ + cost_of(who, offender) <= max_memory_;
  if (offender.denials.size() >= rules.after || !fits) {
    offender = {.denials = {},
                .count = static_cast<std::uint32_t>(offender.denials.size()),
                .locked = true,
                .until = now + rules.lasts};
  } else {
    offender.until = now + rules.within + kTick;
  }
  restore(who, std::move(offender));
}

void LockoutList::denied(const Lockout& rules, std::string_view caller, std::string_view address,
                         Moment now) {
  expire(now);
  if (rules.by_caller && !caller.empty()) count(rules, name_of("caller/", caller), now);
  if (rules.by_address && !address.empty()) count(rules, address_name(address), now);
}

std::optional<LockoutList::Standing> LockoutList::find(const Lockout& rules,
                                                       std::string_view caller,
                                                       std::string_view address, Moment now) const {
  if (offenders_.empty() && uncounted_until_ <= now) return std::nullopt;
  std::optional<Standing> worst;
  bool listed = true;
  const auto look = [&](std::string who) {
    const auto place = offenders_.find(who);
    if (place == offenders_.end()) {
      listed = false;
    } else if (place->second.locked && place->second.until > now) {
      if (!worst || place->second.until > worst->until)
        worst = {.who = std::move(who), .until = place->second.until};
    }
  };
  if (rules.by_caller && !caller.empty()) look(name_of("caller/", caller));
  if (rules.by_address && !address.empty()) look(address_name(address));
  if (!worst && !listed && uncounted_until_ > now)
    worst = {.who = {}, .until = uncounted_until_, .uncounted = true};
  return worst;
}

bool LockoutList::lift(std::string_view who, Moment now) {
  expire(now);
  constexpr std::string_view kAddress = "address/";
  const auto place = offenders_.find(
      who.starts_with(kAddress) ? address_name(who.substr(kAddress.size())) : std::string(who));
  if (place == offenders_.end() || !place->second.locked) return false;
  forget(place);
  return true;
}

}  // namespace sallyport
