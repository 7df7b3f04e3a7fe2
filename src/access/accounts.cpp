#include "access/accounts.h"

#include <algorithm>

#include "base/text.h"

namespace sallyport {
namespace {

// As much as a state file can hold, and far from what could overflow when it is added up.
constexpr std::uint64_t kGreatestSent = std::uint64_t{1} << 59;

// What one entry takes beside its text, with its node, its share of the table and what the
// allocator keeps for itself. bench/limiter compares the sum with what the process really has.
constexpr std::uint64_t kAccountCost = 176;
constexpr std::uint64_t kSpendingCost = 160;
constexpr std::uint64_t kCallCost = 192;
constexpr std::uint64_t kFirstCalls = 32;  // the allocation of a window's first calls
// Keys that are looked at for being expired when nothing presses; each call adds fewer.
constexpr std::size_t kSweep = 32;
constexpr std::size_t kMostEnded = 64;  // calls whose memory is kept for the next ones

constexpr Duration kDay = std::chrono::days{1};

std::int64_t day_of(Moment wall) {
  return std::chrono::floor<std::chrono::days>(wall).count();
}

Duration until_tomorrow(Moment wall) {
  return Moment{std::chrono::days{day_of(wall) + 1}} - wall;
}

// For people: never earlier than it is.
// Rounded up: whoever comes back at that time is not too early. In the largest unit that still says
// it to some precision.
std::string try_again_in(Duration wait) {
  struct Unit {
    std::string_view name;
    std::chrono::seconds length;
  };
  constexpr Unit kUnits[] = {{"days", std::chrono::days(1)},
                             {"h", std::chrono::hours(1)},
                             {"min", std::chrono::minutes(1)}};
  constexpr std::chrono::seconds kSecond(1);
  const auto seconds = std::max(std::chrono::ceil<std::chrono::seconds>(wait), kSecond);
  for (const Unit& unit : kUnits)
    if (seconds >= 3 * unit.length)
      return "try again in " + std::to_string((seconds + unit.length - kSecond) / unit.length) +
             " " + std::string(unit.name);
  return "try again in " + std::to_string(seconds.count()) + " s";
}

std::uint64_t lockout_share(const LedgerOptions& options) {
  return options.max_memory / 4;
}

}  // namespace

Accounts::Accounts(const LedgerOptions& options)
    : options_(options), lockouts_(lockout_share(options)) {
  ended_.reserve(kMostEnded);  // a call must be able to end
}

std::uint64_t Accounts::cost_of_account(const std::string& name) {
  return kAccountCost + name.size();
}

std::uint64_t Accounts::cost_of_spending(const std::string& name) {
  return kSpendingCost + name.size();
}

std::uint64_t Accounts::cost_of_call() {
  return kCallCost;
}

Moment Accounts::advance(Moment now) {
  if (now + skew_ < now_) skew_ = now_ - now;
  now_ = now + skew_;
  return now_;
}

Accounts::Account* Accounts::find(const std::string& key) {
  const auto found = accounts_.find(key);
  return found == accounts_.end() ? nullptr : &found->second;
}

// Once for a call: every check is about the same accounts.
void Accounts::look_up(const Admission& admission) {
  rated_.clear();
  limited_.clear();
  for (const RateRule& rule : admission.rates)
    rated_.push_back(find(rule.key));
  for (const ConcurrencyRule& rule : admission.concurrency)
    limited_.push_back(find(rule.key));
}

Accounts::Account& Accounts::find_or_add(const std::string& key) {
  const auto [place, added] = accounts_.try_emplace(key);
  if (added) {
    place->second.name = &place->first;
    memory_ += cost_of_account(key);
  }
  return place->second;
}

void Accounts::forget(Account& account) {
  memory_ -= cost_of_account(*account.name) + account.window.bytes();
  accounts_.erase(accounts_.find(*account.name));
}

void Accounts::forget_expired(std::size_t most) {
  for (auto& [reach, queue] : queues_) {
    while (most > 0 && !queue.empty()) {
      Account& oldest = queue.front();
      if (!oldest.window.empty() && oldest.window.forgets_at() > now_) break;
      oldest.unlink();
      oldest.window.expire(now_);
      if (oldest.pins == 0) forget(oldest);
      --most;
    }
  }
}

void Accounts::release(Account& account) {
  if (--account.pins > 0) return;
  account.window.expire(now_);
  if (account.window.empty()) forget(account);
}

void Accounts::link(Account& account) {
  account.unlink();
  queues_[account.window.reach_seconds()].push_back(account);
}

void Accounts::roll(Spending& spending, std::int64_t day) {
  // A clock that is set back over midnight does not give the day a second budget; one that was
  // years ahead does not stop the count for years.
  if (day < spending.day && spending.day - day <= 1) return;
  if (day > spending.day) {
    spending.spent = {};
    spending.calls = 0;
  }
  spending.day = day;
}

void Accounts::roll_all(std::int64_t day) {
  if (day <= day_) {
    day_ = day_ - day > 1 ? day : day_;
    return;
  }
  day_ = day;
  for (auto place = spending_.begin(); place != spending_.end();) {
    roll(place->second, day);
    if (place->second.pins == 0 && place->second.calls == 0 &&
        place->second.spent.cpu == Duration{} && place->second.spent.sent == 0) {
      memory_ -= cost_of_spending(place->first);
      place = spending_.erase(place);
    } else {
      ++place;
    }
  }
}

std::optional<Refusal> Accounts::check_lockout(const Admission& admission) const {
  if (!options_.lockout) return std::nullopt;
  const auto standing =
      lockouts_.find(*options_.lockout, admission.caller, admission.address, now_);
  if (!standing) return std::nullopt;
  const Duration wait = standing->until - now_;
  if (standing->uncounted)
    return Refusal{.error = {Reason::unavailable,
                             "there is no memory left to count denials, so nobody is let in who "
                             "has none",
                             {}},
                   .rule = "lockout",
                   .retry_after = wait};
  return Refusal{
      .error = {Reason::locked_out,
                "too many calls were refused: " + quoted(standing->who) + " is locked out",
                "an operator can end it with `sallyport lockout lift`"},
      .rule = "lockout",
      .retry_after = wait};
}

std::optional<Refusal> Accounts::check_rates(const Admission& admission) {
  std::optional<Refusal> refusal;
  for (std::size_t i = 0; i < admission.rates.size(); ++i) {
    const RateRule& rule = admission.rates[i];
    if (rule.rate.window > kLongestWindow)
      return Refusal{
          .error = {Reason::unavailable,
                    "a rate over more than " + to_text(kLongestWindow) + " cannot be counted",
                    "write a rate per s, min, h or day"},
          .rule = rule.rule,
          .retry_after = std::nullopt};
    const Account* account = rated_[i];
    const auto from = account != nullptr ? account->window.free_from(rule.rate, now_)
                                         : RateWindow().free_from(rule.rate, now_);
    if (from && *from <= now_) continue;
    const std::optional<Duration> wait =
        from ? std::optional<Duration>(*from - now_) : std::nullopt;
    // The rule with the longest wait is the one to be told about.
    if (refusal && (!refusal->retry_after || (wait && *wait <= *refusal->retry_after))) continue;
    refusal = Refusal{.error = {Reason::rate_limit,
                                "no more than " + std::to_string(rule.rate.count) + " calls in " +
                                    to_text(rule.rate.window) + " are allowed",
                                {}},
                      .rule = rule.rule,
                      .retry_after = wait};
  }
  return refusal;
}

std::optional<Refusal> Accounts::check_concurrency(const Admission& admission) {
  for (std::size_t i = 0; i < admission.concurrency.size(); ++i) {
    const ConcurrencyRule& rule = admission.concurrency[i];
    const Account* account = limited_[i];
    if ((account != nullptr ? account->running : 0) < rule.most) continue;
    return Refusal{
        .error = {Reason::concurrency,
                  "no more than " + std::to_string(rule.most) + " calls may be in flight at once",
                  "try again when one has ended"},
        .rule = rule.rule,
        .retry_after = std::nullopt};
  }
  return std::nullopt;
}

std::optional<Refusal> Accounts::check_budget(const Admission& admission, Moment wall) {
  if (!admission.budget) return std::nullopt;
  const BudgetRule& rule = *admission.budget;
  Spending today;
  if (const auto found = spending_.find(rule.key); found != spending_.end()) today = found->second;
  roll(today, day_of(wall));
  // A day that the clock has yet to reach, because it was set back, ends when that day does.
  const Duration tomorrow =
      until_tomorrow(wall) + kDay * std::max<std::int64_t>(0, today.day - day_of(wall));

  const DailyBudget& budget = rule.budget;
  if (budget.calls && today.calls >= *budget.calls)
    return Refusal{
        .error = {Reason::budget,
                  "all " + std::to_string(*budget.calls) + " calls of the day have been made",
                  {}},
        .rule = rule.rule,
        .retry_after = *budget.calls > 0 ? std::optional(tomorrow) : std::nullopt};
  // The same for both: what is spent, what calls in flight may spend, and what this one may.
  const auto check = [&](auto spent, auto held, auto limit, auto most, const std::string& message,
                         const std::string& lower) -> std::optional<Refusal> {
    if (spent + held + limit <= most) return std::nullopt;
    Refusal refusal{
        .error = {Reason::budget, message, lower}, .rule = rule.rule, .retry_after = std::nullopt};
    if (spent + limit <= most) {
      refusal.error.hint = "try again when a call in flight has ended; each holds back its limit";
    } else if (held + limit <= most) {
      refusal.retry_after = tomorrow;
      refusal.error.hint = "or " + refusal.error.hint;
    }
    return refusal;
  };
  if (budget.cpu)
    if (auto refusal = check(today.spent.cpu, today.held.cpu, admission.cpu_limit, *budget.cpu,
                             "the call may take " + to_text(admission.cpu_limit) +
                                 " of CPU time, which is more than is left of the day's " +
                                 to_text(*budget.cpu),
                             "ask for less with a lower cpu limit"))
      return refusal;
  if (budget.egress && admission.send_limit > 0)
    return check(today.spent.sent, today.held.sent, admission.send_limit, budget.egress->bytes,
                 "the call may send " + to_text(ByteSize{admission.send_limit}) +
                     ", which is more than is left of the day's " + to_text(*budget.egress),
                 "let the tool send less, with network.upload");
  return std::nullopt;
}

std::optional<Refusal> Accounts::check_memory(const Admission& admission) {
  if (admission.rates.size() > kMostRules || admission.concurrency.size() > kMostRules)
    return Refusal{.error = {Reason::unavailable,
                             "more than " + std::to_string(kMostRules) +
                                 " rates cannot be counted for one call",
                             "write fewer"},
                   .rule = {},
                   .retry_after = std::nullopt};
  const std::uint64_t limit = options_.max_memory - lockout_share(options_);
  std::uint64_t more = cost_of_call();
  bool added = false;
  const auto count_key = [&](const std::string& key, const Account* account, std::uint32_t calls) {
    if (account != nullptr) {
      more += account->window.bytes_after_add(calls) - account->window.bytes();
    } else {
      more += cost_of_account(key) + kFirstCalls;
      added = true;
    }
  };
  for (std::size_t i = 0; i < admission.rates.size(); ++i)
    count_key(admission.rates[i].key, rated_[i], admission.rates[i].rate.count);
  for (std::size_t i = 0; i < admission.concurrency.size(); ++i)
    if (limited_[i] == nullptr) count_key(admission.concurrency[i].key, nullptr, 0);
  if (admission.budget && !spending_.contains(admission.budget->key)) {
    more += cost_of_spending(admission.budget->key);
    added = true;
  }
  // New keys leave an eighth to those that are counted already: a flood of new ones is refused
  // before it can stop the others.
  const std::uint64_t bound = added ? limit - limit / 8 : limit;
  if (memory_ + more > bound) {
    forget_expired(accounts_.size());
    look_up(admission);
  }
  if (memory_ + more <= bound) return std::nullopt;
  return Refusal{
      .error = {Reason::unavailable,
                "there is no memory left to count the calls of one more caller",
                "try again later; the bound is " + to_text(ByteSize{options_.max_memory})},
      .rule = {},
      .retry_after = std::nullopt};
}

std::expected<Ticket, Refusal> Accounts::admit(const Admission& admission, Moment now,
                                               Moment wall) {
  advance(now);
  forget_expired(kSweep);
  lockouts_.expire(now_);
  roll_all(day_of(wall));
  look_up(admission);

  std::optional<Refusal> refusal = check_lockout(admission);
  const auto also = [&](std::optional<Refusal> next) {
    if (!refusal)
      refusal = std::move(next);
    else if (next && next->retry_after && refusal->retry_after)
      refusal->retry_after = std::max(*refusal->retry_after, *next->retry_after);
  };
  also(check_rates(admission));
  also(check_concurrency(admission));
  also(check_budget(admission, wall));
  if (!refusal) refusal = check_memory(admission);
  if (refusal) {
    // Said once, and of all rules together.
    if (refusal->retry_after) {
      std::string& hint = refusal->error.hint;
      hint = try_again_in(*refusal->retry_after) + (hint.empty() ? "" : "; ") + hint;
    }
    return std::unexpected(std::move(*refusal));
  }

  for (std::size_t i = 0; i < rated_.size(); ++i) {
    if (rated_[i] == nullptr) rated_[i] = &find_or_add(admission.rates[i].key);
    rated_[i]->window.reach_back(admission.rates[i].rate.window);
  }
  const std::uint64_t ticket = next_ticket_++;
  Call& call = begin_call(ticket);
  call.at = now_;
  call.day = day_of(wall);
  for (std::size_t i = 0; i < rated_.size(); ++i) {
    Account& account = *rated_[i];
    if (std::ranges::find(call.counted, &account) != call.counted.end()) continue;
    std::uint32_t most = 0;
    for (std::size_t same = i; same < rated_.size(); ++same)
      if (rated_[same] == &account) most = std::max(most, admission.rates[same].rate.count);
    memory_ -= account.window.bytes();
    account.window.add(now_, most);
    memory_ += account.window.bytes();
    ++account.pins;
    call.counted.push_back(&account);
  }
  for (Account* account : call.counted)
    link(*account);
  for (std::size_t i = 0; i < limited_.size(); ++i) {
    Account& account =
        limited_[i] != nullptr ? *limited_[i] : find_or_add(admission.concurrency[i].key);
    if (std::ranges::find(call.running, &account) != call.running.end()) continue;
    ++account.running;
    ++account.pins;
    call.running.push_back(&account);
  }
  if (admission.budget) {
    const auto [place, added] = spending_.try_emplace(admission.budget->key);
    if (added) memory_ += cost_of_spending(place->first);
    roll(place->second, call.day);
    call.day = place->second.day;
    if (admission.budget->budget.cpu) call.held.cpu = admission.cpu_limit;
    if (admission.budget->budget.egress) call.held.sent = admission.send_limit;
    place->second.held.cpu += call.held.cpu;
    place->second.held.sent += call.held.sent;
    ++place->second.calls;
    ++place->second.pins;
    call.spending = &place->second;
  }
  memory_ += cost_of_call();
  return Ticket{.id = ticket, .remaining = remaining(admission)};
}

Accounts::Call& Accounts::begin_call(std::uint64_t ticket) {
  if (ended_.empty()) return calls_.emplace_hint(calls_.end(), ticket, Call())->second;
  auto node = std::move(ended_.back());
  ended_.pop_back();
  node.key() = ticket;
  return calls_.insert(calls_.end(), std::move(node))->second;
}

void Accounts::end_call(std::map<std::uint64_t, Call>::iterator call) {
  if (ended_.size() >= kMostEnded) return static_cast<void>(calls_.erase(call));
  auto node = calls_.extract(call);
  Call& used = node.mapped();
  used.counted.clear();
  used.running.clear();
  used = {.counted = std::move(used.counted), .running = std::move(used.running)};
  ended_.push_back(std::move(node));
}

std::optional<std::uint64_t> Accounts::remaining(const Admission& admission) const {
  std::optional<std::uint64_t> least;
  for (std::size_t i = 0; i < admission.rates.size(); ++i) {
    const CallRate& rate = admission.rates[i].rate;
    const std::uint64_t made = rated_[i]->window.count_since(now_ - rate.window);
    const std::uint64_t left = rate.count > made ? rate.count - made : 0;
    least = std::min(least.value_or(left), left);
  }
  return least;
}

void Accounts::finish(std::uint64_t ticket, std::optional<Spent> spent, bool counts, Moment wall) {
  const auto found = calls_.find(ticket);
  if (found == calls_.end()) return;
  const Call& call = found->second;
  roll_all(day_of(wall));
  if (Spending* spending = call.spending) {
    spending->held.cpu -= call.held.cpu;
    spending->held.sent -= call.held.sent;
    --spending->pins;
    if (counts) {
      const Spent more = spent.value_or(call.held);
      spending->spent.cpu = std::min(spending->spent.cpu + more.cpu, kGreatestDuration);
      spending->spent.sent = std::min(spending->spent.sent + more.sent, kGreatestSent);
    } else if (spending->day == call.day && spending->calls > 0) {
      --spending->calls;
    }
  }
  for (Account* account : call.running) {
    --account->running;
    release(*account);
  }
  for (Account* account : call.counted) {
    if (!counts) account->window.remove(call.at);
    release(*account);
  }
  end_call(found);
  memory_ -= cost_of_call();
}

void Accounts::withdraw(std::uint64_t ticket, Moment now, Moment wall) {
  advance(now);
  finish(ticket, Spent{}, false, wall);
}

void Accounts::settle(std::uint64_t ticket, Spent spent, Moment now, Moment wall) {
  advance(now);
  spent.cpu = std::clamp(spent.cpu, Duration{}, kGreatestDuration);
  spent.sent = std::min(spent.sent, kGreatestSent);
  finish(ticket, spent, true, wall);
}

void Accounts::abandon(std::uint64_t ticket, Moment now, Moment wall) {
  advance(now);
  finish(ticket, std::nullopt, true, wall);
}

void Accounts::denied(const std::string& caller, const std::string& address, Moment now) {
  advance(now);
  if (options_.lockout) lockouts_.denied(*options_.lockout, caller, address, now_);
}

std::vector<LockedOut> Accounts::locked_out(Moment now) {
  advance(now);
  std::vector<LockedOut> list;
  for (const auto& [who, offender] : lockouts_.offenders())
    if (offender.locked && offender.until > now_)
      list.push_back({.who = who, .until = offender.until - skew_, .denials = offender.count});
  return list;
}

bool Accounts::lift(const std::string& who, Moment now) {
  return lockouts_.lift(who, advance(now));
}

std::vector<std::uint64_t> Accounts::in_flight() const {
  std::vector<std::uint64_t> tickets;
  tickets.reserve(calls_.size());
  for (const auto& [ticket, call] : calls_)
    tickets.push_back(ticket);
  return tickets;
}

}  // namespace sallyport
