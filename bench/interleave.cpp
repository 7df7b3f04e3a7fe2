// Times whole commands, one after the other in turn, so that whatever else the machine does falls
// on all of them alike.
//
//   interleave ROUNDS LABEL COMMAND [ARG...] --- LABEL COMMAND [ARG...] --- ...
//
// Wall time from spawn to reap, standard streams on /dev/null. Ratios are to the first command, and
// of the last command to each other one.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Contestant {
  std::string label;
  std::vector<char*> argv;
  std::vector<double> microseconds;
};

double run_once(const Contestant& contestant) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const auto begin = Clock::now();
  const int failed = ::posix_spawnp(&child, contestant.argv[0], &actions, nullptr,
                                    contestant.argv.data(), environ);
  int status = -1;
  if (failed == 0) ::waitpid(child, &status, 0);
  const auto end = Clock::now();
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0 || status != 0) {
    std::fprintf(stderr, "%s failed (status %d): a benchmark of failures would mean nothing\n",
                 contestant.label.c_str(), status);
    std::exit(1);
  }
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

double percentile(const std::vector<double>& sorted, double share) {
  return sorted[std::min(sorted.size() - 1,
                         static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: interleave ROUNDS LABEL COMMAND [ARG...] --- LABEL COMMAND ...\n");
    return 2;
  }
  const int rounds = std::atoi(argv[1]);
  std::vector<Contestant> contestants;
  bool at_label = true;
  for (int i = 2; i < argc; ++i) {
    if (std::strcmp(argv[i], "---") == 0) {
      at_label = true;
    } else if (at_label) {
      contestants.push_back({argv[i], {}, {}});
      at_label = false;
    } else {
      contestants.back().argv.push_back(argv[i]);
    }
  }
  for (Contestant& contestant : contestants)
    contestant.argv.push_back(nullptr);

  for (const Contestant& contestant : contestants)
    run_once(contestant);  // page cache
  for (int round = 0; round < rounds; ++round)
    for (Contestant& contestant : contestants)
      contestant.microseconds.push_back(run_once(contestant));

  for (Contestant& contestant : contestants)
    std::ranges::sort(contestant.microseconds);
  const double bare = percentile(contestants.front().microseconds, 0.5);
  const double ours = percentile(contestants.back().microseconds, 0.5);
  std::printf("%-14s %10s %10s %10s %12s %14s\n", "", "p50 us", "p95 us", "p99 us",
              ("x " + contestants.front().label).c_str(),
              (contestants.back().label + " / it").c_str());
  for (const Contestant& contestant : contestants) {
    const double median = percentile(contestant.microseconds, 0.5);
    std::printf("%-14s %10.0f %10.0f %10.0f %12.2f %14.2f\n", contestant.label.c_str(), median,
                percentile(contestant.microseconds, 0.95),
                percentile(contestant.microseconds, 0.99), median / bare, ours / median);
  }
  return 0;
}
