// What the boundary costs over HTTP: calls of a tool that does nothing, with key, policy, limits
// and durable records, against the same server answering a constant. Interleaved, in one run, with
// `wrk` at 32 connections.
//
//   http [SECONDS [ROUNDS [STATE]]]
//
// The state directory decides what durable means: on a disk, every call waits for it twice.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "serve/api.h"

namespace {

using namespace sallyport;
namespace fs = std::filesystem;

constexpr std::string_view kPolicy = R"(
version: 1
roles: { agent: { permissions: [read:data], rate: 1000000/s } }
tenants: { acme: { rate: 1000000/s } }
callers: { agent_1: { role: agent, tenant: acme, rate: 1000000/s } }
tools: { noop: { tier: inline, needs: [read:data], rate: 1000000/s, args: { count: { type: integer } } } }
)";

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

Fd listener(int& port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* name = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), name, size) != 0 || ::listen(socket.get(), 1024) != 0 ||
      ::getsockname(socket.get(), name, &size) != 0) {
    std::perror("listen");
    std::exit(1);
  }
  port = ntohs(address.sin_port);
  return socket;
}

// Requests per second, as wrk measures them; all answers must have been 200.
double measure(const std::string& script, const std::string& url, int seconds) {
  const std::string command =
      "wrk -t2 -c32 -d" + std::to_string(seconds) + "s -s " + script + " " + url + " 2>&1";
  FILE* wrk = ::popen(command.c_str(), "r");
  double rate = 0;
  char line[512];
  while (wrk != nullptr && std::fgets(line, sizeof(line), wrk) != nullptr) {
    if (std::strstr(line, "Non-2xx") != nullptr || std::strstr(line, "Socket errors") != nullptr)
      std::fprintf(stderr, "wrk: %s", line);
    if (const char* found = std::strstr(line, "Requests/sec:")) rate = std::atof(found + 13);
  }
  if (wrk == nullptr || ::pclose(wrk) != 0 || rate == 0) {
    std::fprintf(stderr, "wrk did not run; it is in the Debian package of that name\n");
    std::exit(1);
  }
  return rate;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 3;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  const fs::path place = argc > 3 ? argv[3] : "sallyport-bench-http";
  fs::remove_all(place);
  fs::create_directory(place);
  fs::permissions(place, fs::perms::owner_all);
  const Fd state(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));

  auto policy = Policy::parse(kPolicy);
  if (!policy) return std::puts(to_text(policy.error().front()).c_str()), 1;
  Boundary boundary = must(
      Boundary::open(*policy, {.state = place, .program = {}, .serves = true, .launcher = {}}));
  Function noop{.name = "noop",
                .description = {},
                .needs = {},
                .args = {},
                .tier = FunctionTier::inline_call,
                .body = [](const json::object&) -> Result<json::value> { return "done"; }};
  if (auto added = boundary.add(noop); !added) return std::puts(added.error().message.c_str()), 1;
  const std::string key = must(add_key(state.get(), {.id = {},
                                                     .caller = "agent_1",
                                                     .created = Moment(1),
                                                     .expires = {},
                                                     .scopes = {},
                                                     .hash = {}}));
  auto keys = must(KeyRing::open(state.get()));
  CallBoard board;
  auto queue = std::make_unique<CallQueue>(QueueLimits{.workers = 64, .workers_of_one = 64});
  ServiceMetrics metrics;
  std::atomic<bool> ready = true;
  Service service{.boundary = boundary,
                  .keys = *keys,
                  .board = board,
                  .queue = *queue,
                  .metrics = metrics,
                  .state = state.get(),
                  .http = [] { return HttpNumbers{}; },
                  .reload = [] { return Result<void>(); },
                  .can_run = [] { return Result<void>(); },
                  .ready = ready};
  int port = 0;
  HttpSettings settings;
  settings.listeners.push_back({.socket = listener(port), .tls = false});
  settings.limits.requests_per_connection = 1'000'000'000;
  const std::string constant(600, 'x');
  auto server = must(HttpServer::open(
      std::move(settings),
      [&](HttpRequest request, Responder responder) {
        if (request.path == "/constant") return responder.send({.body = constant});
        answer(service, std::move(request), std::move(responder));
      },
      [](unsigned status, std::string_view sentence) {
        return problem(status, Reason::argument, sentence);
      }));
  std::thread serving([&] { server->run(); });

  const fs::path script = place / "call.lua";
  std::ofstream(script) << "wrk.method = 'POST'\nwrk.body = '{\"arguments\": {\"count\": 1}}'\n"
                        << "wrk.headers['Authorization'] = 'Bearer " << key << "'\n";
  const std::string base = "http://127.0.0.1:" + std::to_string(port);
  measure(script, base + "/constant", 1);
  std::vector<double> constants, calls, ratios;
  for (int round = 0; round < rounds; ++round) {
    constants.push_back(measure(script, base + "/constant", seconds));
    calls.push_back(measure(script, base + "/v1/tools/noop/call", seconds));
    ratios.push_back(calls.back() / constants.back());
    std::printf("round %d: constant %.0f/s, calls %.0f/s, ratio %.3f\n", round + 1,
                constants.back(), calls.back(), ratios.back());
    std::fflush(stdout);
  }
  std::printf("median: constant %.0f/s, calls %.0f/s, ratio %.3f (bar 0.5)\n", median(constants),
              median(calls), median(ratios));
  server->drain(std::chrono::seconds{1});
  serving.join();
  queue.reset();
  fs::remove_all(place);
}
