#include "launch/launcher_process.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <map>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "kernel/cgroup.h"
#include "kernel/memory_file.h"
#include "launch/pool_status.h"
#include "launch/visitors.h"

namespace sallyport {
namespace {

using Clock = std::chrono::steady_clock;

// A connection sends its claim at once; one that does not is in the way of others.
constexpr auto kClaimTime = std::chrono::seconds(10);
constexpr std::size_t kMostWaiting = 64;
constexpr std::size_t kMostTemplates = 64;
constexpr std::size_t kMostTurningAway = 16, kMostUnwelcome = 64;
constexpr int kMostIdle = 16;
// A bit less than their own: what they are told to make, they make.
constexpr auto kIdleLife = kSupervisorLife - std::chrono::seconds(5);
// Whoever gets one late has this long with it.
constexpr auto kRootLife = kSupervisorLife / 2;
constexpr std::size_t kMostRoots = 64;
constexpr auto kTemplateBackOff = std::chrono::minutes(1);
CellPool::Builders builders_for(unsigned cores) {
  return {.wanted = std::max(8U, 4 * cores), .ahead = std::max(1U, cores / 2)};
}

Outcome busy(std::string message) {
  Outcome outcome;
  outcome.status = Status::blocked;
  outcome.reason = Reason::unavailable;
  outcome.message = std::move(message);
  outcome.hint = "try again when other calls have ended";
  return outcome;
}

// A process of ours that makes something and has a socket to us.
struct Child {
  pid_t pid;
  Fd socket;
  PacketId id;        // of its class
  PacketId wanted{};  // the template that it would have liked, or that it makes
  enum { making, calling, idle } doing = making;
  Clock::time_point since = Clock::now();
  std::uint64_t images = 0;  // the state of those that it knows
};

class LauncherLoop {
 public:
  LauncherLoop(LauncherSettings settings, Fd signals, Fd events)
      : settings_(std::move(settings)),
        signals_(std::move(signals)),
        events_(std::move(events)),
        pool_(settings_.ceiling.pool, builders_for(std::thread::hardware_concurrency())) {
    watch(signals_.get());
    watch(settings_.listener.get());
    for (const std::string& bytes : settings_.ceiling.expected)
      if (auto file = make_memory_file(bytes))
        pool_.expect(id_of(bytes), std::move(*file), Clock::now());
    for (const Fd& listener : settings_.clients)
      watch(listener.get());
  }

  void run() {
    while (settings_.listener || !waiting_.empty() || !processes_.empty())
      turn();
  }

 private:
  using Children = std::map<int, Child>;
  struct Waiting {
    Fd connection;
    Clock::time_point until;
  };

  void turn();
  void watch(int fd);
  void handle(int fd);
  void handle_signals();
  void stop();
  void accept_some();
  void read_claim(Waiting& waiting);
  void read_child(Child& child);
  void keep_root(Packet packet);
  void note_idle(Child& child);
  void drop_idle(Clock::time_point now);
  Children::iterator oldest_idle();
  bool make_again(const CellPool::Build& build);
  void take_image(Child& child, Fd image);
  void tend_pool();
  bool start_parked(const CellPool::Build& build);
  void start_template(const Child& child);
  void hand_over(CellPool::HandOver pair);
  void let_go(std::span<const CellPool::Handle> handles);
  void start(const Fd& connection, const Packet& claim);
  [[nodiscard]] bool is_for_clients(int fd) const;
  void accept_client(int listener);
  void turn_away(Fd client);
  void turn_away_some();
  void hand_to_visitor(const Fd& connection, const Packet& claim);
  void end_visits(Clock::time_point now);
  template <class Work>
  pid_t fork_child(Work&& work);
  void close_in_child();
  [[nodiscard]] bool is_busy() const { return !supervisors_.empty(); }
  [[nodiscard]] SupervisorPost post() const {
    return {.ceiling = settings_.ceiling,
            .front = settings_.front,
            .launcher = launcher_,
            .egress = settings_.egress.get(),
            .images = images_,
            .roots = roots_};
  }

