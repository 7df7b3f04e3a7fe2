#include "serve/keeper_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "base/log.h"
#include "base/text.h"
#include "credential/environment.h"
#include "egress/door.h"
#include "egress/process.h"
#include "kernel/privilege.h"
#include "kernel/turns.h"
#include "launch/launcher_process.h"
#include "policy/network_access.h"
#include "reader/reader.h"
#include "serve/front_control.h"
#include "serve/notify.h"

namespace sallyport {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A child that dies is started again at once, and then less and less often.
constexpr milliseconds kFirstDelay{50}, kLongestDelay{5'000};
// Who lives that long has not died of being started.
constexpr milliseconds kSteady{10'000};
// Reading a policy and testing it takes time: nobody makes us do it all the time.
constexpr milliseconds kBetweenReloads{500};
// Beyond the drain time: for the results of calls that were cut.
constexpr milliseconds kAfterDrain{12'000};
constexpr milliseconds kLauncherTime{2'000};
constexpr milliseconds kEgressTime{3'000};

struct Child {
  pid_t pid = -1;
  Clock::time_point started, start_at;
  milliseconds delay{};

  void ended(Clock::time_point now) {
    pid = -1;
    delay =
        now - started > kSteady ? kFirstDelay : std::clamp(delay * 2, kFirstDelay, kLongestDelay);
    start_at = now + delay;
  }
  void begun(pid_t child) {
    pid = child;
    started = Clock::now();
  }
};

// In a child: dies with the keeper, and is out of reach of its terminal.
void belong_to(pid_t keeper) {
  ::setsid();
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != keeper) ::_exit(1);
}

Sys<void> give_up_privileges(const FrontUser& user) {
  if (user.changes) {
    if (auto done = join_new_keyring(); !done) return done;
    if (auto done = become(user.uid, user.gid); !done) return done;
    if (auto done = drop_capabilities(); !done) return done;
  }
  if (auto done = set_no_new_privileges(); !done) return done;
  return set_dumpable(false);
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

Fd catch_signals() {
  sigset_t caught;
  ::sigemptyset(&caught);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD})
    ::sigaddset(&caught, number);
  ::sigprocmask(SIG_BLOCK, &caught, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return Fd(::signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK));
}

class Keeper {
 public:
  Keeper(const ServeOptions& options, Front front, Ground ground, CheckedPolicy policy,
         LaunchCeiling ceiling, Fd signals)
      : options_(options),
        front_main_(front),
        ground_(std::move(ground)),
        policy_(std::move(policy)),
        ceiling_(std::move(ceiling)),
        signals_(std::move(signals)) {}

  int run();

 private:
  // Until `ending` the launcher is needed.
  enum class Phase { serving, draining, ending, over };

  void start_due_children();
  void start_launcher();
  void open_files_listeners();
  void start_front();
  void start_egress();
  void end_egress();
  [[nodiscard]] ReaderSettings credentials() const {
    return reader_settings(policy_.policy.rules(), revoked_directory(ground_.state));
  }
  [[noreturn]] void be_egress(pid_t keeper);
  [[noreturn]] void be_launcher(pid_t keeper, Fd serving);
  [[noreturn]] void be_front(pid_t keeper, Fd control);
  void turn();
  [[nodiscard]] int time_left() const;
  void handle_signals();
  void reap();
  void front_ended(int status);
  void handle_control();
  void tell_front(ControlKind kind, std::string text);
  void reload_when_due();
  void reload();
  void replace_egress();
  void replace_launcher();
  void stop();
  void enter(Phase phase, milliseconds patience);
  void advance();

  const ServeOptions& options_;
  const Front front_main_;
  Ground ground_;
  CheckedPolicy policy_;
  LaunchCeiling ceiling_;
  Fd signals_;

  Child front_, launcher_, egress_;
  std::vector<pid_t> old_children_;  // of an earlier policy: they finish what they have begun
  Fd control_;                       // to the front
  Fd serving_;                       // ends when the launcher accepts no more
  bool was_ready_ = false;
  bool reload_asked_ = false;
  Clock::time_point next_reload_;
  Phase phase_ = Phase::serving;
  Clock::time_point phase_end_;
  int code_ = kStopped;
};

int Keeper::run() {
  while (phase_ != Phase::over) {
    if (phase_ == Phase::serving) {
      start_due_children();
      reload_when_due();
    }
    turn();
    advance();
  }
  end_egress();
  for (auto* listeners : {&ground_.listeners, &ground_.files})
    for (Listener& listener : *listeners)
      remove_listener(listener);
  ground_.launcher.remove();
  log_line("stopped");
  return code_;
}

// ---- Children

void Keeper::start_due_children() {
  const auto now = Clock::now();
  if (launcher_.pid < 0 && now >= launcher_.start_at) start_launcher();
  if (front_.pid < 0 && now >= front_.start_at) start_front();
  if (egress_.pid < 0 && now >= egress_.start_at && !ceiling_.networks.empty()) start_egress();
}

void Keeper::start_egress() {
  std::fflush(nullptr);
  const pid_t keeper = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) be_egress(keeper);
  if (child < 0) return egress_.ended(Clock::now());
  egress_.begun(child);
}

// Without a door it ends by itself, after its reader has given back what it must.
void Keeper::end_egress() {
  ground_.egress = {};
  const auto last = Clock::now() + kEgressTime;
  while (egress_.pid > 0) {
    if (Clock::now() >= last) ::kill(egress_.pid, SIGKILL);
    if (::waitpid(egress_.pid, nullptr, WNOHANG) != 0)
      egress_.pid = -1;
    else
      ::usleep(5'000);
  }
}

// It has the network, and nothing else: not the front's user, and no file once it has begun.
void Keeper::be_egress(pid_t keeper) {
  ::explicit_bzero(ground_.tls.key.data(), ground_.tls.key.size());
  close_all_but({ground_.egress.egress.get()});
  sigset_t none;
  ::sigemptyset(&none);
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    ::signal(number, SIG_IGN);  // the keeper decides
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  Fd reader;
  const ReaderSettings settings = credentials();
  if (!settings.sources.empty()) {
    // With the rights of the service, which its sources may need.
    auto started = start_reader(settings);
    if (!started) {
      log_line("no egress", {{"message", started.error().message}});
      ::_exit(1);
    }
    reader = std::move(*started);
  }
  forget_environment(settings);  // it is told what it needs
  if (auto done = give_up_privileges(ground_.egress_user); !done || ::chdir("/") != 0) {
    log_line("no egress", {{"message", done ? "chdir" : describe(done.error())}});
    ::_exit(1);
  }
  belong_to(keeper);
  int code = 1;
  try {
    auto served = serve_egress(std::move(ground_.egress.egress), std::move(reader));
    if (served)
      code = 0;
    else
      log_line("no egress", {{"message", served.error().message}});
  } catch (const std::exception& error) {
    log_line("egress failed", {{"message", to_utf8(error.what())}});
  }
  std::fflush(nullptr);
  ::_exit(code);
}

// Once, and only where the policy has a tool for it; a later policy without one has the launcher
// say so.
void Keeper::open_files_listeners() {
  if (ceiling_.clients.empty() || !ground_.files.empty()) return;
  for (const Listener& listener : ground_.listeners) {
    if (listener.path.empty()) continue;
    auto opened = open_files_listener(listener, ground_.user);
    if (opened) {
      log_line("listening", {{"on", opened->name}, {"for", "files of callers"}});
      ground_.files.push_back(std::move(*opened));
    } else {
      log_line("callers cannot show files", {{"message", opened.error().message}});
    }
  }
}

void Keeper::start_launcher() {
  open_files_listeners();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return launcher_.ended(Clock::now());
  Fd ours(ends[0]), theirs(ends[1]);
  const pid_t keeper = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) be_launcher(keeper, std::move(theirs));
  if (child < 0) return launcher_.ended(Clock::now());
  serving_ = std::move(ours);
  launcher_.begun(child);
}

void Keeper::be_launcher(pid_t keeper, Fd serving) {
  forget_environment(credentials());
  take_precedence();
  belong_to(keeper);
  // Nothing of clients, and nothing secret, in the process that has privileges. The descriptors of
  // the cgroup tree, which is prepared already, stay.
  ::explicit_bzero(ground_.tls.key.data(), ground_.tls.key.size());
  ground_.listeners.clear();
  control_.reset();
  serving_.reset();
  signals_.reset();
  ground_.egress.egress.reset();
  std::vector<Fd> clients;
  clients.reserve(ground_.files.size());
  for (Listener& listener : ground_.files)
    clients.push_back(std::move(listener.socket));
  int code = 0;
  try {
    code = run_launcher({.listener = std::move(ground_.launcher.listener()),
                         .serving = std::move(serving),
                         .front = ground_.user.uid,
                         .ceiling = std::move(ceiling_),
                         .egress = std::move(ground_.egress.outside),
                         .clients = std::move(clients)});
  } catch (const std::exception&) {
    code = 1;  // out of memory: the keeper starts another
  }
  ::_exit(code);
}

void Keeper::start_front() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return front_.ended(Clock::now());
  Fd ours(ends[0]), theirs(ends[1]);
  // A front that does not read must not stop us.
  (void)::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  std::fflush(nullptr);  // or the front would say it again
  const pid_t keeper = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) be_front(keeper, std::move(theirs));
  if (child < 0) return front_.ended(Clock::now());
  control_ = std::move(ours);
  front_.begun(child);
}

void Keeper::be_front(pid_t keeper, Fd control) {
  forget_environment(credentials());
  ::prctl(PR_SET_NAME, "sally-front");
  ::umask(077);
  sigset_t none;
  ::sigemptyset(&none);
  // The keeper decides when to end, and says so.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
    ::signal(number, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<int> kept = {control.get()};
  for (const Listener& listener : ground_.listeners)
    kept.push_back(listener.socket.get());
  close_all_but(std::move(kept));
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &files);
  }
  take_precedence();
  if (auto done = give_up_privileges(ground_.user); !done || ::chdir("/") != 0) {
    log_line("cannot serve", {{"message", done ? "chdir" : describe(done.error())}});
    ::_exit(1);
  }
  belong_to(keeper);  // a change of identity clears it, so it comes last

