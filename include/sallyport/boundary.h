// The boundary between an agent and its tools. One function, call(), owns the path of a call; no
// door has a way round it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sallyport/call.h"
#include "sallyport/error.h"
#include "sallyport/function.h"
#include "sallyport/policy.h"

namespace sallyport {

struct LockedOut;  // src/access/ledger.h
struct Passage;    // one call on its way through the gates: src/boundary/passage.h

// Which inline functions a service may run on a thread that serves other connections too: those
// that take no longer than `usual` on average, and have not taken longer than `most`. Zero: none.
struct QuickFunctions {
  std::chrono::microseconds usual{50}, most{10'000};
};

struct BoundaryOptions {
  // Where rates, lock-outs and records are kept, to be shared by every process that names the same
  // directory. Empty: in memory, for as long as the boundary lives, and without records.
  std::string state;
  // The sallyport program, which the file tools run in their cells, and which serves the network of
  // tools that reach hosts. Empty: this program, if it is sallyport itself.
  std::string program;
  // This process alone uses the state directory for as long as the boundary lives: counting is then
  // done in memory.
  bool serves = false;
  // Where each signed checkpoint of the records goes too: it is appended to a file, and given to a
  // function, which must not wait for anything.
  std::string checkpoint_file;
  std::function<void(const std::string& tenant, const std::string& note)> on_checkpoint;
  // The socket of a launcher process that makes the cells. Empty: this process makes them.
  std::string launcher;
  QuickFunctions quick = {};
};

// Records that calls wait for: how many, and since when the oldest.
struct AuditLag {
  std::uint64_t waiting = 0;
  std::int64_t oldest_us = 0;
};

// Streams of a call while it runs; -1: none.
struct CallStreams {
  int cancel = -1;  // becomes readable when the caller wants the call to end
  // What the tool writes, as it comes, up to the limit max_output. Nothing is written if a gate of
  // the way out has to see all of it first.
  int output = -1, error = -1;
};

struct CallTrip;  // of the boundary: how far a call came

// One of several calls that are made together.
struct TogetherCall {
  CallRequest request;
  CallStreams streams = {};
  CallResult result = {};               // that it gets
  std::shared_ptr<CallTrip> trip = {};  // since it passed the gates
};

class Boundary {
 public:
  // Fails when the state directory cannot be used.
  [[nodiscard]] static Result<Boundary> open(Policy policy, BoundaryOptions options = {});
  Boundary(Boundary&&) noexcept;
  Boundary& operator=(Boundary&&) noexcept;
  ~Boundary();

  // Makes a function of this program a tool. Not to be called while calls are made. Fails for a
  // name that is taken, a schema that is wrong, or a policy that forbids it.
  [[nodiscard]] Result<void> add(Function function);

  // Takes one call through every gate, runs it, and takes its result through every gate back.
  // Always an answer. Threads may call at the same time.
  [[nodiscard]] CallResult call(const CallRequest& request, const CallStreams& streams = {});

  // The same for several calls, one after the other, that wait for their records together: twice in
  // all, however many they are. For functions that are done at once; a slow one holds up the rest.
  void call_together(std::span<TogetherCall> calls);
  // The same in steps, for calls that keep coming: the outcomes of one group are recorded with the
  // intents of the next, in one wait. end_and_begin() gives the calls that have run their results,
  // and takes others through the gates; run_begun() runs those. A call stays where it is until it
  // has its result, and is made once. It may have passed the gates before, on another thread: that
  // waits for nothing but short locks.
  void pass_gates(TogetherCall& call);
  // One that passed the gates is not made after all: what it held is given back.
  void give_up(TogetherCall& call);
  void end_and_begin(std::span<TogetherCall* const> ran, std::span<TogetherCall* const> next);
  void run_begun(std::span<TogetherCall* const> calls);
  // Whether a call of that tool runs on the thread that makes it.
  [[nodiscard]] bool is_inline(const std::string& tool) const;
  // Whether the function of a call that passed the gates, and the disk of the records, have been so
  // quick so far that a thread may take it further which others wait for.
  [[nodiscard]] bool is_quick(const TogetherCall& call) const;

  // The answer to a call that a door cannot let in: recorded, and counted like any other refusal.
  [[nodiscard]] CallResult refuse(const CallRequest& request, Reason reason, std::string rule,
                                  std::string message, std::string hint);

  // What call() would decide, as far as the policy alone knows: nothing is run, counted or
  // recorded. The status is success, blocked or pending.
  [[nodiscard]] CallResult decide(const CallRequest& request) const;

  // Who is locked out, and the end of it; whether `who` was.
  [[nodiscard]] Result<std::vector<LockedOut>> locked_out();
  [[nodiscard]] Result<bool> lift(const std::string& who);

  // To be called every second or so by a program that lives long: makes the checkpoints of the
  // records that time asks for.
  void tick();

  // Puts another policy in force for the calls that begin from now on; those in flight keep theirs.
  // Fails, and changes nothing, if a function that was added does not fit it.
  [[nodiscard]] Result<void> replace(Policy policy);

  // The policy in force.
  [[nodiscard]] Policy policy() const;

  // How far the disk is behind with the records of calls.
  [[nodiscard]] AuditLag audit_lag() const;

 private:
  struct State;
  explicit Boundary(std::unique_ptr<State> state);
  void begin(CallTrip& trip);
  void stop_unrecorded(CallTrip& trip, const Error& error);
  void go_in(CallTrip& trip);
  void run(CallTrip& trip);
  void settle(CallTrip& trip);
  void record(std::span<CallTrip* const> ran, std::span<CallTrip* const> next);
  void run_if_let_in(CallTrip& trip);
  std::unique_ptr<State> state_;
};

}  // namespace sallyport
