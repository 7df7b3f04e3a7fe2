#include "sallyport/boundary.h"

#include <unistd.h>

#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "access/ledger.h"
#include "access/state_directory.h"
#include "audit/journal.h"
#include "audit/write_watch.h"
#include "base/call_id.h"
#include "base/recycled.h"
#include "base/short_mutex.h"
#include "base/text.h"
#include "boundary/function_call.h"
#include "boundary/gates.h"
#include "boundary/records.h"
#include "boundary/shown_text.h"
#include "postgres/role.h"

namespace sallyport {
namespace {

// The path of a call. Every step can only narrow; the first that refuses ends it.
constexpr Gate kWayIn[] = {
    {"identify", identify},    // who calls?
    {"admit", admit},          // is there room: lock-out, rates, calls in flight, budget?
    {"authorise", authorise},  // may this caller use this tool?
    {"inspect", inspect},      // are the arguments what the tool declares?
    {"approve", approve},      // must a person agree first?
    {"lend", lend},            // is everything there that the call needs?
};
constexpr Gate kWayOut[] = {
    {"validate", validate},  // is the result what the tool promised?
    {"redact", redact},      // is anything in it that must not leave? is it small enough?
    {"mark", mark},          // does it read like instructions?
};

const CallStreams kNoStreams;

// Envelopes are made once per tool and caller: they depend on nothing else.
class Envelopes {
 public:
  std::shared_ptr<const Envelope> find(const Rules& rules, const Tool& tool, const Caller& caller) {
    const auto key = std::pair(&tool, &caller);
    {
      const std::shared_lock lock(mutex_);
      if (const auto known = made_.find(key); known != made_.end()) return known->second;
    }
    auto envelope = std::make_shared<const Envelope>(make_envelope(rules, tool, caller));
    const std::unique_lock lock(mutex_);
    if (made_.size() >= kMost) made_.clear();  // bounded, whatever the policy's size
    made_[key] = envelope;
    return envelope;
  }

 private:
  static constexpr std::size_t kMost = 10'000;
  using Key = std::pair<const Tool*, const Caller*>;
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return std::hash<const void*>()(key.first) * 31 + std::hash<const void*>()(key.second);
    }
  };
  std::shared_mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<const Envelope>, Hash> made_;
};

std::string own_program() {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof(path));
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string();
}

std::uint64_t bytes_sent(const Passage& passage) {
  std::uint64_t sent = 0;
  for (const NetworkEvent& event : passage.network)
    sent += event.sent;
  return sent;
}

void stop(Passage& passage, Block block) {
  CallResult& result = passage.result;
  result.status = block.status;
  result.reason = block.reason;
  result.rule = std::move(block.rule);
  result.message = std::move(block.message);
  result.hint = std::move(block.hint);
  // What did not pass the way out does not get out.
  result.output.clear();
  result.error.clear();
  result.data.reset();
  result.collected.clear();
}

// Nothing that happens within a call ends the process, or another call.
void guard(Passage& passage, const auto& step) {
  try {
    step();
  } catch (const std::exception& error) {  // out of memory, no more threads
    stop(passage, {Reason::internal, "boundary", to_utf8(error.what()),
                   "the call may have run; look into its records", Status::error});
  }
}

std::vector<CallTrip*> trips_of(std::span<TogetherCall* const> calls) {
  std::vector<CallTrip*> trips;
  trips.reserve(calls.size());
  for (const TogetherCall* call : calls)
    trips.push_back(call->trip.get());
  return trips;
}

Pass pass_all(std::span<const Gate> gates, Passage& passage) {
  for (const Gate& gate : gates)
    if (Pass block = gate.pass(passage)) return block;
  return {};
}

}  // namespace

struct CallTrip {
  // `enter` makes the passage: it is large, and made in its place.
  explicit CallTrip(const auto& enter) : passage(enter()) {}

  Passage passage;
  bool goes_on = false;  // the gates let it in, and nothing has stopped it since
  bool ran = false;
  DraftRecord record;  // that is to be written next: the intent, then the outcome
};

// What a policy decides: it, and all that is made from it.
struct InForce {
  explicit InForce(Policy loaded) : policy(std::move(loaded)) {}

  Policy policy;
  Functions functions;
  mutable Envelopes envelopes;
};

struct Boundary::State {
  std::string program, launcher;
  std::string digest_key, sql_key, revoked;
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<Journal> journal;
  std::unique_ptr<SharedEgress> egress;
  WriteWatch writes;
  std::vector<Function> functions;  // as they were added
  QuickFunctions quick;

  mutable ShortMutex mutex;  // for the pointer only: what it points to does not change
  std::shared_ptr<InForce> policy;

