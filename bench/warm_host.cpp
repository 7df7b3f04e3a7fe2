#include "warm_host.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/file.h"
#include "warm_client.h"
#include "warm_statistics.h"

namespace sallyport::warm {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kGap = 100ms;

// The first line of a file in /proc that begins with `name`, behind the colon.
std::string line_of(const char* file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name)) {
      const auto value = line.find_first_not_of(" \t", line.find(':') + 1);
      return value == std::string::npos ? "" : line.substr(value);
    }
  return {};
}

// An option of any mounted hierarchy, in the last field of mountinfo: what it switches is the whole
// kernel's.
bool is_favoured() {
  std::ifstream lines("/proc/self/mountinfo");
  for (std::string line; std::getline(lines, line);)
    if (line.find(" - cgroup") != std::string::npos &&
        line.find("favordynmods") != std::string::npos)
      return true;
  return false;
}

// Of the memory controller, where there is version 1: it is the one with most to move.
class OwnCgroup {
 public:
  OwnCgroup() {
    version_ = ::access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0 ? 2 : 1;
    path_ = std::string(version_ == 2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory") +
            "/sallyport-bench-" + std::to_string(::getpid());
    made_ = ::mkdir(path_.c_str(), 0755) == 0;
  }
  ~OwnCgroup() {
    // A process that has ended may be in it for a moment longer.
    for (int i = 0; made_ && i < 100 && ::rmdir(path_.c_str()) != 0 && errno == EBUSY; ++i)
      std::this_thread::sleep_for(10ms);
  }
  OwnCgroup(const OwnCgroup&) = delete;
  OwnCgroup& operator=(const OwnCgroup&) = delete;

  [[nodiscard]] bool made() const { return made_; }
  [[nodiscard]] int version() const { return version_; }
  // Moves `pid` (0: itself); how long it took in microseconds, negative if it failed.
  [[nodiscard]] double move(pid_t pid) const {
    // As a cell's init does it on v1: a thread that moves itself alone waits for nobody.
    const bool alone = version_ == 1 && pid == 0;
    const std::string file = path_ + (alone ? "/tasks" : "/cgroup.procs");
    const std::string text = std::to_string(pid);
    const Fd procs(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    const auto begin = Clock::now();
    const auto wrote = ::write(procs.get(), text.data(), text.size());
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    return wrote == static_cast<ssize_t>(text.size()) ? took.count() : -1;
  }

 private:
  int version_;
  std::string path_;
  bool made_ = false;
};

// A child that waits for a byte, then moves itself if it is to, and says how long that took.
double move_one(const OwnCgroup& group, bool itself) {
  int to[2], from[2];
  if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) give_up("no pipes left");
  Fd hear(to[0]), tell(to[1]), answer(from[0]), say(from[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    tell.reset();
    char byte = 0;
    (void)!::read(hear.get(), &byte, 1);
    const double took = itself ? group.move(0) : 0;
    (void)!::write(say.get(), &took, sizeof(took));
    (void)!::read(hear.get(), &byte, 1);  // until the parent has closed it
    ::_exit(0);
  }
  say.reset();
  std::this_thread::sleep_for(kGap);
  const double took = itself ? 0 : group.move(child);
  (void)!::write(tell.get(), "x", 1);
  double own = -1;
  if (::read(answer.get(), &own, sizeof(own)) != sizeof(own)) own = -1;
  tell.reset();
  ::waitpid(child, nullptr, 0);
  return itself ? own : took;
}

}  // namespace

json::object describe_host() {
  utsname kernel{};
  ::uname(&kernel);
  double load = 0;
  char day[16] = "";
  const std::time_t now = std::time(nullptr);
  (void)std::strftime(day, sizeof(day), "%Y-%m-%d", std::gmtime(&now));
  (void)::getloadavg(&load, 1);
  return {{"day", day},
          // Without what a builder has put behind the version.
          {"kernel", std::string(kernel.sysname) + " " +
                         std::string(kernel.release, ::strcspn(kernel.release, "-"))},
          {"processor", line_of("/proc/cpuinfo", "model name")},
          {"processors", std::thread::hardware_concurrency()},
          {"memory", line_of("/proc/meminfo", "MemTotal")},
          {"load_before", load}};
}

json::object measure_attach(unsigned samples) {
  const OwnCgroup group;
  if (!group.made()) return {{"skipped", "no cgroup can be made here"}};
  json::object found{{"version", group.version()}, {"favordynmods", is_favoured()}};
  for (const bool itself : {true, false}) {
    std::vector<double> took;
    for (unsigned i = 0; i < samples; ++i)
      took.push_back(move_one(group, itself));
    if (std::ranges::min(took) < 0) return {{"skipped", "no process can be moved here"}};
    found[itself ? "itself" : "another"] = to_json(summarise(std::move(took)));
  }
  return found;
}

std::uint64_t available_memory() {
  return std::strtoull(line_of("/proc/meminfo", "MemAvailable").c_str(), nullptr, 10) * 1024;
}

Hogs::Hogs(unsigned count) {
  const pid_t parent = ::getpid();
  for (unsigned i = 0; i < count; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      const rlimit two_minutes{120, 120};
      ::setrlimit(RLIMIT_CPU, &two_minutes);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      ::setsid();  // each is somebody else's: the scheduler shares among sessions first
      for (volatile std::uint64_t n = 0;;)
        n = n + 1;
    }
    if (child > 0) pids_.push_back(child);
  }
}

Hogs::~Hogs() {
  for (const pid_t pid : pids_)
    ::kill(pid, SIGKILL);
  for (const pid_t pid : pids_)
    ::waitpid(pid, nullptr, 0);
}

}  // namespace sallyport::warm