  LauncherSettings settings_;
  Fd signals_;
  Fd events_;  // epoll
  CellPool pool_;
  Images images_;
  Roots roots_;
  std::uint64_t images_state_ = 0;  // a number for each change
  std::map<int, Waiting> waiting_;  // connections without a claim, by their descriptors
  Children children_;               // by their sockets
  Visitors visitors_;
  std::vector<Fd> unwelcome_;     // connections of clients that have no place
  std::set<pid_t> turning_away_;  // who ends such connections
  bool clients_wait_ = false;
  std::set<pid_t> processes_;    // all that we have started, but for those of clients without a
                                 // claim: nobody waits for them at the end
  std::set<pid_t> supervisors_;  // those that have a call
  std::map<PacketId, Clock::time_point> tried_;  // templates, and when to try again
  pid_t launcher_ = ::getpid();
};

void LauncherLoop::watch(int fd) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  (void)::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event);
}

void LauncherLoop::turn() {
  std::optional<Clock::time_point> next =
      settings_.listener ? pool_.next_change(is_busy()) : std::nullopt;
  for (const auto& [fd, waiting] : waiting_)
    if (!next || waiting.until < *next) next = waiting.until;
  if (const auto oldest = oldest_idle(); oldest != children_.end())
    if (const auto end = oldest->second.since + kIdleLife; !next || end < *next) next = end;
  for (const auto& [id, kept] : roots_)
    if (!next || kept.since + kRootLife < *next) next = kept.since + kRootLife;
  if (const auto end = visitors_.next_end(); end && (!next || *end < *next)) next = end;
  int patience = -1;
  if (next) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now());
    patience = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
  }
  std::array<epoll_event, 16> events{};
  const int count =
      ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), patience);
  for (int i = 0; i < count; ++i)
    handle(events[static_cast<std::size_t>(i)].data.fd);
  std::erase_if(waiting_, [now = Clock::now()](const auto& entry) {
    return !entry.second.connection || entry.second.until <= now;
  });
  std::erase_if(roots_, [now = Clock::now()](const auto& entry) {
    return now - entry.second.since >= kRootLife;
  });
  end_visits(Clock::now());
  tend_pool();
}

void LauncherLoop::handle(int fd) {
  if (fd == signals_.get()) return handle_signals();
  if (fd == settings_.listener.get()) return accept_some();
  if (const auto at = waiting_.find(fd); at != waiting_.end()) return read_claim(at->second);
  if (const auto at = children_.find(fd); at != children_.end()) return read_child(at->second);
  if (is_for_clients(fd)) return accept_client(fd);
  // A visitor says nothing while it waits: it has ended, unless the event is an older one's.
  if (visitors_.has(fd))
    if (const auto packet = receive_packet(fd); packet || packet.error().err != EAGAIN)
      visitors_.gone(fd);
}

void LauncherLoop::handle_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof(info)) == sizeof(info))
    if (info.ssi_signo == SIGTERM) stop();
  int status = 0;
  bool killed = false;
  for (pid_t ended; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    // It has made nothing that could be left behind.
    if (visitors_.ended(ended) || turning_away_.erase(ended) != 0) continue;
    processes_.erase(ended);
    supervisors_.erase(ended);
    killed = killed || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  turn_away_some();
  // What it had made is left behind. Not by us: it may take its time.
  if (killed)
    (void)fork_child([] {
      sweep_cgroups();
      ::_exit(0);
    });
}

// Calls go on; what only waits for one has nothing to wait for any more.
void LauncherLoop::stop() {
  // The keeper holds it, too: without this it would go on being told of.
  if (settings_.listener)
    (void)::epoll_ctl(events_.get(), EPOLL_CTL_DEL, settings_.listener.get(), nullptr);
  settings_.listener.reset();
  settings_.serving.reset();
  for (CellPool::WaitingClaim& claim : pool_.expired(Clock::time_point::max()))
    start(claim.connection, claim.claim);
  children_.clear();
  roots_.clear();
  for (const Fd& listener : settings_.clients)
    (void)::epoll_ctl(events_.get(), EPOLL_CTL_DEL, listener.get(), nullptr);
  settings_.clients.clear();
  end_visits(Clock::time_point::max());
}

