#include "serve/pending_call.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "policy/rules.h"
#include "serve/service.h"

namespace sallyport {
namespace {

// Reads what the tool writes, until both streams end.
void relay(ServedCall& call, Fd output, Fd error) {
  struct {
    const char* name;
    Fd fd;
  } streams[] = {{"stdout", std::move(output)}, {"stderr", std::move(error)}};
  char piece[16384];
  while (streams[0].fd || streams[1].fd) {
    pollfd waiting[] = {{streams[0].fd.get(), POLLIN, 0}, {streams[1].fd.get(), POLLIN, 0}};
    if (::poll(waiting, 2, -1) < 0 && errno != EINTR) return;
    for (std::size_t i = 0; i < 2; ++i) {
      if (!streams[i].fd || waiting[i].revents == 0) continue;
      const ssize_t size = ::read(streams[i].fd.get(), piece, sizeof(piece));
      if (size > 0)
        call.add_output(streams[i].name, {piece, static_cast<std::size_t>(size)});
      else if (size == 0 || errno != EINTR)
        streams[i].fd.reset();
    }
  }
}

bool make_pipe(Fd& read_end, Fd& write_end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  read_end = Fd(ends[0]);
  write_end = Fd(ends[1]);
  return true;
}

CallResult run_streaming(Boundary& boundary, ServedCall& call, const CallRequest& request) {
  Fd output, output_write, error, error_write;
  CallStreams streams{.cancel = call.cancel_descriptor()};
  if (!make_pipe(output, output_write) || !make_pipe(error, error_write))
    return boundary.call(request, streams);  // nothing is lost: all of it is in the result
  streams.output = output_write.get();
  streams.error = error_write.get();
  std::thread reader([&call, output = std::move(output), error = std::move(error)]() mutable {
    relay(call, std::move(output), std::move(error));
  });
  CallResult result = boundary.call(request, streams);
  output_write.reset();
  error_write.reset();
  reader.join();
  return result;
}

// Counts and traces a call that has ended. A name that a client made up must not become a label.
void tell(Service& service, const Policy& policy, const CallRequest& request,
          const std::string& tenant, const CallResult& result, std::int64_t total_us) {
  const bool known = !result.tier.empty() || policy.rules().tools.contains(request.tool);
  const CallLabels labels{.tool = known ? std::string_view(request.tool) : "", .tenant = tenant};
  service.metrics.observe(result, labels, total_us);
  if (service.traces != nullptr) service.traces->record(result, labels, request.trace, total_us);
}

// The call has its result, which is kept for those who ask later.
std::shared_ptr<const EndedCall> end(PendingCall& call) {
  const CallResult& result = call.made.result;
  const auto now = std::chrono::steady_clock::now();
  tell(call.service, call.policy, call.made.request, call.tenant, result,
       (std::chrono::nanoseconds(now.time_since_epoch()).count() - call.arrived_ns) / 1000);
  auto ended = call.served->end(result);
  call.service.board.ended(call.served, now);
  return ended;
}

HttpResponse respond(PendingCall& call, const EndedCall& ended) {
  HttpResponse response = call.respond(call.made.result, ended);
  call.service.metrics.http_status(response.status);
  return response;
}

// More of a result would keep the other connections of its thread waiting.
constexpr std::size_t kSmallResult = 4096;

// Whether its text will be no longer than `left`, by estimate; that is then what is left.
bool is_small(const json::value& value, std::size_t& left) {
  const std::size_t size = 8 + (value.is_string() ? value.get_string().size() : 0);
  if (size > left) return false;
  left -= size;
  if (const json::array* array = value.if_array())
    return std::ranges::all_of(*array, [&](const auto& item) { return is_small(item, left); });
  if (const json::object* object = value.if_object())
    return std::ranges::all_of(*object, [&](const auto& member) {
      if (member.key().size() > left) return false;
      left -= member.key().size();
      return is_small(member.value(), left);
    });
  return true;
}
bool is_small(const CallResult& result) {
  std::size_t left = kSmallResult;
  return result.output.size() + result.error.size() + result.message.size() <= left &&
         result.collected.empty() && result.artifacts.empty() && result.findings.empty() &&
         (!result.data || is_small(*result.data, left));
}

// Gives the answer. A small one is made by the thread that it goes to, and the call ends there: it
// has less to do than the one that waits for the disk for everybody. Most of the call's memory
// comes from that thread, too, and is given back there.
void answer(std::shared_ptr<PendingCall> call) {
  PendingCall& own = *call;
  if (!own.responder) return static_cast<void>(end(own));
  Responder responder = *std::exchange(own.responder, std::nullopt);
  if (is_small(own.made.result))
    return responder.send([call = std::move(call)] { return respond(*call, *end(*call)); });
  auto ended = end(own);
  responder.send(
      [call = std::move(call), ended = std::move(ended)] { return respond(*call, *ended); });
}

void finish(std::shared_ptr<PendingCall> call, CallResult result) {
  call->made.result = std::move(result);
  answer(std::move(call));
}

// False: the body cannot be read, and the call has its answer.
bool read_body(const std::shared_ptr<PendingCall>& call) {
  CallRequest& request = call->made.request;
  if (auto parsed = call->parse(call->body, request); !parsed) {
    const Error& error = parsed.error();
    finish(call, call->service.boundary.refuse(request, Reason::argument, kMalformedBody,
                                               error.message, error.hint));
    return false;
  }
  call->body = {};
  return true;
}

}  // namespace

void run_call(const std::shared_ptr<PendingCall>& call) {
  if (!read_body(call)) return;
  TogetherCall& made = call->made;
  made.streams.cancel = call->served->cancel_descriptor();
  Boundary& boundary = call->service.boundary;
  if (call->streaming) return finish(call, run_streaming(boundary, *call->served, made.request));
  TogetherCall* const one[] = {&made};
  boundary.end_and_begin({}, one);
  boundary.run_begun(one);
  boundary.end_and_begin(one, {});
  // What is left of its cell goes after the answer is on its way: its end takes a processor.
  const auto left = std::exchange(made.trip, nullptr);
  answer(call);
}

void end_and_begin(std::vector<std::shared_ptr<PendingCall>> ran,
                   std::span<const std::shared_ptr<PendingCall>> next) {
  std::erase_if(ran, [](const auto& call) { return call->made.trip == nullptr; });
  std::vector<TogetherCall*> done, going;
  done.reserve(ran.size());
  going.reserve(next.size());
  for (const auto& call : ran)
    done.push_back(&call->made);
  for (const auto& call : next) {
    if (call->made.trip == nullptr && !read_body(call)) continue;
    // A function cannot be stopped; one that has not begun can.
    if (call->served->is_cancelled()) call->made.streams.cancel = call->served->cancel_descriptor();
    going.push_back(&call->made);
  }
  if (ran.empty() && going.empty()) return;
  (ran.empty() ? next : ran).front()->service.boundary.end_and_begin(done, going);
  const AnswersTogether at_once;
  for (auto& call : ran)
    answer(std::move(call));
}

void run_begun(const std::shared_ptr<PendingCall>& call) {
  if (call->made.trip == nullptr) return;  // its body could not be read
  TogetherCall* const calls[] = {&call->made};
  call->service.boundary.run_begun(calls);
}

void turn_away(const std::shared_ptr<PendingCall>& call) {
  Boundary& boundary = call->service.boundary;
  boundary.give_up(call->made);
  finish(call, boundary.refuse(call->made.request, Reason::concurrency, "service.queue",
                               "too many calls of this tenant are waiting",
                               "wait for some of them to end"));
}

}  // namespace sallyport