  int code = 1;
  try {
    FrontSettings settings;
    for (Listener& listener : ground_.listeners)
      settings.http.listeners.push_back({.socket = std::move(listener.socket),
                                         .tls = listener.tcp && !ground_.tls.certificate.empty()});
    settings.http.tls = std::move(ground_.tls);
    settings.http.hosts = options_.hosts;
    settings.http.trusted_proxies = options_.trusted_proxies;
    settings.policy_name = policy_.name;
    settings.policy_text = policy_.text;
    settings.state = ground_.state;
    settings.launcher = ground_.launcher.path();
    settings.program = ground_.program;
    settings.control = std::move(control);
    settings.drain = options_.drain;
    settings.otlp = options_.otlp;
    settings.checkpoint_file = options_.checkpoint_file;
    settings.checkpoint_url = options_.checkpoint_url;
    code = front_main_(std::move(settings));
  } catch (const std::exception& error) {
    log_line("front failed", {{"message", to_utf8(error.what())}});
  }
  std::fflush(nullptr);
  ::_exit(code);
}

// ---- The loop

int Keeper::time_left() const {
  auto next = Clock::time_point::max();
  if (phase_ == Phase::serving) {
    if (front_.pid < 0) next = std::min(next, front_.start_at);
    if (launcher_.pid < 0) next = std::min(next, launcher_.start_at);
    if (egress_.pid < 0 && !ceiling_.networks.empty()) next = std::min(next, egress_.start_at);
    if (reload_asked_) next = std::min(next, next_reload_);
  } else {
    next = phase_end_;
  }
  if (next == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<milliseconds>(next - Clock::now()).count();
  // At the very end the answer to SIGKILL is waited for, not asked for all the time.
  const std::int64_t least = phase_ == Phase::ending ? 20 : 0;
  return static_cast<int>(std::clamp<std::int64_t>(left, least, 3'600'000));
}

void Keeper::turn() {
  pollfd events[] = {{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                     {.fd = control_.get(), .events = POLLIN, .revents = 0}};
  if (::poll(events, 2, time_left()) <= 0) return;
  if (events[1].revents != 0) handle_control();
  if (events[0].revents != 0) handle_signals();
}

void Keeper::handle_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGHUP) reload_asked_ = true;
    if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT) stop();
  }
  reap();
}

