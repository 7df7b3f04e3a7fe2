#include "serve/front.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstring>
#include <thread>

#include "access/state_directory.h"
#include "base/log.h"
#include "boundary/policy_tests.h"
#include "launch/artifact_lock.h"
#include "launch/pool_status.h"
#include "launch/remote_cell.h"
#include "serve/api.h"
#include "serve/checkpoint_sender.h"
#include "serve/front_control.h"
#include "serve/launcher_watch.h"

namespace sallyport {
namespace {

constexpr std::chrono::seconds kReloadPatience{30};  // for the keeper's answer
constexpr std::chrono::seconds kAfterCut{8};         // for results of calls that were cut

constexpr std::size_t kMostForAReader = 8 << 20;  // of a stream, that wait

// A policy that a keeper passed on; it was checked there, but this process trusts nobody with what
// it decides by.
Result<Policy> read_policy(const std::string& text, const std::string& name) {
  auto policy = Policy::parse(text, name);
  if (!policy) {
    std::string all;
    for (const PolicyProblem& problem : policy.error())
      all.append(all.empty() ? "" : "\n").append(to_text(problem));
    return fail(Reason::argument, all);
  }
  for (const PolicyTestOutcome& test : run_policy_tests(*policy))
    if (!test.passed())
      return fail(Reason::argument,
                  name + ":" + std::to_string(test.line) + ": " + test.name + ": " + test.failure);
  return std::move(*policy);
}

// The answer to a request for the policy to be read again, which comes with the control messages.
class ReloadWatch {
 public:
  explicit ReloadWatch(int control) : control_(control) {}

  Result<void> ask() {
    std::unique_lock lock(mutex_);
    const std::uint64_t before = count_;
    if (auto sent = send_control(control_, {ControlKind::reload, {}}); !sent) return sent;
    if (!changed_.wait_for(lock, kReloadPatience, [&] { return count_ != before; }))
      return fail(Reason::unavailable, "the policy file was not read in time");
    return last_;
  }
  void done(Result<void> outcome) {
    {
      const std::lock_guard lock(mutex_);
      ++count_;
      last_ = std::move(outcome);
    }
    changed_.notify_all();
  }