void LauncherLoop::accept_some() {
  // One at a time: whoever keeps connecting does not keep claims from being read.
  if (!settings_.listener) return;
  Fd connection(
      ::accept4(settings_.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection) return;
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.uid != settings_.front)
    return;
  if (waiting_.size() >= kMostWaiting)
    waiting_.erase(std::ranges::min_element(waiting_, {},
                                            [](const auto& entry) { return entry.second.until; }));
  const int fd = connection.get();
  auto [at, added] = waiting_.insert_or_assign(
      fd, Waiting{.connection = std::move(connection), .until = Clock::now() + kClaimTime});
  watch(fd);
  // Mostly the claim is there already.
  read_claim(at->second);
}

void LauncherLoop::read_claim(Waiting& waiting) {
  auto packet = receive_packet(waiting.connection.get());
  if (!packet && packet.error().err == EAGAIN) return;
  // It stays with its time as it was: whoever greets does not stay for longer.
  if (packet && packet->kind == PacketKind::hello &&
      send_packet(waiting.connection.get(), PacketKind::hello, 0, {}))
    return;
  if (packet && packet->kind == PacketKind::pool && packet->fds.empty() &&
      send_status(waiting.connection.get(), pool_.status()))
    return;
  (void)::epoll_ctl(events_.get(), EPOLL_CTL_DEL, waiting.connection.get(), nullptr);
  Fd connection = std::move(waiting.connection);
  waiting_.erase(connection.get());
  if (!packet || packet->kind != PacketKind::claim) return;
  if (supervisors_.size() >= settings_.ceiling.cells)
    return send_outcome(connection.get(), busy("as many cells run as the launcher lets run"));
  if ((packet->flags & kHasTicket) != 0) return hand_to_visitor(connection, *packet);
  if ((packet->flags & kHasClass) == 0 || settings_.ceiling.pool.max == 0 || !settings_.listener)
    return start(connection, *packet);
  const auto now = Clock::now();
  auto refused = pool_.add(
      {.connection = std::move(connection), .claim = std::move(*packet), .until = now + kClaimTime},
      now);
  if (refused) start(refused->connection, refused->claim);
}

void LauncherLoop::read_child(Child& child) {
  auto packet = receive_packet(child.socket.get());
  if (!packet && packet.error().err == EAGAIN) return;
  if (packet && packet->kind == PacketKind::image)
    return take_image(child, std::move(packet->fds[0]));
  if (packet && packet->kind == PacketKind::root) return keep_root(std::move(*packet));
  if (packet && packet->kind == PacketKind::idle) return note_idle(child);
  if (packet && packet->kind == PacketKind::ready) {
    child.wanted = packet->id;
    if ((packet->flags & kBadImage) != 0 && child.images == images_state_ &&
        images_.erase(packet->id) != 0)
      ++images_state_;
    pool_.ready(child.socket.get(), packet->size * kPacketUnit, (packet->flags & kDozing) != 0,
                Clock::now());
    if (child.wanted == PacketId{}) return;
    if (!images_.contains(child.wanted)) return start_template(child);
    // It was begun before the image was there.
    pool_.retire(child.socket.get());
    children_.erase(child.socket.get());
    return;
  }
  if (child.doing == Child::making) {
    pool_.gone(child.socket.get(), Clock::now());
    pool_.hold(child.id, false);
  }
  children_.erase(child.socket.get());
}

void LauncherLoop::keep_root(Packet packet) {
  if (!settings_.listener || roots_.size() >= kMostRoots) return;
  SharedRoot root{.mounts = std::move(packet.fds[0]), .root = std::move(packet.fds[1])};
  roots_.insert_or_assign(packet.id, KeptRoot{.root = std::move(root), .since = Clock::now()});
}