void Keeper::reap() {
  int status = 0;
  for (pid_t ended; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (ended == front_.pid) {
      front_ended(status);
    } else if (ended == launcher_.pid) {
      serving_.reset();
      launcher_.ended(Clock::now());
      if (phase_ == Phase::serving)
        log_line("launcher ended",
                 {{"by", describe_end(status)}, {"restart_in_ms", launcher_.delay.count()}});
    } else if (ended == egress_.pid) {
      egress_.ended(Clock::now());
      if (phase_ == Phase::serving)
        log_line("egress ended",
                 {{"by", describe_end(status)}, {"restart_in_ms", egress_.delay.count()}});
    } else {
      std::erase(old_children_, ended);
    }
  }
}

void Keeper::front_ended(int status) {
  control_.reset();
  front_.ended(Clock::now());
  if (phase_ != Phase::serving) return;
  // It has said why. Another try would say the same.
  if (!was_ready_ && WIFEXITED(status)) {
    code_ = kCouldNotServe;
    return enter(Phase::ending, kLauncherTime);
  }
  log_line("front ended", {{"by", describe_end(status)}, {"restart_in_ms", front_.delay.count()}});
}

void Keeper::handle_control() {
  const auto message = receive_control(control_.get());
  if (message && message->kind == ControlKind::ready) {
    log_line("ready", {{"policy", policy_.policy.hash()}});
    if (phase_ == Phase::serving) notify_manager("READY=1");
    was_ready_ = true;
  } else if (message && message->kind == ControlKind::reload) {
    reload_asked_ = true;
  } else {
    // Gone, or not itself any more.
    control_.reset();
    if (front_.pid > 0 && phase_ == Phase::serving) ::kill(front_.pid, SIGKILL);
  }
}

