// Past calls under another policy: what would be decided differently.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "sallyport/boundary.h"

namespace sallyport {

// Calls that would be decided differently for the same cause, and one of them.
struct ReplayChange {
  std::string caller, tool;
  std::string was, now;       // "allowed", "pending", or "blocked: REASON"
  std::string rule, message;  // of the new decision, where it blocks
  std::uint64_t calls = 0;
  std::string call_id, time;  // of the first
};

class Replay {
 public:
  // `policy` is the new one. Nothing of it is run, counted or recorded.
  [[nodiscard]] static Result<Replay> begin(Policy policy);

  // One record of the log, in any order. What is no decision of a policy (rates, lock-outs, ends of
  // calls) is passed over.
  void add(const json::object& record);

  [[nodiscard]] std::vector<ReplayChange> changes() const;
  [[nodiscard]] std::uint64_t judged() const { return judged_; }
  // Calls of which too little was recorded (`audit.arguments` of the old policy) to know.
  [[nodiscard]] std::uint64_t unknown() const { return unknown_; }

 private:
  explicit Replay(Boundary boundary) : boundary_(std::move(boundary)) {}

  Boundary boundary_;
  std::map<std::string, ReplayChange> changes_;  // by all but the call
  std::uint64_t judged_ = 0, unknown_ = 0;
};

}  // namespace sallyport