  [[nodiscard]] std::vector<Result<void>> write(std::span<CallTrip* const> outcomes,
                                                std::span<CallTrip* const> intents);

  [[nodiscard]] std::shared_ptr<InForce> in_force() const {
    const std::lock_guard lock(mutex);
    return policy;
  }

  Passage enter(const CallRequest& request, const CallStreams& streams) const {
    return enter(request, streams,
                 request.dry_run ? Passage::Purpose::dry_run : Passage::Purpose::run);
  }
  Passage enter(const CallRequest& request, const CallStreams& streams,
                Passage::Purpose purpose) const {
    std::shared_ptr<InForce> now = in_force();
    Passage passage(request, streams,
                    {.rules = now->policy.rules(),
                     .functions = now->functions,
                     .ledger = *ledger,
                     .program = program,
                     .launcher = launcher,
                     .egress = *egress,
                     .digest_key = digest_key,
                     .sql_key = sql_key,
                     .revoked = revoked,
                     .policy = std::move(now)},
                    purpose);
    passage.result.call_id = request.call_id.empty() ? make_call_id() : request.call_id;
    passage.result.tool = to_utf8(request.tool);
    passage.result.caller = to_utf8(request.caller);
    passage.result.policy = passage.shared.rules.hash;
    return passage;
  }

  // identify() finds caller and tool; with both, everything that is in force for them is known.
  static Pass way_in(Passage& passage) {
    if (Pass block = kWayIn[0].pass(passage)) return block;
    if (passage.tool != nullptr)
      passage.envelope = static_cast<const InForce*>(passage.shared.policy.get())
                             ->envelopes.find(passage.shared.rules, *passage.tool, *passage.caller);
    return pass_all(std::span(kWayIn).subspan(1), passage);
  }
};

Boundary::Boundary(std::unique_ptr<State> state) : state_(std::move(state)) {}
Boundary::Boundary(Boundary&&) noexcept = default;
Boundary& Boundary::operator=(Boundary&&) noexcept = default;
Boundary::~Boundary() = default;

Policy Boundary::policy() const {
  const std::lock_guard lock(state_->mutex);
  return state_->policy->policy;
}

AuditLag Boundary::audit_lag() const {
  const WriteWatch::Lag lag = state_->writes.lag();
  return {.waiting = lag.waiting, .oldest_us = lag.oldest_us};
}

Result<Boundary> Boundary::open(Policy policy, BoundaryOptions options) {
  const LedgerOptions ledger_options{.lockout = policy.rules().lockout};
  auto state = std::make_unique<State>();
  const bool named = !options.program.empty();
  state->program = options.program.empty() ? own_program() : std::move(options.program);
  state->launcher = std::move(options.launcher);
  state->quick = options.quick;
  // Another program would be started again, as itself.
  const bool is_ours = named || state->program.ends_with("/sallyport");
  state->egress = std::make_unique<SharedEgress>(is_ours ? state->program : std::string());
  state->policy = std::make_shared<InForce>(std::move(policy));
  if (options.state.empty()) {
    state->ledger = memory_ledger(ledger_options);
    state->journal = no_journal();
    return Boundary(std::move(state));
  }
  auto directory = open_state_directory(options.state);
  if (!directory) return std::unexpected(directory.error());
  auto key = state_secret(directory->get(), "digest-key");
  if (!key) return std::unexpected(key.error());
  auto sql_key = state_secret(directory->get(), kPostgresSecret);
  if (!sql_key) return std::unexpected(sql_key.error());
  auto ledger = options.serves ? service_ledger(directory->get(), ledger_options)
                               : directory_ledger(directory->get(), ledger_options);
  if (!ledger) return std::unexpected(ledger.error());
  AuditOptions audit;
  audit.outside_file = std::move(options.checkpoint_file);
  audit.on_checkpoint = std::move(options.on_checkpoint);
  auto journal = audit_journal(directory->get(), std::move(audit));
  if (!journal) return std::unexpected(journal.error());
  state->digest_key = std::move(*key);
  state->sql_key = std::move(*sql_key);
  state->revoked = revoked_directory(options.state);
  state->ledger = std::move(*ledger);
  state->journal = std::move(*journal);
  return Boundary(std::move(state));
}

Result<void> Boundary::add(Function function) {
  InForce& now = *state_->policy;
  const std::string name = function.name;
  if (now.functions.contains(name))
    return fail(Reason::argument, "there is a function " + quoted(name) + " already");
  auto made = make_function_tool(now.policy.rules(), function, state_->quick);
  if (!made) return std::unexpected(made.error());
  now.functions.emplace(name, std::move(*made));
  state_->functions.push_back(std::move(function));
  return {};
}