// It may make another cell; but not many wait for that.
void LauncherLoop::note_idle(Child& child) {
  supervisors_.erase(child.pid);
  child.doing = Child::idle;
  drop_idle(Clock::now());
}

void LauncherLoop::drop_idle(Clock::time_point now) {
  std::erase_if(children_, [&](const auto& entry) {
    return entry.second.doing == Child::idle &&
           (now - entry.second.since >= kIdleLife || entry.second.images != images_state_);
  });
  const auto oldest = oldest_idle();
  if (oldest == children_.end()) return;
  const auto idle = std::ranges::count(children_, Child::idle,
                                       [](const auto& entry) { return entry.second.doing; });
  if (idle > kMostIdle) children_.erase(oldest);
}

LauncherLoop::Children::iterator LauncherLoop::oldest_idle() {
  auto oldest = children_.end();
  for (auto at = children_.begin(); at != children_.end(); ++at)
    if (at->second.doing == Child::idle &&
        (oldest == children_.end() || at->second.since < oldest->second.since))
      oldest = at;
  return oldest;
}

std::uint8_t flags_of(const CellPool::Build& build) {
  return static_cast<std::uint8_t>((build.spare ? kSpare : 0) | (build.dozes ? kMayDoze : 0));
}

bool LauncherLoop::make_again(const CellPool::Build& build) {
  const auto at = std::ranges::find_if(children_, [&](const auto& entry) {
    return entry.second.doing == Child::idle && entry.second.id == build.id;
  });
  if (at == children_.end()) return false;
  if (!send_packet(at->first, PacketKind::make, flags_of(build), {})) {
    children_.erase(at);
    return false;
  }
  at->second.doing = Child::making;
  pool_.building(build.id, at->first, Clock::now());
  return true;
}

// Cells that were made without it are replaced.
void LauncherLoop::take_image(Child& child, Fd image) {
  const PacketId made = child.wanted;
  pool_.hold(child.id, false);
  images_.insert_or_assign(made, std::move(image));
  ++images_state_;
  pool_.note_template();
  children_.erase(child.socket.get());
  std::set<PacketId> classes;
  for (const auto& [fd, other] : children_)
    if (other.wanted == made) classes.insert(other.id);
  for (const PacketId& id : classes)
    let_go(pool_.retire(id));
}

void LauncherLoop::tend_pool() {
  if (!settings_.listener) return;
  const auto now = Clock::now();
  drop_idle(now);
  while (supervisors_.size() < settings_.ceiling.cells) {
    auto pair = pool_.next_hand_over(now);
    if (!pair) break;
    hand_over(std::move(*pair));
  }
  for (const CellPool::WaitingClaim& claim : pool_.expired(now))
    send_outcome(claim.connection.get(), busy("no cell could be made in time"));
  for (auto build = pool_.next_build(now, is_busy()); build;
       build = pool_.next_build(now, is_busy()))
    if (!start_parked(*build)) {
      pool_.not_building(build->id, now);
      break;
    }
  let_go(pool_.surplus(now));
  while (const auto handle = pool_.next_wake(is_busy())) {
    auto sent = send_packet(*handle, PacketKind::wake, 0, {});
    (void)sent;  // of one that has died we hear
  }
}

void LauncherLoop::let_go(std::span<const CellPool::Handle> handles) {
  for (const CellPool::Handle handle : handles)
    children_.erase(handle);
}

void LauncherLoop::hand_over(CellPool::HandOver pair) {
  const auto at = children_.find(pair.to);
  std::vector<int> fds = {pair.claim.connection.get()};
  for (const Fd& fd : pair.claim.claim.fds)
    fds.push_back(fd.get());
  // One that died meanwhile has not run anything.
  if (at == children_.end() ||
      !send_packet(pair.to, PacketKind::hand_over, pair.claim.claim.flags, fds, pair.claim.claim.id,
                   0, pair.claim.claim.content)) {
    if (at != children_.end()) children_.erase(at);
    return start(pair.claim.connection, pair.claim.claim);
  }
  supervisors_.insert(at->second.pid);
  at->second.doing = Child::calling;
}