 private:
  int control_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t count_ = 0;
  Result<void> last_;
};

void put_in_force(const std::string& text, const FrontSettings& settings, Service& service,
                  ReloadWatch& watch) {
  auto policy = read_policy(text, settings.policy_name);
  Result<void> done =
      policy ? service.boundary.replace(*policy) : Result<void>(std::unexpected(policy.error()));
  service.metrics.reloaded(done.has_value());
  if (done)
    log_line("policy", {{"state", "in force"}, {"policy", policy->hash()}});
  else
    log_line("policy", {{"state", "refused"}, {"message", done.error().message}});
  watch.done(std::move(done));
}

// Lets calls end by themselves until the deadline, and then cuts them.
void drain(const FrontSettings& settings, Service& service, HttpServer& server) {
  service.ready = false;
  log_line("stopping", {{"calls", service.board.in_flight()}});
  server.drain(settings.drain + kAfterCut);
  const auto deadline = std::chrono::steady_clock::now() + settings.drain;
  while (service.board.in_flight() > 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  blame_the_stop();
  service.board.cancel_all();
}

void obey(const FrontSettings& settings, Service& service, ReloadWatch& watch, HttpServer& server) {
  for (;;) {
    auto message = receive_control(settings.control.get());
    if (!message || message->kind == ControlKind::stop) return drain(settings, service, server);
    if (message->kind == ControlKind::policy) put_in_force(message->text, settings, service, watch);
    if (message->kind == ControlKind::bad) {  // the keeper has logged it
      service.metrics.reloaded(false);
      watch.done(fail(Reason::argument, message->text));
    }
  }
}

void keep_ticking(Boundary& boundary, CallBoard& board, const std::stop_token& stop) {
  std::uint64_t seconds = 0;
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  while (
      !wake.wait_for(lock, stop, std::chrono::seconds{1}, [&] { return stop.stop_requested(); })) {
    boundary.tick();
    board.expire(std::chrono::steady_clock::now());
    // What fronts that were killed have left, this one's predecessor included.
    if (seconds++ % 60 == 0) sweep_artifacts();
  }
}

// A socket in the state directory, for whoever can enter it: root, and the user of the service. By
// descriptor, because the path of a unix socket may have 107 bytes only.
Result<HttpListener> open_operator_socket(int state) {
  const std::string path = "/proc/self/fd/" + std::to_string(state) + "/" + kOperatorSocket;
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  // The ledger's lock says that no other service uses this directory.
  ::unlink(path.c_str());
  if (!socket ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::chmod(path.c_str(), 0600) != 0 || ::listen(socket.get(), 64) != 0)
    return fail(Reason::unavailable, SysError{"bind", kOperatorSocket, errno});
  return HttpListener{.socket = std::move(socket), .tls = false, .operators = true};
}

int cannot_serve(const Error& error) {
  log_line("cannot serve", {{"message", error.message}, {"hint", error.hint}});
  return 1;
}

}  // namespace

int run_front(FrontSettings settings) {
  // The keeper decides when to end: a ^C at a terminal reaches all processes at once.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
    std::signal(signal, SIG_IGN);
  auto policy = read_policy(settings.policy_text, settings.policy_name);
  if (!policy) return cannot_serve(policy.error());
  auto state = open_state_directory(settings.state);
  if (!state) return cannot_serve(state.error());
  auto keys = KeyRing::open(state->get());
  if (!keys) return cannot_serve(keys.error());
  std::unique_ptr<CheckpointSender> checkpoints;
  BoundaryOptions options{.state = settings.state,
                          .program = settings.program,
                          .serves = true,
                          .checkpoint_file = settings.checkpoint_file,
                          .on_checkpoint = {},
                          .launcher = settings.launcher};
  if (!settings.checkpoint_url.empty()) {
    auto sender = CheckpointSender::open(settings.checkpoint_url);
    if (!sender) return cannot_serve(sender.error());
    checkpoints = std::move(*sender);
    options.on_checkpoint = [&checkpoints](const std::string& stream, const std::string& note) {
      checkpoints->send(stream, note);
    };
  }
  auto boundary = Boundary::open(std::move(*policy), std::move(options));
  if (!boundary) return cannot_serve(boundary.error());

  CallBoard board;
  ServiceMetrics metrics;
  std::unique_ptr<Traces> traces;
  if (!settings.otlp.empty()) {
    auto collected = Traces::open({.url = settings.otlp});
    if (!collected) return cannot_serve(collected.error());
    traces = std::move(*collected);
  }
  std::atomic<bool> ready = true;
  ReloadWatch watch(settings.control.get());
  const LauncherWatch launcher(settings.launcher);
  auto queue = std::make_unique<CallQueue>(QueueLimits{});
  std::unique_ptr<HttpServer> server;
  Service service{
      .boundary = *boundary,
      .keys = **keys,
      .board = board,
      .queue = *queue,
      .metrics = metrics,
      .state = state->get(),
      .http = [&server] { return server->numbers(); },
      .reload = [&watch] { return watch.ask(); },
      .can_run = [&launcher] { return launcher.answers(); },
      .ready = ready,
      .pool = [&settings] { return ask_status(settings.launcher); },
      .traces = traces.get(),
  };
  settings.http.limits.stream_bytes = kMostForAReader;
  settings.http.body_terms = [&service](const HttpRequest& head) -> BodyTerms {
    // Strangers are one sender, however many addresses they have: they are refused in any case.
    if (const auto caller = known_caller(service, head)) return {.sender = "caller/" + *caller};
    return {.most = kStrangersBody, .sender = "strangers"};
  };
  auto operators = open_operator_socket(state->get());
  if (!operators) return cannot_serve(operators.error());
  settings.http.listeners.push_back(std::move(*operators));
  const HttpLimits limits = settings.http.limits;
  auto opened = HttpServer::open(
      std::move(settings.http),
      [&service](HttpRequest request, Responder responder) {
        answer(service, std::move(request), std::move(responder));
      },
      [&metrics, limits](unsigned status, std::string_view sentence) {
        metrics.http_status(status);
        return server_problem(status, sentence, limits);
      });
  if (!opened) return cannot_serve(opened.error());
  server = std::move(*opened);
  if (auto told = send_control(settings.control.get(), {ControlKind::ready, {}}); !told)
    return cannot_serve(told.error());
  std::thread control([&] { obey(settings, service, watch, *server); });
  const std::jthread clock(
      [&](const std::stop_token& stop) { keep_ticking(*boundary, board, stop); });
  server->run();
  control.join();
  queue.reset();  // its workers use all of the above
  ::unlinkat(state->get(), kOperatorSocket, 0);
  return 0;
}

}  // namespace sallyport
