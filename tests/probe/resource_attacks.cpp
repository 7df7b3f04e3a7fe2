// Attacks that take more than their share: memory, processes, descriptors, disk, CPU time, output,
// and staying alive. All amounts are arguments, so that the twins outside can be kept small.
#include <fcntl.h>
#include <linux/landlock.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <vector>

#include "probe.h"

namespace probe {
namespace {

constexpr std::size_t kMiB = 1 << 20;
constexpr std::size_t kChunk = 1 << 16;

std::size_t number(const char* text) {
  return std::strtoull(text, nullptr, 10);
}

// All that was asked for, or an error before that.
Verdict got(std::size_t count, std::size_t wanted, const char* what) {
  if (count >= wanted) {
    std::printf("%s: all %zu\n", what, wanted);
    return kWorked;
  }
  std::printf("%s: %zu of %zu, then %s\n", what, count, wanted, std::strerror(errno));
  return kRefused;
}

void touch(char* memory, std::size_t size) {
  for (std::size_t at = 0; at < size; at += 4096)
    memory[at] = 1;
}

// Writes until `size` bytes are there or an error comes; the bytes written.
std::size_t write_bytes(int fd, std::size_t size) {
  static const std::vector<char> chunk(kChunk, 'x');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count = ::write(fd, chunk.data(), std::min(kChunk, size - done));
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

// ---- memory

std::size_t take_memory(std::size_t mebibytes, int kind) {
  for (std::size_t taken = 0; taken < mebibytes; ++taken) {
    void* memory = ::mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return taken;
    touch(static_cast<char*>(memory), kMiB);
  }
  return mebibytes;
}

Verdict take_private_memory(Arguments args) {
  const std::size_t wanted = number(args[0]);
  return got(take_memory(wanted, MAP_PRIVATE), wanted, "MiB of private memory");
}

// Without a cgroup a watcher looks every 50 ms: what is held for less than that is not what it is
// there for.
void hold_on() {
  ::usleep(500'000);
}

Verdict take_shared_memory(Arguments args) {
  const std::size_t wanted = number(args[0]);
  const std::size_t taken = take_memory(wanted, MAP_SHARED);
  hold_on();
  return got(taken, wanted, "MiB of shared memory");
}

// RLIMIT_AS and RLIMIT_DATA are per process; here each process alone stays far below them.
Verdict take_memory_in_processes(Arguments args) {
  const std::size_t processes = number(args[0]), each = number(args[1]);
  int done[2];
  if (::pipe2(done, O_CLOEXEC) != 0) return kNotTried;
  std::vector<pid_t> children;
  for (std::size_t i = 0; i < processes; ++i) {
    const pid_t child = ::fork();
    if (child < 0) break;
    if (child == 0) {
      const bool all = take_memory(each, MAP_PRIVATE) == each;
      if (::write(done[1], all ? "y" : "n", 1) == 1)
        for (;;)
          ::pause();
      ::_exit(1);
    }
    children.push_back(child);
  }
  std::size_t holding = 0;
  char answer = 'n';
  for (std::size_t i = 0; i < children.size(); ++i)
    if (::read(done[0], &answer, 1) == 1 && answer == 'y') ++holding;
  hold_on();
  for (const pid_t child : children)
    ::kill(child, SIGKILL);
  return got(holding, processes, "processes that hold their memory at the same time");
}

// tmpfs is memory, whatever it is called.
Verdict take_memory_files(Arguments args) {
  const std::size_t files = number(args[1]), each = number(args[2]);
  std::size_t made = 0;
  for (; made < files; ++made) {
    const std::string path = std::string(args[0]) + "/filler-" + std::to_string(made);
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write_bytes(fd, each * kMiB) < each * kMiB) break;
    ::close(fd);
  }
  hold_on();
  const Verdict verdict = got(made, files, "files in memory");
  for (std::size_t i = 0; i < made; ++i)
    ::unlink((std::string(args[0]) + "/filler-" + std::to_string(i)).c_str());
  return verdict;
}

// Files without a path and, being written and not mapped, in nobody's resident size.
Verdict take_memfds(Arguments args) {
  const std::size_t files = number(args[0]), each = number(args[1]);
  std::size_t made = 0;
  for (; made < files; ++made) {
    const int fd = ::memfd_create("filler", MFD_CLOEXEC);
    if (fd < 0 || write_bytes(fd, each * kMiB) < each * kMiB) break;
  }
  return got(made, files, "memfds");
}

// System V segments, which outlive whoever made them.
Verdict take_system_v_memory(Arguments args) {
  const std::size_t segments = number(args[0]), each = number(args[1]);
  std::vector<int> made;
  while (made.size() < segments) {
    const int id = ::shmget(IPC_PRIVATE, each * kMiB, IPC_CREAT | 0600);
    if (id < 0) break;
    void* memory = ::shmat(id, nullptr, 0);
    if (memory == reinterpret_cast<void*>(-1)) break;
    made.push_back(id);
    touch(static_cast<char*>(memory), each * kMiB);
    ::shmdt(memory);
  }
  const Verdict verdict = got(made.size(), segments, "System V segments, filled and detached");
  for (const int id : made)
    ::shmctl(id, IPC_RMID, nullptr);
  return verdict;
}

Verdict fill_buffers(std::size_t wanted, const char* what, bool (*make)(int (&)[2])) {
  std::size_t filled = 0;
  for (int ends[2]; filled < wanted && make(ends); ++filled) {
    // As much as fits; then EAGAIN.
    if (write_bytes(ends[1], kMiB) == 0) break;
  }
  return got(filled, wanted, what);
}

Verdict fill_pipes(Arguments args) {
  return fill_buffers(number(args[0]), "pipes filled",
                      [](int(&ends)[2]) { return ::pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0; });
}

Verdict fill_sockets(Arguments args) {
  return fill_buffers(number(args[0]), "sockets filled", [](int(&ends)[2]) {
    return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0;
  });
}

// ---- processes, threads, descriptors

Verdict make_children(Arguments args, bool zombies) {
  const std::size_t wanted = number(args[0]);
  std::vector<pid_t> children;
  errno = 0;
  while (children.size() < wanted) {
    const pid_t child = ::fork();
    if (child < 0) break;
    if (child == 0) {
      if (zombies) ::_exit(0);
      for (;;)
        ::pause();
    }
    children.push_back(child);
  }
  const Verdict verdict = got(children.size(), wanted, zombies ? "zombies" : "processes");
  for (const pid_t child : children)
    ::kill(child, SIGKILL);
  for (const pid_t child : children)
    ::waitpid(child, nullptr, 0);
  return verdict;
}

Verdict make_processes(Arguments args) {
  return make_children(args, false);
}

Verdict make_zombies(Arguments args) {
  return make_children(args, true);
}

int sleep_in_thread(void*) {
  for (;;)
    ::pause();
}

// By clone itself: glibc's threads would report out of memory in place of the kernel's answer.
Verdict make_threads(Arguments args) {
  const std::size_t wanted = number(args[0]);
  constexpr std::size_t kStack = 16384;
  std::size_t made = 0;
  for (; made < wanted; ++made) {
    auto* stack = static_cast<char*>(
        ::mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    constexpr int kThread =
        CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    if (::clone(sleep_in_thread, stack + kStack, kThread, nullptr) < 0) break;
  }
  return got(made, wanted, "threads");
}

Verdict open_files(Arguments args) {
  const std::size_t wanted = number(args[0]);
  std::size_t made = 0;
  while (made < wanted && ::open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
    ++made;
  return got(made, wanted, "open files");
}

// ---- disk

Verdict write_file(Arguments args) {
  const std::size_t wanted = number(args[1]);
  const int fd = ::open(args[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return kNotTried;
  return got(write_bytes(fd, wanted), wanted, "bytes in one file");
}

Verdict make_files(Arguments args) {
  const std::size_t wanted = number(args[1]);
  std::size_t made = 0;
  for (; made < wanted; ++made) {
    const std::string path = std::string(args[0]) + "/file-" + std::to_string(made);
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) break;
    ::close(fd);
  }
  return got(made, wanted, "files");
}

// Costs its maker nothing and whoever copies it everything.
Verdict make_sparse_file(Arguments args) {
  const auto size = static_cast<off_t>(number(args[1]));
  const int fd = ::open(args[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return kNotTried;
  const bool by_truncation = ::ftruncate(fd, size) == 0;
  std::printf("ftruncate: %s\n", by_truncation ? "worked" : std::strerror(errno));
  const bool by_writing = ::pwrite(fd, "x", 1, size - 1) == 1;
  std::printf("pwrite: %s\n", by_writing ? "worked" : std::strerror(errno));
  return by_truncation || by_writing ? kWorked : kRefused;
}

// ---- CPU time

// Processes that are each below a limit per process.
Verdict burn_cpu(Arguments args) {
  const std::size_t processes = number(args[0]);
  const double seconds = std::strtod(args[1], nullptr);
  std::vector<pid_t> children;
  for (std::size_t i = 0; i < processes; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      timespec used{};
      do
        ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
      while (static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9 < seconds);
      ::_exit(0);
    }
    if (child > 0) children.push_back(child);
  }
  std::size_t done = 0;
  for (const pid_t child : children) {
    int status = 0;
    if (::waitpid(child, &status, 0) == child && WIFEXITED(status)) ++done;
  }
  return got(done, processes, "processes that burned their CPU time");
}

// ---- output

Verdict flood(Arguments args) {
  const int fd = std::string_view(args[0]) == "stderr" ? STDERR_FILENO : STDOUT_FILENO;
  return write_bytes(fd, number(args[1])) == number(args[1]) ? kWorked : kRefused;
}

// ---- staying alive

void ignore_all_signals() {
  for (int signal = 1; signal < NSIG; ++signal)
    ::signal(signal, SIG_IGN);
}

[[noreturn]] void wait_for_ever() {
  for (;;)
    ::pause();
}

// The ways to outstay a deadline. The argument behind the way is only there to be found on the
// command line.
Verdict stay(Arguments args) {
  const std::string_view way = args[0];
  if (way == "sleep") wait_for_ever();
  if (way == "ignore-signals") {
    ignore_all_signals();
    wait_for_ever();
  }
  if (way == "stopped") {
    ::raise(SIGSTOP);
    wait_for_ever();
  }
  if (way == "busy") {
    ignore_all_signals();
    for (volatile bool for_ever = true; for_ever;) {
    }
  }
  if (way == "full-pipe") {
    // A pipe that nobody reads, so that the write never ends.
    int ends[2];
    if (::pipe(ends) != 0) return kNotTried;
    write_bytes(ends[1], kMiB);
  }
  if (way == "double-fork" || way == "leave-behind") {
    // A session of its own, an ignored SIGHUP, and stdout still open; the parent of the survivor is
    // gone. With leave-behind, so is the tool itself.
    if (::fork() == 0) {
      ::setsid();
      ignore_all_signals();
      if (::fork() == 0) wait_for_ever();
      ::_exit(0);
    }
    if (way == "double-fork") wait_for_ever();
    return kWorked;
  }
  return kNotTried;
}

Verdict dump_core(Arguments) {
  const rlimit wanted{.rlim_cur = kMiB, .rlim_max = kMiB};
  return refused_if_negative(::setrlimit(RLIMIT_CORE, &wanted), "setrlimit");
}

// ---- the supervisor

// Holds the lock of the pipe behind stdout: the kernel keeps it while a splice into the pipe waits
// for its source. Ends by itself after so many seconds.
Verdict hold_stdout(Arguments arguments) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return kNotTried;
  ::alarm(static_cast<unsigned>(number(arguments[0])));
  const std::vector<char> bytes(57344, 'x');  // wakes the reader, and leaves room
  if (::write(STDOUT_FILENO, bytes.data(), bytes.size()) < 0) return kNotTried;
  ::splice(pair[0], nullptr, STDOUT_FILENO, nullptr, 4096, 0);
  return kWorked;
}

// Slows PID down, moves it, or lowers its limits.
Verdict harm_process(Arguments arguments) {
  const auto pid = static_cast<pid_t>(number(arguments[1]));
  const std::string_view way = arguments[0];
  const sched_param none{.sched_priority = 0};
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  const rlimit little{.rlim_cur = 1000, .rlim_max = 1000};
  if (way == "idle")
    return refused_if_negative(::sched_setscheduler(pid, SCHED_IDLE, &none), "sched_setscheduler");
  if (way == "nice")
    return refused_if_negative(::setpriority(PRIO_PROCESS, static_cast<id_t>(pid), 19),
                               "setpriority");
  if (way == "pin")
    return refused_if_negative(::sched_setaffinity(pid, sizeof(first), &first),
                               "sched_setaffinity");
  if (way == "limit")
    return refused_if_negative(::prlimit(pid, RLIMIT_CPU, &little, nullptr), "prlimit");
  return kNotTried;
}

// Fills COUNT connections over loopback that nobody reads from.
Verdict fill_connections(Arguments arguments) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener, 128) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return kNotTried;
  const std::vector<char> bytes(kChunk, 'x');
  std::size_t held = 0;
  for (std::size_t i = 0; i < number(arguments[0]); ++i) {
    const int client = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(client, reinterpret_cast<sockaddr*>(&address), size) != 0) break;
    const timeval soon{.tv_sec = 0, .tv_usec = 20000};
    ::setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon));
    for (ssize_t sent; (sent = ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL)) > 0;)
      held += static_cast<std::size_t>(sent);
  }
  std::printf("%zu MiB in sockets\n", held / kMiB);
  return held / kMiB >= number(arguments[1]) ? kWorked : kRefused;
}

