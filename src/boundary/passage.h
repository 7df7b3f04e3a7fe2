// One call on its way through the gates: what was asked, what is known about it so far, and the
// result that is being made.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "access/ledger.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/pace.h"
#include "egress/child.h"
#include "policy/envelope.h"
#include "sallyport/boundary.h"

namespace sallyport {

class Redactions;  // src/redact/redact.h
class RemoteCell;  // src/launch/remote_cell.h

// A function of the host program, as a tool.
struct RegisteredFunction {
  Tool tool;
  std::vector<Argument> args;  // as it was registered; the tool's own may come from the file
  std::function<Result<json::value>(const json::object&)> body;
  // What it takes when it runs inline; null on a thread of its own, where it holds up nobody.
  std::shared_ptr<Pace> pace;
};

using Functions = std::map<std::string, RegisteredFunction, std::less<>>;

// What all calls of a boundary share. Thread-safe, or unchanging while calls are made.
struct Surroundings {
  const Rules& rules;
  const Functions& functions;
  Ledger& ledger;
  const std::string& program;          // of the file tools
  const std::string& launcher;         // socket; empty: cells are made by this process
  SharedEgress& egress;                // for cells that this process makes
  const std::string& digest_key;       // of the digests in records
  const std::string& sql_key;          // of the passwords at database servers
  const std::string& revoked;          // ReaderSettings::revoked
  std::shared_ptr<const void> policy;  // keeps the rules in force until the call has ended
};

struct Passage {
  enum class Purpose {
    run,
    dry_run,  // as run, counted and recorded, but nothing is run
    decide,   // ask the policy alone and touch nothing
  };

  Passage(const CallRequest& asked, const CallStreams& through, Surroundings around, Purpose what)
      : request(asked), streams(through), shared(std::move(around)), purpose(what) {
    stages.reserve(kUsualStages);
  }

  const CallRequest& request;
  const CallStreams& streams;
  Surroundings shared;
  Purpose purpose;

  // What the gates find out, in their order.
  std::string address;  // of the request, in its one spelling
  const Caller* caller = nullptr;
  const Tool* tool = nullptr;                    // none yet, or there is none of that name
  const RegisteredFunction* function = nullptr;  // of a tool that is one
  std::shared_ptr<const Envelope> envelope;
  std::optional<Ticket> ticket;
  Limits limits;
  json::object arguments;                        // validated: the only ones that run
  std::string approval_rule;                     // of screening, when it wants a person to agree
  std::shared_ptr<const Redactions> redactions;  // null: nothing is taken out of the result
  std::vector<NetworkEvent> network;             // as it was; what the caller sees is redacted
  std::shared_ptr<RemoteCell> cell;              // that was asked for ahead
  CallResult result;

  // Where the time goes: the stage that ends now has lasted since the last one ended.
  void note(std::string_view stage, std::int64_t now = monotonic_ns()) {
    stages.push_back({std::string(stage), (now - stage_begin) / 1000});
    stage_begin = now;
  }
  static constexpr std::size_t kUsualStages = 5;
  std::int64_t stage_begin = monotonic_ns();
  std::vector<Timing> stages;
};

// A gate that stops a call says why.
struct Block {
  Reason reason = Reason::internal;
  std::string rule;
  std::string message;
  std::string hint;
  Status status = Status::blocked;

  static Block from(Error error, std::string rule) {
    return {error.reason, std::move(rule), std::move(error.message), std::move(error.hint)};
  }
};

// Nothing: the call may go on.
using Pass = std::optional<Block>;

struct Gate {
  std::string_view name;
  Pass (*pass)(Passage&);
};

}  // namespace sallyport