void Keeper::tell_front(ControlKind kind, std::string text) {
  if (!control_) return;
  if (auto sent = send_control(control_.get(), {kind, std::move(text)}); !sent)
    log_line("front does not listen", {{"message", sent.error().message}});
}

// ---- Reload

void Keeper::reload_when_due() {
  if (!reload_asked_ || Clock::now() < next_reload_) return;
  reload_asked_ = false;
  notify_reloading();
  reload();
  notify_manager("READY=1");
  next_reload_ = Clock::now() + kBetweenReloads;
}

void Keeper::reload() {
  auto read = read_checked_policy(options_.policy, ground_.user);
  std::string problems;
  if (!read) {
    for (const std::string& problem : read.error())
      problems.append(problems.empty() ? "" : "\n").append(problem);
  } else if (read->text != policy_.text) {
    auto ceiling = make_launch_ceiling(read->policy.rules(), ground_.program, ground_.uids);
    if (ceiling) {
      ceiling_ = std::move(*ceiling);
      policy_ = std::move(*read);
      replace_egress();
      replace_launcher();
    } else {
      problems = ceiling.error().message;
    }
  }
  if (!problems.empty()) {
    log_line("policy",
             {{"state", "bad, the old one stays in force"}, {"message", to_utf8(problems)}});
    return tell_front(ControlKind::bad, problems);
  }
  log_line("policy", {{"state", "read"}, {"policy", policy_.policy.hash()}});
  tell_front(ControlKind::policy, policy_.text);
}

// The old one ends with the last call that has its door; new calls have another, with the
// credentials that the policy has now.
void Keeper::replace_egress() {
  auto door = make_door();
  if (!door) return log_line("egress stays as it is", {{"message", describe(door.error())}});
  ground_.egress = std::move(*door);
  if (egress_.pid > 0) old_children_.push_back(egress_.pid);
  egress_ = {};
}

// The new one takes over the socket; what the old one has begun it finishes. Claims wait in
// between.
void Keeper::replace_launcher() {
  if (launcher_.pid > 0) {
    ::kill(launcher_.pid, SIGTERM);
    pollfd end{.fd = serving_.get(), .events = POLLIN, .revents = 0};
    // A claim of the new policy must not meet the old ceiling.
    if (::poll(&end, 1, static_cast<int>(kLauncherTime.count())) != 1)
      ::kill(launcher_.pid, SIGKILL);
    old_children_.push_back(launcher_.pid);
    launcher_.pid = -1;
  }
  start_launcher();
}

// ---- The end

void Keeper::stop() {
  if (phase_ != Phase::serving) {  // asked twice: now
    phase_end_ = Clock::now();
    return;
  }
  notify_manager("STOPPING=1");
  log_line("stopping");
  tell_front(ControlKind::stop, {});
  enter(Phase::draining, options_.drain + kAfterDrain);
}

void Keeper::enter(Phase phase, milliseconds patience) {
  phase_ = phase;
  phase_end_ = Clock::now() + patience;
}

void Keeper::advance() {
  const bool due = phase_ != Phase::serving && Clock::now() >= phase_end_;
  if (phase_ == Phase::draining && (front_.pid < 0 || due)) enter(Phase::ending, kLauncherTime);
  if (phase_ != Phase::ending) return;
  if (front_.pid > 0) ::kill(front_.pid, SIGKILL);
  std::vector<pid_t> launchers = old_children_;
  if (launcher_.pid > 0) launchers.push_back(launcher_.pid);
  // With the front gone, so are all calls: it is the end of their connections.
  for (const pid_t pid : launchers)
    ::kill(pid, due ? SIGKILL : SIGTERM);
  if (front_.pid < 0 && launchers.empty()) phase_ = Phase::over;
}

}  // namespace

void close_all_but(std::vector<int> kept) {
  std::ranges::sort(kept);
  unsigned next = 3;
  for (const int fd : kept) {
    const auto number = static_cast<unsigned>(fd);
    if (number > next) ::close_range(next, number - 1, 0);
    next = number + 1;
  }
  ::close_range(next, ~0U, 0);
}

int keep_running(const ServeOptions& options, Front front, Ground ground, CheckedPolicy policy,
                 LaunchCeiling ceiling) {
  Fd signals = catch_signals();
  take_short_turns();
  return Keeper(options, front, std::move(ground), std::move(policy), std::move(ceiling),
                std::move(signals))
      .run();
}

}  // namespace sallyport
