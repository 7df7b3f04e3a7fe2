#include "serve/call_round.h"

#include <algorithm>
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
};

// What a thread has in hand. All of it is of one service.
struct Hand {
  std::vector<Gathered> gathered;
  bool goes_on = false;  // its next round will come
  std::size_t seen = 0;  // of those gathered, when that was last looked at
};
thread_local Hand hand;

void pass_gates(PendingCall& call) {
  // One that cannot be read has to be recorded, which takes its time: it comes to that later.
  if (call.body.size() > kSmallBody || !call.parse(call.body, call.made.request)) return;
  call.body = {};
  call.service.boundary.pass_gates(call.made);
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
  for (auto& [bytes, call] : all) {
    if (!one_tenant || !is_quick(*call)) {
      std::string tenant = call->tenant;
      slow.push_back({.tenant = std::move(tenant), .bytes = bytes, .call = std::move(call)});
    } else if (next.size() < kTogether) {
      next.push_back(std::move(call));
    } else {
      hand.gathered.push_back({.bytes = bytes, .call = std::move(call)});
    }
  }
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
  pass_gates(*call);
  hand.gathered.push_back({.bytes = bytes, .call = std::move(call)});
  go_on();
}

}  // namespace sallyport
