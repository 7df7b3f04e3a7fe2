#include "boundary/gates.h"

namespace sallyport {
namespace {

const std::vector<RateRule> kNoRates;
const std::vector<ConcurrencyRule> kNoConcurrency;
const std::optional<BudgetRule> kNoBudget;

}  // namespace

Pass admit(Passage& passage) {
  if (passage.purpose == Passage::Purpose::decide)
    return {};  // what the policy says does not depend on the hour
  // A name that is no tool has no rates of its own; it is counted as a denial by authorise.
  const Envelope* envelope = passage.envelope.get();
  auto ticket = passage.shared.ledger.admit(
      {.caller = passage.caller->name,
       .address = passage.address,
       .rates = envelope != nullptr ? envelope->rates : kNoRates,
       .concurrency = envelope != nullptr ? envelope->concurrency : kNoConcurrency,
       .budget = envelope != nullptr ? envelope->budget : kNoBudget,
       .cpu_limit = envelope != nullptr ? envelope->limits.cpu : Duration{}});
  if (ticket) {
    passage.result.rate_remaining = ticket->remaining;
    passage.ticket = *ticket;
    return {};
  }
  const Refusal& refusal = ticket.error();
  if (refusal.error.reason == Reason::rate_limit) passage.result.rate_remaining = 0;
  if (refusal.retry_after)
    passage.result.retry_after_ms =
        std::chrono::ceil<std::chrono::milliseconds>(*refusal.retry_after).count();
  return Block::from(refusal.error, refusal.rule);
}

}  // namespace sallyport
