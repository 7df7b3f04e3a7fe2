#include "access/accounts_format.h"

#include <algorithm>
#include <limits>

namespace sallyport {
namespace {

constexpr std::string_view kMagic = "sallyport ledger 2\n", kAnyVersion = "sallyport ledger ";
constexpr std::size_t kChecksum = 8;
// Far beyond any clock, far from the end of what can be added up.
constexpr std::uint64_t kGreatest = std::uint64_t{1} << 60;

std::uint64_t fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes)
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

class Writer {
 public:
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  void number(Moment moment) { number(static_cast<std::uint64_t>(moment.count())); }
  void text(std::string_view text) {
    number(text.size());
    bytes_.append(text);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// After the first thing that is wrong, everything reads as 0 and ok() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number(std::uint64_t greatest = kGreatest) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) {
        if (value > greatest || (byte == 0 && shift > 0)) break;
        return value;
      }
    }
    return refuse();
  }
  // How many items follow. Each is a byte at least: a count that promises more is refused before
  // anything is allocated for it.
  std::uint64_t count() {
    const std::uint64_t items = number();
    return items <= rest_.size() ? items : refuse();
  }
  Moment moment() { return Moment{static_cast<std::int64_t>(number())}; }
  std::uint32_t small(std::uint64_t greatest = std::numeric_limits<std::uint32_t>::max()) {
    return static_cast<std::uint32_t>(number(greatest));
  }
  std::string_view text() {
    const std::uint64_t length = count();
    const std::string_view value = rest_.substr(0, length);
    rest_.remove_prefix(value.size());
    return value;
  }
  std::uint64_t refuse() {
    ok_ = false;
    rest_ = {};
    return 0;
  }
  void expect(bool promise) {
    if (!promise) refuse();
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

std::string AccountsFormat::write_body(const Accounts& accounts) {
  Writer out;
  out.number(accounts.now_);
  out.number(accounts.skew_);
  out.number(static_cast<std::uint64_t>(accounts.day_));
  out.number(accounts.next_ticket_);

  std::vector<const Accounts::Account*> sorted;
  sorted.reserve(accounts.accounts_.size());
  for (const auto& [name, account] : accounts.accounts_)
    sorted.push_back(&account);
  std::ranges::sort(sorted, {},
                    [](const auto* account) -> const std::string& { return *account->name; });
  std::unordered_map<const Accounts::Account*, std::uint64_t> places;  // of what calls point at
  out.number(sorted.size());
  for (std::size_t place = 0; place < sorted.size(); ++place) {
    const Accounts::Account* account = sorted[place];
    if (account->pins > 0) places.emplace(account, place);
    const RateWindow& window = account->window;
    out.text(*account->name);
    out.number(window.reach_seconds());
    out.number(window.size());
    Moment later = accounts.now_;
    for (std::uint32_t i = window.size(); i-- > 0; later = window.at(i))
      out.number(later - window.at(i));
  }

  std::map<const Accounts::Spending*, std::uint64_t> spending_places;
  out.number(accounts.spending_.size());
  for (const auto& [name, spending] : accounts.spending_) {
    spending_places.emplace(&spending, spending_places.size() + 1);
    out.text(name);
    out.number(static_cast<std::uint64_t>(spending.day));
    out.number(spending.spent.cpu);
    out.number(spending.spent.sent);
    out.number(spending.calls);
  }

  out.number(accounts.calls_.size());
  for (const auto& [ticket, call] : accounts.calls_) {
    out.number(ticket);
    out.number(accounts.now_ - call.at);
    for (const auto* list : {&call.counted, &call.running}) {
      out.number(list->size());
      for (const Accounts::Account* account : *list)
        out.number(places.at(account));
    }
    out.number(call.spending == nullptr ? 0 : spending_places.at(call.spending));
    out.number(call.held.cpu);
    out.number(call.held.sent);
    out.number(static_cast<std::uint64_t>(call.day));
  }

  out.number(accounts.lockouts_.offenders().size());
  for (const auto& [name, offender] : accounts.lockouts_.offenders()) {
    out.text(name);
    out.number(offender.locked ? 1 : 0);
    out.number(offender.until);
    out.number(offender.count);
    out.number(offender.denials.size());
    for (const Moment denial : offender.denials)
      out.number(accounts.now_ - denial);
  }
  out.number(accounts.lockouts_.uncounted_until());
  return out.take();
}

std::unique_ptr<Accounts> AccountsFormat::read_body(std::string_view body,
                                                    const LedgerOptions& options) {
  auto result = std::make_unique<Accounts>(options);
  Accounts& accounts = *result;
  Reader in(body);
  accounts.now_ = in.moment();
  accounts.skew_ = in.moment();
  accounts.day_ = static_cast<std::int64_t>(in.number());
  accounts.next_ticket_ = in.number();
  in.expect(accounts.next_ticket_ > 0);
  // A moment that lies `age` back; none lies before 1970 or the start of the machine.
  const auto back = [&in](Moment from) {
    const Moment age = in.moment();
    in.expect(age <= from);
    return in.ok() ? from - age : Moment{};
  };

  std::vector<Accounts::Account*> places;
  std::vector<Moment> calls;
  for (std::uint64_t left = in.count(); left > 0 && in.ok(); --left) {
    const std::string name(in.text());
    in.expect(places.empty() || *places.back()->name < name);
    const std::uint32_t reach =
        in.small(std::chrono::duration_cast<std::chrono::seconds>(kLongestWindow).count());
    calls.clear();
    Moment later = accounts.now_;
    for (std::uint64_t more = in.count(); more > 0 && in.ok(); --more)
      calls.push_back(later = back(later));
    // Older calls than it reaches back would not fit its numbers.
    in.expect(calls.empty() || calls.front() - calls.back() <= std::chrono::seconds{reach});
    if (!in.ok()) return nullptr;
    Accounts::Account& account = accounts.find_or_add(name);
    account.window.reach_back(std::chrono::seconds{reach});
    for (auto call = calls.rbegin(); call != calls.rend(); ++call)
      account.window.add(*call, static_cast<std::uint32_t>(calls.size()));
    accounts.memory_ += account.window.bytes();
    places.push_back(&account);
  }

  std::vector<Accounts::Spending*> spending_places;
  const std::string* previous = nullptr;
  for (std::uint64_t left = in.count(); left > 0 && in.ok(); --left) {
    const std::string name(in.text());
    in.expect(previous == nullptr || *previous < name);
    const auto place = accounts.spending_.try_emplace(name).first;
    previous = &place->first;
    place->second.day = static_cast<std::int64_t>(in.number());
    place->second.spent.cpu = in.moment();
    place->second.spent.sent = in.number();
    place->second.calls = in.number();
    accounts.memory_ += Accounts::cost_of_spending(name);
    spending_places.push_back(&place->second);
  }

  std::uint64_t last_ticket = 0;
  for (std::uint64_t left = in.count(); left > 0 && in.ok(); --left) {
    const std::uint64_t ticket = in.number();
    in.expect(ticket > last_ticket && ticket < accounts.next_ticket_);
    last_ticket = ticket;
    Accounts::Call call;
    call.at = back(accounts.now_);
    for (auto* list : {&call.counted, &call.running}) {
      for (std::uint64_t more = in.number(Accounts::kMostRules); more > 0 && in.ok(); --more) {
        const std::uint64_t place = in.number();
        in.expect(place < places.size());
        if (!in.ok()) return nullptr;
        in.expect(std::ranges::find(*list, places[place]) == list->end());
        list->push_back(places[place]);
        ++places[place]->pins;
        if (list == &call.running) ++places[place]->running;
      }
    }
    const std::uint64_t spending = in.number();
    in.expect(spending <= spending_places.size());
    call.held.cpu = in.moment();
    call.held.sent = in.number();
    call.day = static_cast<std::int64_t>(in.number());
    if (!in.ok()) return nullptr;
    if (spending > 0) {
      call.spending = spending_places[spending - 1];
      call.spending->held.cpu += call.held.cpu;
      call.spending->held.sent += call.held.sent;
      in.expect(call.spending->held.cpu.count() <= static_cast<std::int64_t>(kGreatest) &&
                call.spending->held.sent <= kGreatest);
      ++call.spending->pins;
    }
    accounts.calls_.emplace(ticket, std::move(call));
    accounts.memory_ += Accounts::cost_of_call();
  }

  std::string last_offender;
  for (std::uint64_t left = in.count(); left > 0 && in.ok(); --left) {
    const std::string name(in.text());
    in.expect(name > last_offender);
    last_offender = name;
    Offender offender;
    offender.locked = in.small(1) == 1;
    offender.until = in.moment();
    offender.count = in.small();
    for (std::uint64_t more = in.count(); more > 0 && in.ok(); --more)
      offender.denials.push_back(back(accounts.now_));
    in.expect(std::ranges::is_sorted(offender.denials));
    if (in.ok()) accounts.lockouts_.restore(name, std::move(offender));
  }
  accounts.lockouts_.restore_uncounted(in.moment());
  if (!in.at_end()) return nullptr;

  std::vector<std::pair<Moment, Accounts::Account*>> by_last_call;
  by_last_call.reserve(places.size());
  for (Accounts::Account* account : places) {
    if (!account->window.empty())
      by_last_call.emplace_back(account->window.last(), account);
    else if (account->pins == 0)  // nothing keeps it, and so it is not written
      return nullptr;
  }
  std::ranges::sort(by_last_call, {}, &std::pair<Moment, Accounts::Account*>::first);
  for (const auto& [last, account] : by_last_call)
    accounts.link(*account);
  return result;
}

std::string AccountsFormat::write(const Accounts& accounts) {
  std::string bytes(kMagic);
  bytes.append(write_body(accounts));
  const std::uint64_t sum = fnv1a(bytes);
  for (std::size_t i = 0; i < kChecksum; ++i)
    bytes.push_back(static_cast<char>(sum >> (8 * i)));
  return bytes;
}

std::expected<std::unique_ptr<Accounts>, std::string> AccountsFormat::read(
    std::string_view bytes, const LedgerOptions& options) {
  if (bytes.empty()) return std::unexpected("is empty, as a power failure can leave it");
  if (!bytes.starts_with(kAnyVersion)) return std::unexpected("is not a file that Sallyport wrote");
  if (!bytes.starts_with(kMagic))
    return std::unexpected("was written by another version of Sallyport, or is damaged");
  if (bytes.size() < kMagic.size() + kChecksum) return std::unexpected("is cut off");
  const std::string_view summed = bytes.substr(0, bytes.size() - kChecksum);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kChecksum; ++i)
    sum |= std::uint64_t{static_cast<unsigned char>(bytes[summed.size() + i])} << (8 * i);
  if (sum != fnv1a(summed)) return std::unexpected("is damaged or cut off");
  auto accounts = read_body(summed.substr(kMagic.size()), options);
  if (accounts == nullptr) return std::unexpected("is damaged");
  return accounts;
}

}  // namespace sallyport
