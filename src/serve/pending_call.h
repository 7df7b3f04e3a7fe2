// A call that came over HTTP, from its request to its answer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "http/server.h"
#include "sallyport/boundary.h"
#include "sallyport/policy.h"
#include "serve/call_board.h"

namespace sallyport {

struct Service;

struct PendingCall {
  using Parse = Result<void> (*)(std::string_view body, CallRequest& request);
  using Respond = HttpResponse (*)(const CallResult& result, const EndedCall& ended);

  // Large, and so filled in where it stays.
  PendingCall(Service& of, Policy in_force) : service(of), policy(std::move(in_force)) {}

  Service& service;
  Policy policy;  // in force when it came
  std::string tenant;
  TogetherCall made;
  std::shared_ptr<ServedCall> served;
  // The rest of the request waits as it came: values of JSON can be ten times as large.
  std::string body;
  Parse parse = nullptr;
  Respond respond = nullptr;
  std::optional<Responder> responder;  // until the answer is given; none: it goes out as events
  bool streaming = false;
  std::int64_t arrived_ns = 0;
};

// Takes the call through the boundary and gives its answer.
void run_call(const std::shared_ptr<PendingCall>& call);

// The same in steps, for many calls of functions that are done at once (call_round.h).
// Gives those that have run their answers, and takes the next ones as far as their records.
void end_and_begin(std::vector<std::shared_ptr<PendingCall>> ran,
                   std::span<const std::shared_ptr<PendingCall>> next);
void run_begun(const std::shared_ptr<PendingCall>& call);

// The answer to a call for which there is no room.
void turn_away(const std::shared_ptr<PendingCall>& call);

// The rule of a body that cannot be read.
constexpr const char* kMalformedBody = "request.body";

}  // namespace sallyport
