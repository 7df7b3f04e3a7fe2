#include "serve/pending_call.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <thread>

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
  const CallLabels labels{.tool = known ? request.tool : "", .tenant = tenant};
  service.metrics.observe(result, labels, total_us);
  if (service.traces != nullptr) service.traces->record(result, labels, request.trace, total_us);
}

// The call has its result; nobody has been told yet.
void end(PendingCall& call, const CallResult& result) {
  tell(call.service, call.policy, call.made.request, call.tenant, result,
       (monotonic_ns() - call.arrived_ns) / 1000);
  call.served->end(result);
  call.service.board.ended(call.served, std::chrono::steady_clock::now());
}

void finish(PendingCall& call, const CallResult& result) {
  end(call, result);
  call.served->announce(result);
}

// False: the body cannot be read, and the call has its answer.
bool read_body(PendingCall& call) {
  CallRequest& request = call.made.request;
  if (auto parsed = call.parse(call.body, request); !parsed) {
    const Error& error = parsed.error();
    finish(call, call.service.boundary.refuse(request, Reason::argument, kMalformedBody,
                                              error.message, error.hint));
    return false;
  }
  call.body = {};
  return true;
}

}  // namespace

void run_call(PendingCall& call) {
  if (!read_body(call)) return;
  call.made.streams.cancel = call.served->cancel_descriptor();
  Boundary& boundary = call.service.boundary;
  finish(call, call.streaming ? run_streaming(boundary, *call.served, call.made.request)
                              : boundary.call(call.made.request, call.made.streams));
}

void step_together(std::span<const std::shared_ptr<PendingCall>> ran,
                   std::span<const std::shared_ptr<PendingCall>> next) {
  std::vector<PendingCall*> ending;
  std::vector<TogetherCall*> done, going;
  for (const auto& call : ran) {
    if (call->made.trip == nullptr) continue;  // its body could not be read
    ending.push_back(call.get());
    done.push_back(&call->made);
  }
  for (const auto& call : next) {
    if (!read_body(*call)) continue;
    // A function cannot be stopped; one that has not begun can.
    if (call->served->is_cancelled()) call->made.streams.cancel = call->served->cancel_descriptor();
    going.push_back(&call->made);
  }
  Boundary& boundary = (ran.empty() ? next : ran).front()->service.boundary;
  boundary.end_and_begin(done, going);
  for (PendingCall* call : ending)
    end(*call, call->made.result);
  {
    const AnswersTogether at_once;
    for (PendingCall* call : ending)
      call->served->announce(call->made.result);
  }
  boundary.run_begun(going);
}

void turn_away(PendingCall& call) {
  finish(call, call.service.boundary.refuse(call.made.request, Reason::concurrency, "service.queue",
                                            "too many calls of this tenant are waiting",
                                            "wait for some of them to end"));
}

}  // namespace sallyport