Result<void> Boundary::replace(Policy policy) {
  auto next = std::make_shared<InForce>(std::move(policy));
  for (const Function& function : state_->functions) {
    auto made = make_function_tool(next->policy.rules(), function, state_->quick);
    if (!made) return std::unexpected(made.error());
    next->functions.emplace(function.name, std::move(*made));
  }
  state_->ledger->set_lockout(next->policy.rules().lockout);
  const std::lock_guard lock(state_->mutex);
  state_->policy.swap(next);
  return {};
}

Result<std::vector<LockedOut>> Boundary::locked_out() {
  return state_->ledger->locked_out();
}

Result<bool> Boundary::lift(const std::string& who) {
  return state_->ledger->lift(who);
}

void Boundary::tick() {
  state_->journal->tick();
}

CallResult Boundary::decide(const CallRequest& request) const {
  Passage passage = state_->enter(request, kNoStreams, Passage::Purpose::decide);
  if (Pass block = State::way_in(passage)) stop(passage, std::move(*block));
  return std::move(passage.result);
}

CallResult Boundary::call(const CallRequest& request, const CallStreams& streams) {
  CallTrip trip([&] { return state_->enter(request, streams); });
  CallTrip* const trips[] = {&trip};
  begin(trip);
  if (trip.goes_on) ask_ahead(trip.passage);
  record({}, trips);
  run_if_let_in(trip);
  record(trips, {});
  return std::move(trip.passage.result);
}

void Boundary::call_together(std::span<TogetherCall> calls) {
  std::vector<TogetherCall*> all;
  all.reserve(calls.size());
  for (TogetherCall& call : calls)
    all.push_back(&call);
  end_and_begin({}, all);
  run_begun(all);
  end_and_begin(all, {});
}

void Boundary::pass_gates(TogetherCall& call) {
  call.trip = std::allocate_shared<CallTrip>(
      RecycledAllocator<CallTrip>(), [&] { return state_->enter(call.request, call.streams); });
  begin(*call.trip);
}

void Boundary::give_up(TogetherCall& call) {
  if (call.trip != nullptr && std::exchange(call.trip->goes_on, false)) settle(*call.trip);
  call.trip.reset();
}

void Boundary::end_and_begin(std::span<TogetherCall* const> ran,
                             std::span<TogetherCall* const> next) {
  const std::int64_t now = monotonic_ns();
  for (TogetherCall* call : next) {
    if (call->trip == nullptr)
      pass_gates(*call);
    else
      call->trip->passage.stage_begin = now;  // it has waited since, which is no stage of its own
    if (call->trip->goes_on) ask_ahead(call->trip->passage);
  }
  record(trips_of(ran), trips_of(next));
  for (TogetherCall* call : ran)
    call->result = std::move(call->trip->passage.result);
}

void Boundary::run_begun(std::span<TogetherCall* const> calls) {
  for (const TogetherCall* call : calls)
    run_if_let_in(*call->trip);
}

bool Boundary::is_inline(const std::string& tool) const {
  const std::lock_guard lock(state_->mutex);
  const Functions& functions = state_->policy->functions;
  const auto function = functions.find(tool);
  return function != functions.end() && function->second.tool.tier != Tier::thread;
}

bool Boundary::is_quick(const TogetherCall& call) const {
  const RegisteredFunction* const function = call.trip->passage.function;
  return function != nullptr && function->pace->is_quick() && state_->journal->is_quick();
}

// In the order of `outcomes` and then `intents`.
std::vector<Result<void>> Boundary::State::write(std::span<CallTrip* const> outcomes,
                                                 std::span<CallTrip* const> intents) {
  const std::size_t count = outcomes.size() + intents.size();
  if (count == 0) return {};
  try {
    const WriteWatch::Write watched(writes, count);
    std::vector<const DraftRecord*> drafts;
    std::vector<std::pair<std::size_t, Error>> refused;  // that cannot be written at all
    drafts.reserve(count);
    const auto add = [&](CallTrip& trip, Result<DraftRecord> made) {
      if (made)
        drafts.push_back(&(trip.record = std::move(*made)));
      else
        refused.emplace_back(drafts.size() + refused.size(), std::move(made.error()));
    };
    for (CallTrip* trip : outcomes)
      add(*trip, outcome_record(trip->passage, std::move(trip->record)));
    if (!intents.empty()) {
      const auto writer = journal->writer();
      for (CallTrip* trip : intents)
        add(*trip,
            writer ? intent_record(trip->passage, *writer) : std::unexpected(writer.error()));
    }
    auto results = journal->write_drafts(drafts);
    for (auto& [place, error] : refused)
      results.insert(results.begin() + static_cast<std::ptrdiff_t>(place),
                     std::unexpected(std::move(error)));
    return results;
  } catch (const std::exception& error) {  // out of memory
    return {count, fail(Reason::unavailable, to_utf8(error.what()))};
  }
}

