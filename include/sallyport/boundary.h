// The boundary between an agent and its tools. One function, call(), owns the path of a call; no
// door has a way round it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sallyport/call.h"
#include "sallyport/error.h"
#include "sallyport/function.h"
#include "sallyport/policy.h"

namespace sallyport {

struct Passage;  // one call on its way through the gates: src/boundary/passage.h

struct BoundaryOptions {
  // Where rates, lock-outs and records are kept, to be shared by every process that names the same
  // directory. Empty: in memory, for as long as the boundary lives, and without records.
  std::string state;
  // The sallyport program, which the file tools run in their cells. Empty: the one that this
  // library was installed with.
  std::string program;
};

// Streams of a call while it runs; -1: none. Output is passed on as it comes only if nothing in the
// policy has to see it first.
struct CallStreams {
  int cancel = -1;  // becomes readable when the caller wants the call to end
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

  // What call() would decide, as far as the policy alone knows: nothing is run, counted or
  // recorded. The status is success, blocked or pending.
  [[nodiscard]] CallResult decide(const CallRequest& request) const;

  [[nodiscard]] const Policy& policy() const;

 private:
  struct State;
  explicit Boundary(std::unique_ptr<State> state);
  bool pass(Passage& passage);  // whether the tool ran
  void settle(Passage& passage, bool ran);
  std::unique_ptr<State> state_;
};

}  // namespace sallyport
