#include "warm_floor.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>

#include "base/fd.h"

namespace sallyport::warm {
namespace {

using Clock = std::chrono::steady_clock;

// The groups of one call, with the limits that no sandbox can do without.
class Groups {
 public:
  Groups() {
    static std::atomic<unsigned> number = 0;
    const bool v2 = ::access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
    const std::string name =
        "/sallyport-floor-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
    if (v2) {
      add("/sys/fs/cgroup" + name, "cgroup.procs");
      limit(0, "memory.max", "268435456");
      limit(0, "pids.max", "64");
    } else {
      add("/sys/fs/cgroup/memory" + name, "tasks");
      add("/sys/fs/cgroup/pids" + name, "tasks");
      limit(0, "memory.limit_in_bytes", "268435456");
      limit(1, "pids.max", "64");
    }
  }
  ~Groups() {
    for (const std::string& path : paths_)
      if (::rmdir(path.c_str()) != 0) give_up("cannot remove " + path);
  }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  [[nodiscard]] const std::vector<Fd>& doors() const { return doors_; }

 private:
  void add(const std::string& path, const char* door) {
    if (::mkdir(path.c_str(), 0755) != 0) give_up("cannot make " + path);
    paths_.push_back(path);
    doors_.emplace_back(::open((path + "/" + door).c_str(), O_WRONLY | O_CLOEXEC));
  }
  // A controller that is not there limits nothing, for us as for others.
  void limit(std::size_t group, const char* file, const std::string& value) {
    const Fd out(::open((paths_[group] + "/" + file).c_str(), O_WRONLY | O_CLOEXEC));
    if (out) (void)!::write(out.get(), value.data(), value.size());
  }

  std::vector<std::string> paths_;
  std::vector<Fd> doors_;
};

// In the memory of the caller, which stands still until the command has begun.
int be_command(void* groups) {
  if (groups != nullptr)
    for (const Fd& door : static_cast<Groups*>(groups)->doors())
      if (::write(door.get(), "0", 1) != 1) ::_exit(98);
  char path[] = "/bin/true";
  char* argv[] = {path, nullptr};
  char* environment[] = {nullptr};
  ::execve(path, argv, environment);
  ::_exit(99);
}

double run_born(Groups* groups) {
  constexpr std::size_t kStack = 65536;
  constexpr int kNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                              CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  const auto stack = std::make_unique<char[]>(kStack);
  const auto begin = Clock::now();
  const pid_t child = ::clone(be_command, stack.get() + kStack,
                              kNamespaces | CLONE_VM | CLONE_VFORK | SIGCHLD, groups);
  if (child < 0) give_up("no process can be born into namespaces of its own here");
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const auto end = Clock::now();
  if (status != 0) give_up("the floor failed: status " + std::to_string(status));
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

}  // namespace

Contestant floor_of_namespaces(unsigned turns) {
  return {"namespaces alone", []() -> Once { return [] { return run_born(nullptr); }; }, turns};
}

Contestant floor_with_cgroups(unsigned turns) {
  return {"namespaces, cgroups",
          []() -> Once {
            return [] {
              Groups groups;
              return run_born(&groups);
            };
          },
          turns};
}

}  // namespace sallyport::warm