// ---- what holds us

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Lines of `text` that begin with one of `keys`.
std::string lines_of(const std::string& text, std::initializer_list<std::string_view> keys) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);)
    if (std::ranges::any_of(keys, [&](std::string_view key) { return line.starts_with(key); }))
      kept.append(line).append("\n");
  return kept;
}

// Mounts without their numbers, which differ from run to run.
std::string mounts() {
  std::istringstream lines(text_of("/proc/self/mountinfo"));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string skipped, root, place, options, rest;
    words >> skipped >> skipped >> skipped >> root >> place >> options;
    std::getline(words, rest);
    const bool own = root == "/" || place.starts_with("/proc");
    kept.append(own ? root : "...").append(" ").append(place).append(" ").append(options);
    kept.append(rest.substr(0, rest.rfind(" - "))).append("\n");
  }
  return kept;
}

// The kernel stacks at most 16 domains; what is missing was there before us.
int landlock_domains_left() {
  const pid_t child = ::fork();
  if (child == 0) {
    struct {
      std::uint64_t handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_SOCK;
    } attributes;
    int count = 0;
    const auto ruleset = ::syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    while (::syscall(SYS_landlock_restrict_self, ruleset, 0) == 0)
      ++count;
    ::_exit(count);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string open_descriptors() {
  std::string list;
  for (int fd = 0; fd < 1024; ++fd)
    if (::fcntl(fd, F_GETFD) >= 0) list.append(" ").append(std::to_string(fd));
  return list;
}

// Everything that the layers of a cell decide, as text without chance in it: two cells that were
// asked for with the same words must read the same.
std::string surroundings() {
  std::string text = lines_of(text_of("/proc/self/status"),
                              {"Uid", "Gid", "Groups", "Seccomp:", "NoNewPrivs", "Cap", "SigBlk",
                               "SigIgn", "SigCgt", "Umask", "NSpid"});
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
    rlimit limit{};
    ::getrlimit(static_cast<__rlimit_resource>(resource), &limit);
    text.append("rlimit ").append(std::to_string(resource)).append(" ");
    text.append(std::to_string(limit.rlim_cur)).append(" ").append(std::to_string(limit.rlim_max));
    text.append("\n");
  }
  utsname host{};
  ::uname(&host);
  text.append("host ").append(host.nodename).append(" ").append(host.domainname).append("\n");
  char directory[4096] = {};
  text.append("cwd ").append(::getcwd(directory, sizeof(directory)) ? directory : "none");
  text.append("\nsession ").append(::getsid(0) == ::getpid() ? "own" : "inherited");
  text.append(" under init's ").append(::getsid(1) == 1 ? "own" : "inherited").append("\n");
  text.append("descriptors").append(open_descriptors()).append("\n");
  text.append("landlock domains left ").append(std::to_string(landlock_domains_left()));
  text.append("\nsecurebits ").append(std::to_string(::prctl(PR_GET_SECUREBITS))).append("\n");
  text.append("oom ").append(text_of("/proc/self/oom_score_adj"));
  text.append("init ").append(lines_of(text_of("/proc/1/status"), {"Seccomp:", "NoNewPrivs"}));
  ifreq loopback{};
  std::strcpy(loopback.ifr_name, "lo");
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool known = ::ioctl(socket, SIOCGIFFLAGS, &loopback) == 0;
  text.append("loopback ").append(known ? std::to_string(loopback.ifr_flags) : "unknown");
  text.append("\nmounts\n").append(mounts()).append(text_of("/proc/self/cgroup"));
  for (const char* map : {"/proc/self/uid_map", "/proc/self/gid_map"}) {
    // "INSIDE OUTSIDE COUNT", of which the second is another in each cell.
    std::istringstream words(text_of(map));
    std::string inside, outside, count, more;
    words >> inside >> outside >> count >> more;
    text.append(map).append(" ").append(inside).append(" ").append(count).append(more).append("\n");
  }
  return text;
}

// Lines "namespace KIND:[NUMBER]", which are others in each cell, and then the rest.
Verdict look_around(Arguments args) {
  std::string text;
  for (const char* kind : {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"}) {
    char name[64] = {};
    const std::string link = std::string("/proc/self/ns/") + kind;
    if (::readlink(link.c_str(), name, sizeof(name) - 1) < 0) return kNotTried;
    text.append("namespace ").append(name).append("\n");
  }
  text.append(surroundings());
  std::ofstream file(args[0]);
  return file << text << std::flush ? kWorked : kRefused;
}

template <std::size_t Count, Verdict (*Run)(Arguments)>
Verdict with(Arguments args) {
  return args.size() == Count ? Run(args) : kNotTried;
}

constexpr Attack kAttacks[] = {
    {"take-private-memory", "MIB: touches that much private memory", with<1, take_private_memory>},
    {"take-shared-memory", "MIB: touches that much shared memory", with<1, take_shared_memory>},
    {"take-memory-in-processes", "COUNT MIB: the same, a little in each of many processes",
     with<2, take_memory_in_processes>},
    {"take-memory-files", "DIR COUNT MIB: fills files of a tmpfs", with<3, take_memory_files>},
    {"take-memfds", "COUNT MIB: fills files that have no path", with<2, take_memfds>},
    {"take-system-v-memory", "COUNT MIB: fills System V segments and lets go of them",
     with<2, take_system_v_memory>},
    {"fill-pipes", "COUNT: fills pipes that nobody reads", with<1, fill_pipes>},
    {"fill-sockets", "COUNT: fills sockets that nobody reads", with<1, fill_sockets>},
    {"make-processes", "COUNT: so many processes at once", with<1, make_processes>},
    {"make-zombies", "COUNT: so many dead processes that nobody waits for", with<1, make_zombies>},
    {"make-threads", "COUNT: so many threads at once", with<1, make_threads>},
    {"open-files", "COUNT: so many descriptors in one process", with<1, open_files>},
    {"write-file", "PATH BYTES: one file of that size", with<2, write_file>},
    {"make-files", "DIR COUNT: so many empty files", with<2, make_files>},
    {"make-sparse-file", "PATH BYTES: a file that is one hole", with<2, make_sparse_file>},
    {"burn-cpu", "COUNT SECONDS: CPU time in many processes", with<2, burn_cpu>},
    {"flood", "stdout|stderr BYTES: writes that much", with<2, flood>},
    {"stay", "WAY WORD: outstays a deadline", with<2, stay>},
    {"dump-core", "allows itself core dumps", dump_core},
    {"hold-stdout", "SECONDS: keeps the pipe behind stdout locked", with<1, hold_stdout>},
    {"harm-process", "idle|nice|pin|limit PID: keeps it from its work", with<2, harm_process>},
    {"fill-connections", "COUNT MIB: that much in buffers of TCP", with<2, fill_connections>},
    {"look-around", "FILE: writes down all that holds it", with<1, look_around>},
};

}  // namespace

std::span<const Attack> resource_attacks() {
  return kAttacks;
}

}  // namespace probe
