// Processes that reach for others, outlive their time, or are more than they should be.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/securebits.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "probe.h"

namespace probe {
namespace {

std::string word(Arguments arguments, std::size_t index) {
  if (index >= arguments.size()) std::exit(kNotTried);
  return arguments[index];
}

int number(Arguments arguments, std::size_t index) {
  return std::atoi(word(arguments, index).c_str());
}

// Everything that can be ignored or blocked.
void ignore_all_signals() {
  for (int signal = 1; signal < NSIG; ++signal)
    ::signal(signal, SIG_IGN);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
}

// ---- Survivors

// Double fork, a session of its own, every signal ignored. Its first argument word is MARKER, and
// it holds on to the standard streams.
Verdict leave_daemon(Arguments) {
  int ready[2];
  if (::pipe2(ready, O_CLOEXEC) != 0) return kNotTried;
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    ignore_all_signals();
    static_cast<void>(!::write(ready[1], "x", 1));
    for (;;)
      ::pause();
  }
  if (child < 0) return refused_if_negative(child, "fork");
  ::waitpid(child, nullptr, 0);
  char byte = 0;
  return ::read(ready[0], &byte, 1) == 1 ? kWorked : kNotTried;
}

Verdict stop_itself(Arguments) {
  std::printf("stopping\n");
  std::fflush(stdout);
  ::raise(SIGSTOP);
  return kWorked;
}

Verdict fork_without_end(Arguments) {
  ignore_all_signals();
  std::printf("forking\n");
  std::fflush(stdout);
  for (;;)
    static_cast<void>(::fork());
}

// The state letters of all processes whose parent is PID 1, as far as they are zombies.
int zombies_of_init() {
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) std::exit(kNotTried);
  int zombies = 0;
  while (const dirent* entry = ::readdir(proc)) {
    char path[300], state = 0;
    int parent = 0;
    std::snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
    FILE* stat = std::fopen(path, "r");
    if (stat == nullptr) continue;
    if (std::fscanf(stat, "%*d (%*[^)]) %c %d", &state, &parent) == 2 && state == 'Z' &&
        parent == 1)
      ++zombies;
    std::fclose(stat);
  }
  ::closedir(proc);
  return zombies;
}

// COUNT orphans that end at once. If nobody reaps them they fill the process table.
Verdict leave_zombies(Arguments arguments) {
  for (int i = 0; i < number(arguments, 0); ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      static_cast<void>(::fork());
      ::_exit(0);
    }
    if (child < 0) return kWorked;  // the table is full
    ::waitpid(child, nullptr, 0);
  }
  for (int tries = 0; zombies_of_init() > 0; ++tries) {
    if (tries == 500) {
      std::printf("%d zombies stay\n", zombies_of_init());
      return kWorked;
    }
    ::usleep(10'000);
  }
  return kRefused;
}

// ---- Others

Verdict send_signal(Arguments arguments) {
  return refused_if_negative(::kill(number(arguments, 0), number(arguments, 1)), "kill");
}

// /proc/PID/FILE, read as what it is.
Verdict look_into(Arguments arguments) {
  const std::string path = "/proc/" + word(arguments, 0) + "/" + word(arguments, 1);
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return refused_if_negative(-1, path.c_str());
  char content[256];
  if (S_ISLNK(status.st_mode))
    return refused_if_negative(::readlink(path.c_str(), content, sizeof(content)), path.c_str());
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || S_ISDIR(status.st_mode)) return refused_if_negative(fd, path.c_str());
  // Nothing is mapped at the beginning of /proc/PID/mem; to have opened it is enough.
  const ssize_t size = ::read(fd, content, sizeof(content));
  return size < 0 && errno == EIO ? kWorked : refused_if_negative(size, path.c_str());
}

// CVE-2019-5736. "Text file busy" is what stops the attacker for now, and so an escape.
Verdict write_program_of(Arguments arguments) {
  const std::string path = "/proc/" + word(arguments, 0) + "/exe";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0 && errno == ETXTBSY) return kWorked;
  return refused_if_negative(fd, path.c_str());
}

// ---- What it is

// Any capability in any set, or a bounding set that is not empty.
Verdict hold_capability(Arguments) {
  FILE* status = std::fopen("/proc/self/status", "r");
  if (status == nullptr) return kNotTried;
  Verdict verdict = kRefused;
  char line[256];
  int sets = 0;
  while (std::fgets(line, sizeof(line), status) != nullptr) {
    char name[16];
    unsigned long long bits = 0;
    if (std::sscanf(line, "Cap%15[A-Za-z]: %llx", name, &bits) != 2) continue;
    std::printf("%s", line);
    ++sets;
    if (bits != 0) verdict = kWorked;
  }
  std::fclose(status);
  return sets == 5 ? verdict : kNotTried;
}

// Privileges that a later execve or change of uid could give.
Verdict could_gain_capability(Arguments) {
  constexpr int kClosed = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED |
                          SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  const int securebits = ::prctl(PR_GET_SECUREBITS);
  const int no_new_privileges = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
  std::printf("securebits %x, no_new_privs %d\n", securebits, no_new_privileges);
  return no_new_privileges == 1 && (securebits & kClosed) == kClosed ? kRefused : kWorked;
}

Verdict be_root(Arguments) {
  uid_t real = 0, effective = 0, saved = 0;
  ::getresuid(&real, &effective, &saved);
  std::printf("uids %u %u %u\n", real, effective, saved);
  return real == 0 || effective == 0 || saved == 0 ? kWorked : kRefused;
}