// A child of ours holds nothing of other calls, or their clients would not see them end.
void LauncherLoop::close_in_child() {
  settings_.listener.reset();
  settings_.serving.reset();
  settings_.clients.clear();
  visitors_.forget();
  signals_.reset();
  events_.reset();
  waiting_.clear();
  children_.clear();
  pool_.forget_claims();
  unwelcome_.clear();  // the launcher has them still
}

template <class Work>
pid_t LauncherLoop::fork_child(Work&& work) {
  const pid_t child = ::fork();
  if (child > 0) processes_.insert(child);
  if (child != 0) return child;
  close_in_child();
  work();
  ::_exit(1);
}

bool LauncherLoop::start_parked(const CellPool::Build& build) {
  if (make_again(build)) return true;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return false;
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  const pid_t pid = fork_child([&] {
    ours.reset();
    supervise_parked(post(), theirs, build.class_bytes, flags_of(build));
  });
  if (pid < 0) return false;
  const int handle = ours.get();
  watch(handle);
  pool_.building(build.id, handle, Clock::now());
  children_.insert_or_assign(
      handle,
      Child{.pid = pid, .socket = std::move(ours), .id = build.id, .images = images_state_});
  return true;
}

// One that cannot be made is tried again later: its modules may be mended meanwhile.
void LauncherLoop::start_template(const Child& child) {
  const auto now = Clock::now();
  if (images_.contains(child.wanted)) return;
  const auto tried = tried_.find(child.wanted);
  if (tried != tried_.end() && tried->second > now) return;
  if (tried == tried_.end() && tried_.size() >= kMostTemplates) return;
  tried_[child.wanted] = now + kTemplateBackOff;
  const int class_bytes = pool_.class_bytes(child.id);
  int ends[2];
  if (class_bytes < 0 ||
      ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return;
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  const pid_t pid = fork_child([&] {
    ours.reset();
    make_template(post(), theirs, class_bytes);
  });
  if (pid < 0) return;
  const int handle = ours.get();
  watch(handle);
  pool_.hold(child.id, true);
  children_.insert_or_assign(
      handle, Child{.pid = pid, .socket = std::move(ours), .id = child.id, .wanted = child.wanted});
}

// A claim for which no cell is waiting or may be.
void LauncherLoop::start(const Fd& connection, const Packet& claim) {
  const pid_t child = fork_child([&] { supervise(post(), connection, claim); });
  if (child < 0)
    return send_outcome(connection.get(), busy("the launcher cannot start another process"));
  supervisors_.insert(child);
}

// ---- Clients that show files of their own

bool LauncherLoop::is_for_clients(int fd) const {
  return std::ranges::any_of(settings_.clients,
                             [&](const Fd& listener) { return listener.get() == fd; });
}

// The process that hears it has no privileges that we do not have, but it can be waited for by
// nobody: a descriptor that a client sends may take any time to be closed.
// To close a connection is to close the descriptors that its client has sent and nobody has taken,
// which may take as long as the client likes. So the last one to hold it is always a child, which
// closes it by ending: a process that ends does not wait for what it sent.
void LauncherLoop::accept_client(int listener) {
  VisitPost visit{.client = Fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)),
                  .peer = {},
                  .ticket = {}};
  if (!visit.client) return;
  socklen_t size = sizeof(visit.peer);
  int ends[2];
  if (::getsockopt(visit.client.get(), SOL_SOCKET, SO_PEERCRED, &visit.peer, &size) != 0 ||
      !visitors_.has_room(visit.peer.uid) ||
      ::getrandom(visit.ticket.data(), visit.ticket.size(), 0) !=
          static_cast<ssize_t>(visit.ticket.size()) ||
      visit.ticket == PacketId{} ||
      ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return turn_away(std::move(visit.client));
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  const pid_t pid = fork_child([&] {
    ours.reset();
    supervise_visit(post(), theirs, visit);
  });
  if (pid < 0) return turn_away(std::move(visit.client));
  processes_.erase(pid);
  visit.client.reset();
  [[maybe_unused]] const auto told = send_packet(ours.get(), PacketKind::go, 0, {});
  watch(ours.get());
  visitors_.add({.pid = pid,
                 .socket = std::move(ours),
                 .uid = visit.peer.uid,
                 .ticket = visit.ticket,
                 .until = Clock::now() + Visitors::kTime});
}

