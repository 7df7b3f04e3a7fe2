#include "serve/call_round.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "serve/service.h"

namespace sallyport {
namespace {

using Call = std::shared_ptr<PendingCall>;

// A larger body would keep the other connections of the thread waiting.
constexpr std::size_t kSmallBody = 4096;
// Calls that one round begins; so long at most do other connections wait.
constexpr std::size_t kTogether = 32;

struct Gathered {
  std::size_t bytes;  // that came with it
  Call call;
  bool read = false;  // its body, for the gates
};

// What a thread has in hand. All of it is of one service.
struct Hand {
  std::vector<Gathered> gathered;
  bool goes_on = false;    // its next round will come
  std::size_t passed = 0;  // of those gathered, that have been at the gates
  std::size_t seen = 0;    // of those gathered, when that was last looked at
};
thread_local Hand hand;

// False: there is no memory for it now. What such a call has not come to is done in a lane.
bool done(const auto& step) {
  try {
    step();
    return true;
  } catch (...) {
    return false;
  }
}

// One that cannot be read has to be recorded, which takes its time: it comes to that later.
bool is_read(PendingCall& call) {
  bool read = false;
  return call.body.size() <= kSmallBody &&
         done([&] { read = call.parse(call.body, call.made.request).has_value(); }) && read;
}

// Takes those who are new through the gates. One step of all before the next step: the program is
// far larger than the cache of the processor, and each step finds there what it needs.
void pass_gates() {
  const std::span fresh = std::span(hand.gathered).subspan(hand.passed);
  for (Gathered& each : fresh)
    each.read = is_read(*each.call);
  for (const auto& [bytes, call, read] : fresh) {
    if (!read) continue;
    Boundary& boundary = call->service.boundary;
    if (done([&] { boundary.pass_gates(call->made); }))
      call->body = {};
    else
      boundary.give_up(call->made);
  }
  hand.passed = hand.gathered.size();
}

// A disk that takes its time leaves calls to the lanes, too: while it writes, they gather the next
// calls of all threads.
bool is_quick(const PendingCall& call) {
  return call.made.trip != nullptr && call.service.boundary.is_quick(call.made);
}

void push_to_lanes(std::vector<CallLanes::Arrival> slow) {
  if (slow.empty()) return;
  slow.front().call->service.lanes.push(slow);
  for (const auto& left : slow)
    turn_away(left.call);
}

// The calls of the next round; what is not for this thread is in the lanes then.
std::vector<Call> take_next() {
  std::vector<Call> next;
  if (hand.gathered.empty()) return next;
  std::vector<Gathered> all = std::exchange(hand.gathered, {});
  const PendingCall& first = *all.front().call;
  const bool one_tenant = std::ranges::all_of(
      all, [&](const Gathered& each) { return each.call->tenant == first.tenant; });
  std::vector<CallLanes::Arrival> slow;
  next.reserve(std::min(all.size(), kTogether));
  for (auto& [bytes, call, read] : all) {
    if (!one_tenant || !is_quick(*call)) {
      std::string tenant = call->tenant;
      slow.push_back({.tenant = std::move(tenant), .bytes = bytes, .call = std::move(call)});
    } else if (next.size() < kTogether) {
      next.push_back(std::move(call));
    } else {
      hand.gathered.push_back({.bytes = bytes, .call = std::move(call)});
    }
  }
  hand.passed = hand.gathered.size();
  push_to_lanes(std::move(slow));
  return next;
}

void go_round();

// Behind everything that is ready now: it may come along.
void go_on() {
  if (std::exchange(hand.goes_on, true)) return;
  try {
    after_these_requests(go_round);
  } catch (...) {  // no memory: what is in hand would wait for it for ever
    go_round();
  }
}

void go_round() {
  hand.goes_on = false;
  pass_gates();
  // What came while others passed the gates comes along. The fewer rounds there are, the less often
  // clients are woken, too. A lane has its own ways to wait for others.
  if (hand.gathered.size() > hand.seen && hand.gathered.size() < kTogether &&
      is_quick(*hand.gathered.front().call)) {
    hand.seen = hand.gathered.size();
    return go_on();
  }
  hand.seen = 0;
  std::vector<Call> calls = take_next();
  end_and_begin({}, calls);
  for (const Call& call : calls)
    run_begun(call);
  end_and_begin(std::move(calls), {});
  if (!hand.gathered.empty()) go_on();
}

}  // namespace

void gather(std::shared_ptr<PendingCall> call) {
  const std::size_t bytes = call->body.size();
  hand.gathered.push_back({.bytes = bytes, .call = std::move(call)});
  go_on();
}

}  // namespace sallyport
