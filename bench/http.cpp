// What the boundary costs over HTTP: calls of a tool that does nothing, with key, policy, limits
// and durable records, against the same server answering a constant. Beside them, the floor:
// the same constant after two durable records of that size and nothing else (http_floor.h), which
// no service with two records for each call can do better than on that disk. Interleaved, in one
// run, with `wrk` at 32 connections. With each: the CPU time of the server for one request, and how
// much of the machine was idle or used by others; with others at work, the rates say little.
//
//   http [SECONDS [ROUNDS [STATE]]]
//
// The state directory decides what durable means: on a disk, every call waits for it twice.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "http_floor.h"
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

// Empty at the beginning, and gone when all that writes to it has ended.
class Directory {
 public:
  explicit Directory(fs::path path) : path_(std::move(path)) {
    fs::remove_all(path_);
    fs::create_directory(path_);
  }
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

 private:
  fs::path path_;
};

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

struct Measured {
  double rate = 0;    // requests per second, as wrk measures them
  double server = 0;  // CPU of this process for one request, in microseconds
  double idle = 0;    // part of all CPUs that nobody used
  double others = 0;  // ... and that neither this process nor wrk did
};

double cpu_seconds(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double idle_seconds() {
  std::ifstream file("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0;
  file >> name >> user >> nice >> system >> idle >> waiting;
  return (idle + waiting) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// All answers must have been 200.
Measured measure(const std::string& script, const std::string& url, int seconds) {
  const std::string command =
      "wrk -t2 -c32 -d" + std::to_string(seconds) + "s -s " + script + " " + url + " 2>&1";
  const double own_before = cpu_seconds(RUSAGE_SELF), wrk_before = cpu_seconds(RUSAGE_CHILDREN);
  const double idle_before = idle_seconds();
  const auto begin = std::chrono::steady_clock::now();
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
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const double there = took.count() * static_cast<double>(std::thread::hardware_concurrency());
  const double own = cpu_seconds(RUSAGE_SELF) - own_before;
  const double idle = idle_seconds() - idle_before;
  const double others = there - idle - own - (cpu_seconds(RUSAGE_CHILDREN) - wrk_before);
  return {.rate = rate,
          .server = own * 1e6 / (rate * seconds),
          .idle = std::clamp(idle / there, 0.0, 1.0),
          .others = std::clamp(others / there, 0.0, 1.0)};
}

template <class T>
double median(const std::vector<T>& all, double T::* value) {
  std::vector<double> values;
  for (const T& each : all)
    values.push_back(each.*value);
  std::ranges::sort(values);
  return values[values.size() / 2];
}

Measured medians(const std::vector<Measured>& all) {
  return {.rate = median(all, &Measured::rate),
          .server = median(all, &Measured::server),
          .idle = median(all, &Measured::idle),
          .others = median(all, &Measured::others)};
}

// The contestants of one round, or their medians.
struct Round {
  Measured constant, calls, floor;
  double ratio = 0, floor_ratio = 0;  // to the constant
};

void print(const char* what, const Round& round) {
  std::printf("%s: ratio %.3f (bar 0.5), floor %.3f", what, round.ratio, round.floor_ratio);
  for (const auto& [name, each] :
       {std::pair("constant", &round.constant), std::pair("calls", &round.calls),
        std::pair("floor", &round.floor)})
    std::printf("; %s %.0f/s, %.1f us of CPU, %.0f%% idle, %.0f%% others", name, each->rate,
                each->server, each->idle * 100, each->others * 100);
  std::puts("");
  std::fflush(stdout);
}

Round medians(const std::vector<Round>& all) {
  const auto measured = [&](Measured Round::* who) {
    std::vector<Measured> values;
    for (const Round& each : all)
      values.push_back(each.*who);
    return medians(values);
  };
  return {.constant = measured(&Round::constant),
          .calls = measured(&Round::calls),
          .floor = measured(&Round::floor),
          .ratio = median(all, &Round::ratio),
          .floor_ratio = median(all, &Round::floor_ratio)};
}

// What a record of a call takes, on average.
std::size_t record_bytes(const fs::path& state) {
  std::ifstream log(state / "audit/acme/000001.jsonl");
  std::size_t bytes = 0, records = 0;
  for (std::string line; std::getline(log, line); ++records)
    bytes += line.size() + 1;
  return records == 0 ? 0 : bytes / records;
}

}  // namespace

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 3;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  const fs::path place = argc > 3 ? argv[3] : "sallyport-bench-http";
  const Directory directory(place);
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
  std::unique_ptr<DurableConstant> floor;
  auto server = must(HttpServer::open(
      std::move(settings),
      [&](HttpRequest request, Responder responder) {
        if (request.path == "/constant") return responder.send({.body = constant});
        if (request.path == "/floor") return floor->answer(std::move(responder));
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
  const std::string call = base + "/v1/tools/noop/call";
  measure(script, base + "/constant", 1);
  std::vector<Round> all;
  for (int i = 0; i < rounds; ++i) {
    Round round;
    round.constant = measure(script, base + "/constant", seconds);
    round.calls = measure(script, call, seconds);
    if (floor == nullptr)
      floor = std::make_unique<DurableConstant>(place / "floor", record_bytes(place), constant);
    round.floor = measure(script, base + "/floor", seconds);
    round.ratio = round.calls.rate / round.constant.rate;
    round.floor_ratio = round.floor.rate / round.constant.rate;
    all.push_back(round);
    print(("round " + std::to_string(i + 1)).c_str(), round);
  }
  print("median", medians(all));
  server->drain(std::chrono::seconds{1});
  serving.join();
  queue.reset();
}