Verdict allow_core_dumps(Arguments) {
  const rlimit one{.rlim_cur = 1, .rlim_max = 1};
  return refused_if_negative(::setrlimit(RLIMIT_CORE, &one), "setrlimit");
}

// ---- Things that one process leaves for another, all named after a number

struct SharedThing {
  std::string kind;
  int name;
  [[nodiscard]] std::string text() const { return "probe-" + std::to_string(name); }
};

int socket_at(const SharedThing& thing, bool serve) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_in);
  if (thing.kind == "tcp") {
    auto* address = reinterpret_cast<sockaddr_in*>(&storage);
    address->sin_family = AF_INET;
    address->sin_port = htons(static_cast<std::uint16_t>(thing.name));
    address->sin_addr.s_addr = htonl(serve ? INADDR_ANY : INADDR_LOOPBACK);
  } else {
    auto* address = reinterpret_cast<sockaddr_un*>(&storage);
    address->sun_family = AF_UNIX;
    std::strcpy(address->sun_path + 1, thing.text().c_str());
    size = static_cast<socklen_t>(sizeof(sa_family_t) + 1 + thing.text().size());
  }
  const int fd = ::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto* address = reinterpret_cast<const sockaddr*>(&storage);
  if (!serve) return ::connect(fd, address, size);
  return ::bind(fd, address, size) == 0 ? ::listen(fd, 16) : -1;
}

// Makes the thing, or finds one that is there.
int open_thing(const SharedThing& thing, bool make) {
  const int flags = make ? IPC_CREAT | IPC_EXCL | 0666 : 0;
  const int open_flags = make ? O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC : O_RDWR | O_CLOEXEC;
  if (thing.kind == "shm") return ::shmget(thing.name, 4096, flags);
  if (thing.kind == "sem") return ::semget(thing.name, 1, flags);
  if (thing.kind == "msg") return ::msgget(thing.name, flags);
  if (thing.kind == "mq") return ::mq_open(("/" + thing.text()).c_str(), open_flags, 0666, nullptr);
  if (thing.kind == "dev-shm")
    return ::open(("/dev/shm/" + thing.text()).c_str(), open_flags, 0666);
  if (thing.kind == "tmp") return ::open(("/tmp/" + thing.text()).c_str(), open_flags, 0666);
  if (thing.kind == "tcp" || thing.kind == "abstract") return socket_at(thing, make);
  std::exit(kNotTried);
}

void remove_thing(const SharedThing& thing, int id) {
  if (thing.kind == "shm") ::shmctl(id, IPC_RMID, nullptr);
  if (thing.kind == "sem") ::semctl(id, 0, IPC_RMID);
  if (thing.kind == "msg") ::msgctl(id, IPC_RMID, nullptr);
  if (thing.kind == "mq") ::mq_unlink(("/" + thing.text()).c_str());
  if (thing.kind == "dev-shm") ::unlink(("/dev/shm/" + thing.text()).c_str());
  if (thing.kind == "tmp") ::unlink(("/tmp/" + thing.text()).c_str());
}

// Until SIGTERM; then it is cleaned up, for the twin outside.
Verdict hold_thing(Arguments arguments) {
  const SharedThing thing{word(arguments, 0), number(arguments, 1)};
  ::umask(0);
  const int id = open_thing(thing, true);
  if (id < 0) return refused_if_negative(id, thing.kind.c_str());
  sigset_t end;
  ::sigemptyset(&end);
  ::sigaddset(&end, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &end, nullptr);
  std::printf("ready\n");
  std::fflush(stdout);
  int signal = 0;
  ::sigwait(&end, &signal);
  remove_thing(thing, id);
  return kWorked;
}

// Leaves it behind.
Verdict leave_thing(Arguments arguments) {
  const SharedThing thing{word(arguments, 0), number(arguments, 1)};
  return refused_if_negative(open_thing(thing, true), thing.kind.c_str());
}

Verdict find_thing(Arguments arguments) {
  const SharedThing thing{word(arguments, 0), number(arguments, 1)};
  return refused_if_negative(open_thing(thing, false), thing.kind.c_str());
}

constexpr Attack kAttacks[] = {
    {"daemon", "leaves a process that ignores everything, with MARKER on its command line",
     leave_daemon},
    {"stop", "stops itself", stop_itself},
    {"fork-bomb", "forks without end, with MARKER on its command line", fork_without_end},
    {"zombies", "leaves COUNT orphans that nobody waits for", leave_zombies},
    {"signal", "sends process PID signal NUMBER", send_signal},
    {"look-into", "reads FILE of process PID under /proc", look_into},
    {"write-exe", "opens the program of process PID for writing", write_program_of},
    {"hold-capability", "has a capability in any set", hold_capability},
    {"could-gain-capability", "could get a capability from execve or a change of uid",
     could_gain_capability},
    {"be-root", "is uid 0", be_root},
    {"core-limit", "allows itself core dumps", allow_core_dumps},
    {"hold", "makes a thing of KIND with NUMBER and keeps it", hold_thing},
    {"leave", "makes a thing of KIND with NUMBER and leaves it behind", leave_thing},
    {"find", "finds the thing of KIND with NUMBER that another process made", find_thing},
};

}  // namespace

std::span<const Attack> process_attacks() {
  return kAttacks;
}

}  // namespace probe
