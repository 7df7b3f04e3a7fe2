#include "boundary/gates.h"
#include "policy/network_access.h"

namespace sallyport {
namespace {

const std::vector<RateRule> kNoRates;
const std::vector<ConcurrencyRule> kNoConcurrency;
const std::optional<BudgetRule> kNoBudget;

// A tool that reaches nothing sends nothing.
std::uint64_t most_sent(const Passage& passage) {
  if (passage.tool == nullptr ||
      (passage.tool->network.allow.empty() && passage.tool->granted.empty() &&
       passage.tool->kind != ToolKind::http))
    return 0;
  const EgressRules network = network_access(passage.shared.rules.ceiling, *passage.tool);
  return network.allow.empty() ? 0 : network.upload.bytes;
}

Pass refused(Passage& passage, const Refusal& refusal) {
  if (refusal.error.reason == Reason::rate_limit) passage.result.rate_remaining = 0;
  if (refusal.retry_after)
    passage.result.retry_after_ms =
        std::chrono::ceil<std::chrono::milliseconds>(*refusal.retry_after).count();
  return Block::from(refusal.error, refusal.rule);
}

}  // namespace

Pass admit(Passage& passage) {
  if (passage.purpose == Passage::Purpose::decide)
    return {};  // what the policy says does not depend on the hour
  // A name that is no tool has no rates of its own; it is counted as a denial by authorise.
  const Envelope* envelope = passage.envelope.get();
  auto ticket = passage.shared.ledger.admit(
      {.caller = passage.caller->name,
       .address = counted_address(passage),
       .rates = envelope != nullptr ? envelope->rates : kNoRates,
       .concurrency = envelope != nullptr ? envelope->concurrency : kNoConcurrency,
       .budget = envelope != nullptr ? envelope->budget : kNoBudget,
       .cpu_limit = envelope != nullptr ? envelope->limits.cpu : Duration{},
       .send_limit = most_sent(passage)});
  if (ticket) {
    passage.result.rate_remaining = ticket->remaining;
    passage.ticket = *ticket;
    return {};
  }
  return refused(passage, ticket.error());
}

Pass admit_stranger(Passage& passage) {
  static const std::string nobody;
  auto ticket = passage.shared.ledger.admit({.caller = nobody,
                                             .address = passage.address,
                                             .rates = kNoRates,
                                             .concurrency = kNoConcurrency,
                                             .budget = kNoBudget,
                                             .cpu_limit = Duration{}});
  if (!ticket) return refused(passage, ticket.error());
  passage.shared.ledger.withdraw(*ticket);
  return {};
}

}  // namespace sallyport