void LauncherLoop::turn_away(Fd client) {
  unwelcome_.push_back(std::move(client));
  turn_away_some();
}

// As long as all of those who do it are held up, no client is let in.
void LauncherLoop::turn_away_some() {
  if (!unwelcome_.empty() && turning_away_.size() < kMostTurningAway) {
    int ends[2];
    std::vector<Fd> held = std::exchange(unwelcome_, {});
    pid_t pid = -1;
    if (::pipe2(ends, O_CLOEXEC) == 0) {
      Fd end(ends[0]), go(ends[1]);
      pid = fork_child([&] {
        go.reset();
        char none = 0;
        (void)!::read(end.get(), &none, 1);  // until the launcher holds them no more
        ::_exit(0);
      });
      if (pid > 0) held.clear();
    }
    if (pid > 0) {
      processes_.erase(pid);
      turning_away_.insert(pid);
    } else {
      unwelcome_ = std::move(held);
    }
  }
  const bool full = unwelcome_.size() >= kMostUnwelcome;
  if (full == clients_wait_) return;
  clients_wait_ = full;
  for (const Fd& listener : settings_.clients) {
    epoll_event event{.events = full ? 0U : EPOLLIN, .data = {.fd = listener.get()}};
    (void)::epoll_ctl(events_.get(), EPOLL_CTL_MOD, listener.get(), &event);
  }
}

// Used once: from here on it is a supervisor like others.
void LauncherLoop::hand_to_visitor(const Fd& connection, const Packet& claim) {
  auto visitor = visitors_.take(claim.id);
  std::vector<int> fds = {connection.get()};
  for (const Fd& fd : claim.fds)
    fds.push_back(fd.get());
  if (!visitor || !send_packet(visitor->socket.get(), PacketKind::hand_over, claim.flags, fds,
                               claim.id, 0, claim.content)) {
    if (visitor) processes_.insert(visitor->pid);
    Outcome outcome = busy("the files that the client has shown are not there any more");
    outcome.hint = "a ticket is good for one call, within a minute, while its client waits for it";
    return send_outcome(connection.get(), outcome);
  }
  processes_.insert(visitor->pid);
  supervisors_.insert(visitor->pid);
  const int handle = visitor->socket.get();
  children_.insert_or_assign(handle, Child{.pid = visitor->pid,
                                           .socket = std::move(visitor->socket),
                                           .id = {},
                                           .doing = Child::calling});
}

void LauncherLoop::end_visits(Clock::time_point now) {
  for (const pid_t pid : visitors_.expired(now))
    ::kill(pid, SIGKILL);
}

}  // namespace

int run_launcher(LauncherSettings settings) {
  ::prctl(PR_SET_NAME, "sally-launcher");
  sigset_t caught;
  ::sigemptyset(&caught);
  // Supervisors inherit that these are blocked: what ends a call is its connection.
  for (const int number : {SIGTERM, SIGCHLD, SIGINT, SIGHUP, SIGQUIT})
    ::sigaddset(&caught, number);
  ::sigprocmask(SIG_BLOCK, &caught, nullptr);
  for (const int number : {SIGPIPE, SIGXFSZ})
    ::signal(number, SIG_IGN);
  Fd signals(::signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK));
  Fd events(::epoll_create1(EPOLL_CLOEXEC));
  if (!signals || !events || ::chdir("/") != 0) return 1;
  // What a killed launcher left behind.
  sweep_cgroups();
  LauncherLoop(std::move(settings), std::move(signals), std::move(events)).run();
  return 0;
}

}  // namespace sallyport
