// For the cgroup tests, which run against the real kernel, on whichever version this host has.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kernel/cgroup_host.h"
#include "kernel/syscalls.h"

namespace sallyport {

inline constexpr std::uint64_t kMiB = 1 << 20;

inline CgroupLimits roomy() {
  return {.memory_bytes = 64 * kMiB,
          .processes = 32,
          .cpus = 1,
          .io_bytes_per_second = {},
          .io_devices = {}};
}

inline std::string link_of(int fd) {
  char target[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t size = ::readlink(link.c_str(), target, sizeof(target));
  return size > 0 ? std::string(target, static_cast<std::size_t>(size)) : "";
}

// The directories that make up a group.
inline std::vector<std::string> directories_of(const Cgroup& group) {
  if (group.clone_into_fd() >= 0) return {link_of(group.clone_into_fd())};
  std::vector<std::string> directories;
  for (const int fd : group.entry_fds()) {
    const std::string tasks = link_of(fd);
    directories.push_back(tasks.substr(0, tasks.rfind('/')));
  }
  return directories;
}

// What a file of the group says, wherever among its directories it is.
inline std::string file_of(const Cgroup& group, const char* file) {
  for (const std::string& directory : directories_of(group))
    if (auto text = read_at(AT_FDCWD, (directory + "/" + file).c_str())) {
      if (text->ends_with('\n')) text->pop_back();
      return *text;
    }
  return "(no such file)";
}

// Every cgroup directory of this process's making that exists now, in any hierarchy.
inline std::vector<std::string> groups_of(pid_t pid) {
  std::vector<std::string> found;
  const auto mounts = parse_cgroup_mounts(read_at(AT_FDCWD, "/proc/self/mountinfo").value_or(""));
  for (const CgroupMount& mount : mounts) {
    std::error_code ignored;
    for (std::filesystem::recursive_directory_iterator it(mount.directory, ignored), end; it != end;
         it.increment(ignored)) {
      const auto owner = parse_group_name(it->path().filename().string());
      if (!owner) continue;
      it.disable_recursion_pending();  // a group's lock would end with a second descriptor
      if (owner->pid == pid) found.push_back(it->path());
    }
  }
  return found;
}

// fork(), without the thread that some sanitizers start in the child. A thread is one more in the
// group's count, and entering v1 by `tasks` takes a process with a single one.
inline pid_t plain_fork(const Cgroup* into = nullptr) {
  clone_args args{};
  args.exit_signal = SIGCHLD;
  if (into != nullptr && into->clone_into_fd() >= 0) {
    args.flags = CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(into->clone_into_fd());
  }
  return sys::clone3(args);
}

// Starts a child that enters the group and then runs `body`. It dies with this process.
inline pid_t spawn_in(const Cgroup& group, const std::function<int()>& body) {
  const pid_t pid = plain_fork(&group);
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int fd : group.entry_fds())
    if (::write(fd, "0", 1) != 1) ::_exit(99);
  ::_exit(body());
}

inline pid_t fork_and(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::_exit(body());
}

inline int status_of(pid_t pid) {
  int status = -1;
  ::waitpid(pid, &status, 0);
  return status;
}

inline bool exited_well(pid_t pid) {
  const int status = status_of(pid);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Whether `pid` is the one process of all of the group's directories.
inline bool is_inside(const Cgroup& group, pid_t pid) {
  return std::ranges::all_of(directories_of(group), [pid](const std::string& directory) {
    return read_at(AT_FDCWD, (directory + "/cgroup.procs").c_str()) == std::to_string(pid) + "\n";
  });
}

template <class Condition>
bool soon(Condition condition) {
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
       std::chrono::steady_clock::now() < end;) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

inline int sleep_forever() {
  while (true)
    ::pause();
}

class CgroupTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::geteuid(), 0u) << "the cgroup tests need root: run them as root";
    const CgroupSupport support = probe_cgroups();
    ASSERT_TRUE(support.usable) << support.why_not << "; " << support.fix;
  }
  void TearDown() override {
    EXPECT_EQ(groups_of(::getpid()), std::vector<std::string>{}) << "something was left behind";
  }

  static std::unique_ptr<Cgroup> make(const CgroupLimits& limits) {
    auto group = Cgroup::create("test", limits);
    if (!group) ADD_FAILURE() << group.error().message << "; " << group.error().hint;
    return group ? std::move(*group) : nullptr;
  }
};

}  // namespace sallyport