// The gates. One that is stopped here is settled here: what it held is free at once, and a denial
// counts for the next call.
void Boundary::begin(CallTrip& trip) {
  guard(trip.passage, [&] { go_in(trip); });
  if (!trip.goes_on) settle(trip);
}

void Boundary::stop_unrecorded(CallTrip& trip, const Error& error) {
  trip.goes_on = false;
  stop(trip.passage,
       {Reason::unavailable, "audit", "the call cannot be recorded: " + error.message, error.hint});
  settle(trip);
}

// Between the steps of every call: `next` have passed the gates, `ran` come out. Their records are
// written at once.
void Boundary::record(std::span<CallTrip* const> ran, std::span<CallTrip* const> next) {
  std::vector<CallTrip*> going;
  going.reserve(next.size());
  for (CallTrip* trip : next)
    if (trip->goes_on) going.push_back(trip);
  const auto written = state_->write(ran, going);
  const std::int64_t now = monotonic_ns();
  for (std::size_t i = 0; i < ran.size(); ++i) {
    Passage& passage = ran[i]->passage;
    if (!written[i]) {
      const Error& error = written[i].error();
      stop(passage, {Reason::unavailable, "audit",
                     std::string(ran[i]->ran ? "the call ran" : "the call was refused") +
                         ", but its outcome cannot be recorded: " + error.message,
                     error.hint, ran[i]->ran ? Status::error : Status::blocked});
    }
    passage.note("outcome", now);
    passage.result.stages = std::move(passage.stages);
  }
  for (std::size_t i = 0; i < going.size(); ++i) {
    if (const auto& intent = written[ran.size() + i]; intent)
      going[i]->passage.note("intent", now);
    else
      stop_unrecorded(*going[i], intent.error());
  }
}

void Boundary::run_if_let_in(CallTrip& trip) {
  if (!trip.goes_on) return;
  guard(trip.passage, [&] { run(trip); });
  settle(trip);
}

CallResult Boundary::refuse(const CallRequest& request, Reason reason, std::string rule,
                            std::string message, std::string hint) {
  CallTrip trip([&] { return state_->enter(request, kNoStreams); });
  Passage& passage = trip.passage;
  // For the record: who it was, as far as that is known.
  [[maybe_unused]] const Pass unknown = identify(passage);
  // Of an address that is locked out nothing more is recorded: it could fill the disk.
  if (passage.caller == nullptr)
    if (Pass locked = admit_stranger(passage)) {
      stop(passage, std::move(*locked));
      return std::move(passage.result);
    }
  stop(passage, {reason, std::move(rule), std::move(message), std::move(hint)});
  settle(trip);
  CallTrip* const trips[] = {&trip};
  if (const auto written = state_->write(trips, {}).front(); !written)
    stop(passage, {Reason::unavailable, "audit",
                   "the call was refused, and that cannot be recorded: " + written.error().message,
                   written.error().hint});
  return std::move(passage.result);
}

void Boundary::go_in(CallTrip& trip) {
  Passage& passage = trip.passage;
  Pass refused = State::way_in(passage);
  passage.note("gates");
  if (refused) return stop(passage, std::move(*refused));
  if (passage.purpose == Passage::Purpose::dry_run)
    passage.result.message = "dry run: this call would run";
  else
    trip.goes_on = true;
}

void Boundary::run(CallTrip& trip) {
  Passage& passage = trip.passage;
  Pass not_run = run_tool(passage);
  passage.note("run");
  if (not_run) return stop(passage, std::move(*not_run));
  if (Pass block = pass_all(kWayOut, passage)) {
    stop(passage, std::move(*block));
    // What a gate says of a result may quote it.
    for (std::string* text : {&passage.result.message, &passage.result.hint})
      if (!make_shown(passage.redactions, *text, passage.result.redactions))
        *text = "the result is withheld";
  }
  passage.note("way_out");
  trip.ran = true;
}

void Boundary::settle(CallTrip& trip) {
  Ledger& ledger = *state_->ledger;
  Passage& passage = trip.passage;
  CallResult& result = passage.result;
  if (passage.ticket && trip.ran)
    ledger.settle(*passage.ticket,
                  {.cpu = Duration(result.usage.cpu_user_us + result.usage.cpu_system_us),
                   .sent = bytes_sent(passage)});
  else if (passage.ticket) {
    ledger.withdraw(*passage.ticket);
    if (result.rate_remaining) ++*result.rate_remaining;
  }
  // A name that is no caller is not counted, but the address is: invented names cost nothing, and
  // would fill the list.
  if (result.status == Status::blocked && is_denial(result.reason))
    ledger.denied(passage.caller != nullptr ? passage.caller->name : "", counted_address(passage));
}

}  // namespace sallyport
