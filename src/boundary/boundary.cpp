#include "sallyport/boundary.h"

#include <unistd.h>

#include <shared_mutex>
#include <unordered_map>

#include "access/ledger.h"
#include "access/state_directory.h"
#include "audit/journal.h"
#include "base/call_id.h"
#include "base/text.h"
#include "boundary/function_call.h"
#include "boundary/gates.h"
#include "boundary/records.h"

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
    {"redact", redact},      // is anything in it that must not leave?
    {"trim", trim},          // is it small enough?
};

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

Pass pass_all(std::span<const Gate> gates, Passage& passage) {
  for (const Gate& gate : gates)
    if (Pass block = gate.pass(passage)) return block;
  return {};
}

}  // namespace

struct Boundary::State {
  State(Policy loaded, std::string path) : policy(std::move(loaded)), program(std::move(path)) {}

  Policy policy;
  std::string program;
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<Journal> journal;
  Functions functions;
  mutable Envelopes envelopes;

  Passage enter(const CallRequest& request, const CallStreams& streams,
                Passage::Purpose purpose) const {
    Passage passage(
        request, streams,
        {.rules = policy.rules(), .functions = functions, .ledger = *ledger, .program = program},
        purpose);
    passage.result.call_id = make_call_id();
    passage.result.tool = to_utf8(request.tool);
    passage.result.caller = to_utf8(request.caller);
    passage.result.policy = policy.hash();
    return passage;
  }

  // identify() finds caller and tool; with both, everything that is in force for them is known.
  Pass way_in(Passage& passage) const {
    if (Pass block = kWayIn[0].pass(passage)) return block;
    if (passage.tool != nullptr)
      passage.envelope = envelopes.find(policy.rules(), *passage.tool, *passage.caller);
    return pass_all(std::span(kWayIn).subspan(1), passage);
  }
};

Boundary::Boundary(std::unique_ptr<State> state) : state_(std::move(state)) {}
Boundary::Boundary(Boundary&&) noexcept = default;
Boundary& Boundary::operator=(Boundary&&) noexcept = default;
Boundary::~Boundary() = default;

const Policy& Boundary::policy() const {
  return state_->policy;
}

Result<Boundary> Boundary::open(Policy policy, BoundaryOptions options) {
  const LedgerOptions ledger_options{.lockout = policy.rules().lockout};
  auto state = std::make_unique<State>(
      std::move(policy), options.program.empty() ? own_program() : std::move(options.program));
  if (options.state.empty()) {
    state->ledger = memory_ledger(ledger_options);
    state->journal = no_journal();
    return Boundary(std::move(state));
  }
  auto directory = open_state_directory(options.state);
  if (!directory) return std::unexpected(directory.error());
  auto ledger = directory_ledger(directory->get(), ledger_options);
  if (!ledger) return std::unexpected(ledger.error());
  auto journal = file_journal(directory->get());
  if (!journal) return std::unexpected(journal.error());
  state->ledger = std::move(*ledger);
  state->journal = std::move(*journal);
  return Boundary(std::move(state));
}

Result<void> Boundary::add(Function function) {
  const std::string name = function.name;
  if (state_->functions.contains(name))
    return fail(Reason::argument, "there is a function " + quoted(name) + " already");
  auto made = make_function_tool(state_->policy.rules(), std::move(function));
  if (!made) return std::unexpected(made.error());
  state_->functions.emplace(name, std::move(*made));
  return {};
}

CallResult Boundary::decide(const CallRequest& request) const {
  Passage passage = state_->enter(request, {}, Passage::Purpose::decide);
  if (Pass block = state_->way_in(passage)) stop(passage, std::move(*block));
  return std::move(passage.result);
}

CallResult Boundary::call(const CallRequest& request, const CallStreams& streams) {
  const auto purpose = request.dry_run ? Passage::Purpose::dry_run : Passage::Purpose::run;
  Passage passage = state_->enter(request, streams, purpose);
  bool ran = false;
  try {
    ran = pass(passage);
  } catch (const std::exception& error) {  // out of memory, no more threads
    stop(passage, {Reason::internal, "boundary", to_utf8(error.what()),
                   "the call may have run; look into its records", Status::error});
  }
  settle(passage, ran);

  if (auto written = state_->journal->write(outcome_record(passage)); !written)
    stop(passage, {Reason::unavailable, "audit",
                   std::string(ran ? "the call ran" : "the call was refused") +
                       ", but its outcome cannot be recorded: " + written.error().message,
                   written.error().hint, ran ? Status::error : Status::blocked});
  return std::move(passage.result);
}

bool Boundary::pass(Passage& passage) {
  if (Pass block = state_->way_in(passage)) return stop(passage, std::move(*block)), false;
  if (passage.purpose == Passage::Purpose::dry_run) {
    passage.result.message = "dry run: this call would run";
    return false;
  }
  if (auto written = state_->journal->write(intent_record(passage)); !written)
    return stop(passage,
                {Reason::unavailable, "audit",
                 "the call cannot be recorded: " + written.error().message, written.error().hint}),
           false;
  if (Pass block = run_tool(passage)) return stop(passage, std::move(*block)), false;
  if (Pass block = pass_all(kWayOut, passage)) stop(passage, std::move(*block));
  return true;
}

void Boundary::settle(Passage& passage, bool ran) {
  Ledger& ledger = *state_->ledger;
  CallResult& result = passage.result;
  if (passage.ticket && ran)
    ledger.settle(*passage.ticket, Duration(result.usage.cpu_user_us + result.usage.cpu_system_us));
  else if (passage.ticket) {
    ledger.withdraw(*passage.ticket);
    if (result.rate_remaining) ++*result.rate_remaining;
  }
  // A name that is no caller is not counted, but the address is: invented names cost nothing, and
  // would fill the list.
  if (result.status == Status::blocked && is_denial(result.reason))
    ledger.denied(passage.caller != nullptr ? passage.caller->name : "", passage.address);
}

}  // namespace sallyport
