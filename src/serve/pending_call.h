// A call that came over HTTP, from its request to its answer.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sallyport/boundary.h"
#include "sallyport/policy.h"
#include "serve/call_board.h"

namespace sallyport {

struct Service;

struct PendingCall {
  using Parse = Result<void> (*)(std::string_view body, CallRequest& request);

  Service& service;
  Policy policy;  // in force when it came
  std::string tenant;
  TogetherCall made;
  std::shared_ptr<ServedCall> served;
  // The rest of the request waits as it came: values of JSON can be ten times as large.
  std::string body;
  Parse parse;
  bool streaming = false;
  std::int64_t arrived_ns = 0;
};

// Takes the call through the boundary and gives its answer.
void run_call(PendingCall& call);
// The same for many in steps: gives those that have run their answers, and runs the next ones.
void step_together(std::span<const std::shared_ptr<PendingCall>> ran,
                   std::span<const std::shared_ptr<PendingCall>> next);

// The answer to a call for which there is no room.
void turn_away(PendingCall& call);

// The rule of a body that cannot be read.
constexpr const char* kMalformedBody = "request.body";

}  // namespace sallyport
