// The parts of bench/warm. Each measures one thing, prints it as JSON, and is fed by the script,
// which starts the services; `report` puts them together.
//
//   bench_warm latency SERVICE WORK ROUNDS        1 in flight, beside the peers
//   bench_warm throughput SERVICE WORK SLICES     32 in flight, beside the peers
//   bench_warm hogs SERVICE WORK ROUNDS           the same as latency, on a machine that is busy
//   bench_warm controls ROUNDS NAME=SERVICE...    what each control costs
//   bench_warm idle SERVICE CELLS METRIC          the memory of cells that wait
//   bench_warm attach SAMPLES                     a sparse cgroup attach
//   bench_warm host                               what it runs on
//   bench_warm report WORK [DIRECTORY]            from WORK/*.json; written into DIRECTORY
//
// SERVICE is PORT:KEYFILE, or PORT for the caller `anonymous`.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

#include "warm_contest.h"
#include "warm_floor.h"
#include "warm_host.h"
#include "warm_records.h"
#include "warm_report.h"

namespace {

using namespace sallyport;
using namespace sallyport::warm;
using namespace std::chrono_literals;
using Words = std::vector<std::string>;

constexpr unsigned kInFlight = 32;
constexpr unsigned kOurTurns = 10;  // for one of each peer: our p99 is of interest, theirs less so
// A pre-started Node is most of a peer's work, and would be done during the turns of the peers.
constexpr unsigned kNodeTurns = 2;

unsigned number(const std::string& word) {
  const int value = std::atoi(word.c_str());
  if (value <= 0) give_up("'" + word + "' is not a number of times");
  return static_cast<unsigned>(value);
}

std::vector<Contestant> field(const Service& service, const std::string& work, Kind kind,
                              unsigned turns, bool containers) {
  std::vector<Contestant> all{ours(service, kind, turns)};
  for (const Peer& peer : peers_of(kind, work))
    if (containers || peer.name == "bare" || peer.name == "bubblewrap") all.push_back(theirs(peer));
  return all;
}

json::object latency(const Words& words) {
  const Service service = service_at(words.at(0));
  json::object all;
  for (const Kind kind : {Kind::python, Kind::numpy, Kind::command, Kind::node}) {
    std::fprintf(stderr, "  %s\n", title_of(kind));
    const unsigned turns = kind == Kind::node ? kNodeTurns : kOurTurns;
    std::vector<Contestant> contestants = field(service, words.at(1), kind, turns, true);
    if (kind != Kind::node) contestants.push_back(floor_with_records(kind, words.at(1)));
    all[name_of(kind)] = take_turns(contestants, number(words.at(2)));
  }
  return all;
}

json::object throughput(const Words& words) {
  const Service service = service_at(words.at(0));
  json::object all;
  for (const Kind kind : {Kind::python, Kind::command}) {
    std::fprintf(stderr, "  %s\n", title_of(kind));
    std::vector<Contestant> contestants = field(service, words.at(1), kind, kInFlight, false);
    for (Contestant& contestant : contestants)
      contestant.turns = kInFlight;
    contestants.push_back(ours(service, kind, 1));
    contestants.back().name = "sallyport, 1 in flight";
    if (kind == Kind::command) {
      contestants.push_back(floor_of_namespaces(kInFlight));
      contestants.push_back(floor_with_cgroups(kInFlight));
    }
    all[name_of(kind)] = take_slices(contestants, number(words.at(2)));
  }
  return all;
}

json::object with_hogs(const Words& words) {
  const Service service = service_at(words.at(0));
  const Hogs hogs(4);
  json::object all;
  for (const Kind kind : {Kind::python, Kind::command})
    all[name_of(kind)] =
        take_turns(field(service, words.at(1), kind, 3, false), number(words.at(2)));
  return all;
}

// Tools of the one service differ in what they are checked for; other services, in what cannot be
// said of a tool.
json::object controls(const Words& words) {
  std::map<std::string, Service> services;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto sign = words[i].find('=');
    services[words[i].substr(0, sign)] = service_at(words[i].substr(sign + 1));
  }
  const Service full = services.at("all");
  const Service keyless{.port = full.port};
  const auto calls = [](const char* tool) {
    return [tool](Client& client) { return client.call(tool, next_question(Kind::python)); };
  };
  const auto dry_runs = [](Client& client) {
    return client.dry_run("python", next_question(Kind::python));
  };
  std::vector<Contestant> contestants{
      served("everything on", full, calls("python")),
      served("redaction", full, calls("python_unredacted")),
      served("marking of injections", full, calls("python_unmarked")),
      served("screening", full, calls("python_unscreened")),
      served("the key", keyless, calls("python")),
      served("the cell (a dry run)", full, dry_runs),
      served("everything but HTTP", full, [](Client& client) { return client.get("/healthz"); })};
  if (services.contains("memory"))
    contestants.push_back(served("records on a disk", services["memory"], calls("python")));
  if (services.contains("cold"))
    contestants.push_back(served("cells built ahead", services["cold"], calls("python")));
  return take_turns(contestants, number(words.at(0)));
}

json::object idle(const Words& words) {
  const Service service = service_at(words.at(0));
  const unsigned cells = number(words.at(1));
  Client client(service);
  const auto parked = [&] {
    client.get("/metrics");
    const auto found = client.body().find("\n" + words.at(2) + " ");
    if (found == std::string::npos) give_up("there is no metric " + words.at(2));
    return static_cast<unsigned>(std::atof(client.body().c_str() + found + words.at(2).size() + 2));
  };
  const unsigned there = parked();
  const std::uint64_t before = available_memory();
  if (there >= cells) give_up("all cells were there before anything was asked for");
  const auto begin = std::chrono::steady_clock::now();
  client.call("python", next_question(Kind::python));  // the service learns what cells are wanted
  while (parked() < cells) {
    if (std::chrono::steady_clock::now() - begin > 3min)
      give_up(std::to_string(parked()) + " of " + std::to_string(cells) +
              " cells wait after three minutes");
    std::this_thread::sleep_for(200ms);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::this_thread::sleep_for(1s);  // until what only building took is given back
  const std::uint64_t after = available_memory();
  if (after >= before)
    return {{"skipped", "Somebody else gave back more memory meanwhile than the cells took."}};
  const std::uint64_t bytes = before - after;
  return {{"cells", cells - there},
          {"bytes", bytes},
          {"bytes_of_1000", bytes / (cells - there) * 1000},
          {"seconds_to_build", took.count()}};
}

}  // namespace

int main(int argc, char** argv) {
  const Words all(argv + 1, argv + argc);
  const std::string part = all.empty() ? "" : all.front();
  const Words words(all.begin() + (all.empty() ? 0 : 1), all.end());
  json::object found;
  if (part == "latency" && words.size() == 3) {
    found = latency(words);
  } else if (part == "throughput" && words.size() == 3) {
    found = throughput(words);
  } else if (part == "hogs" && words.size() == 3) {
    found = with_hogs(words);
  } else if (part == "controls" && words.size() >= 2) {
    found = controls(words);
  } else if (part == "idle" && words.size() == 3) {
    found = idle(words);
  } else if (part == "attach" && words.size() == 1) {
    found = measure_attach(number(words.at(0)));
  } else if (part == "host" && words.empty()) {
    found = describe_host();
  } else if (part == "report" && (words.size() == 1 || words.size() == 2)) {
    return report(words.at(0), words.size() == 2 ? words.at(1) : "");
  } else {
    std::fprintf(stderr, "bench_warm is started by bench/warm; see bench/warm.cpp\n");
    return 2;
  }
  std::printf("%s\n", json::serialize(found).c_str());
}
