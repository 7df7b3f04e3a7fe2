#include <fcntl.h>
#include <linux/magic.h>
#include <malloc.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <memory>
#include <optional>

#include "base/call_id.h"
#include "base/log.h"
#include "base/text.h"
#include "cell/late.h"
#include "cell/parked.h"
#include "kernel/memory_file.h"
#include "launch/launcher_process.h"
#include "launch/visit.h"
#include "tool/denied_paths.h"

namespace sallyport {
namespace {

using namespace std::string_literals;

std::unexpected<Error> refuse(std::string what) {
  return fail(Reason::cannot_enforce, "the launcher refused the call: " + std::move(what));
}

// A stream goes to the write end of a pipe without a name. The relay opens it anew so as never to
// wait: for root, that would turn a FIFO which the front may only see into one that it writes to.
Result<int> check_stream(const Fd& fd) {
  struct stat status{};
  struct statfs place{};
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_RDONLY ||
      ::fstat(fd.get(), &status) != 0 || !S_ISFIFO(status.st_mode) ||
      ::fstatfs(fd.get(), &place) != 0 || place.f_type != PIPEFS_MAGIC)
    return refuse("a stream is not the write end of a pipe");
  return fd.get();
}

// Root writes artifacts with the rights of the directory's owner: it must be the front itself.
Result<void> check_directory(const Fd& fd, uid_t front) {
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0 || !S_ISDIR(status.st_mode))
    return refuse("what should be the directory for artifacts is none");
  if (status.st_uid != front)
    return refuse("the directory for artifacts belongs to uid " + std::to_string(status.st_uid) +
                  " and not to the front");
  return {};
}

// The front could speak over it by itself; a descriptor of any other kind could be a way out of the
// cell.
Result<int> check_connection(const Fd& fd) {
  const auto option = [&](int name) {
    int value = -1;
    socklen_t size = sizeof(value);
    return ::getsockopt(fd.get(), SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
  };
  const int domain = option(SO_DOMAIN);
  sockaddr_storage peer{};
  socklen_t peer_size = sizeof(peer);
  if (option(SO_TYPE) != SOCK_STREAM || option(SO_ACCEPTCONN) != 0 ||
      ::getpeername(fd.get(), reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0 ||
      (domain != AF_UNIX && domain != AF_INET && domain != AF_INET6))
    return refuse("what should be a connection is none");
  return fd.get();
}

struct Order {
  Claim claim;
  CellStreams streams;
};

// A claim with files of a client is answered by the process that the client has shown them to, and
// that process answers no other claim. A descriptor that comes from the front is never one of them.
Result<void> check_client(const LaunchCeiling& ceiling, const ShowingClient* visitor,
                          CellSpec& spec) {
  if (visitor != nullptr) return check_visit_claim(ceiling, *visitor, spec);
  if (spec.client.files.empty()) return {};
  return refuse("no client has shown the files that it names");
}

Result<Order> read_order(const LaunchCeiling& ceiling, uid_t front, const Packet& packet,
                         const ShowingClient* visitor, std::string& call_id) {
  std::string from_file;
  if (packet.content.empty()) {
    auto bytes = read_memory_file(packet.fds[0].get(), kLargestClaim);
    if (!bytes) return refuse("its claim cannot be read: " + describe(bytes.error()));
    from_file = std::move(*bytes);
  }
  auto claim = decode_claim(packet.content.empty() ? from_file : packet.content);
  if (!claim) return refuse(claim.error().message);
  call_id = to_utf8(claim->spec.call_id.substr(0, 64));
  claim->spec.swept = true;  // the launcher does, where a killed process may have left something

  Order order{.claim = std::move(*claim), .streams = {}};
  const bool has_directory = (packet.flags & kHasDirectory) != 0;
  const CarriedThings carried{.directory = has_directory,
                              .connection = (packet.flags & kHasConnection) != 0};
  if (auto checked = check_claim(ceiling, order.claim, carried); !checked)
    return std::unexpected(std::move(checked.error()));
  std::size_t next = first_named(packet) + ((packet.flags & kHasClass) != 0 ? 1 : 0);
  for (const auto& [flag, stream] :
       {std::pair(kHasOutput, &CellStreams::output), std::pair(kHasError, &CellStreams::error)}) {
    if ((packet.flags & flag) == 0) continue;
    auto fd = check_stream(packet.fds[next++]);
    if (!fd) return std::unexpected(std::move(fd.error()));
    order.streams.*stream = *fd;
  }
  if (has_directory) {
    const Fd& directory = packet.fds[next++];
    if (auto checked = check_directory(directory, front); !checked)
      return std::unexpected(std::move(checked.error()));
    order.claim.spec.output_directory = "/proc/self/fd/" + std::to_string(directory.get());
  }
  if ((packet.flags & kHasConnection) != 0) {
    auto fd = check_connection(packet.fds[next]);
    if (!fd) return std::unexpected(std::move(fd.error()));
    order.streams.connection = *fd;
  }
  if (auto denied = check_denied_paths(ceiling.denied, order.claim.spec); !denied)
    return std::unexpected(std::move(denied.error()));
  if (auto checked = check_client(ceiling, visitor, order.claim.spec); !checked)
    return std::unexpected(std::move(checked.error()));
  return order;
}

// The front has this long to write its record.
constexpr int kGoTime = 60'000;
// And this long to write the next, while what is left of the cell does not keep it from that.
constexpr int kAnswerTime = 2;

// What the front says of a call that was accepted. It has ended the call if it is dead, too, or
// says something else. Asked after `accepted` is sent: a front that ends the call and then finds
// nothing received knows that the tool will not run, whatever it has said before.
enum class FrontsWord { go, end, none };
FrontsWord hear_front(int connection) {
  pollfd front{.fd = connection, .events = POLLIN | POLLRDHUP, .revents = 0};
  int came = 0;
  do
    came = ::poll(&front, 1, kGoTime);
  while (came < 0 && errno == EINTR);
  if (came == 0) return FrontsWord::none;
  if (came < 0 || front.revents != POLLIN) return FrontsWord::end;
  const auto packet = receive_packet(connection);
  return packet && packet->kind == PacketKind::go ? FrontsWord::go : FrontsWord::end;
}

void wait_for_hang_up(int connection) {
  pollfd front{.fd = connection, .events = POLLRDHUP, .revents = 0};
  (void)::poll(&front, 1, kAnswerTime);
}

Outcome cancelled(std::string call_id) {
  Outcome outcome;
  outcome.call_id = std::move(call_id);
  outcome.status = Status::killed;
  outcome.reason = Reason::cancelled;
  outcome.message = "killed: the caller ended it before it began";
  return outcome;
}

bool has_hung_up(int client) {
  pollfd event{.fd = client, .events = POLLIN | POLLRDHUP, .revents = 0};
  return ::poll(&event, 1, 0) != 0;
}

// What is left of a call when it is answered; taking it down is nothing that the caller waits for.
struct Answer {
  Outcome outcome;
  std::unique_ptr<Cell> cell = {};
};

// `parked`: a cell that waits for such a claim, and the class that it was made for.
struct ParkedCell {
  std::unique_ptr<Cell> cell;
  std::string class_bytes;
};

bool is_of_class(const Claim& claim, const std::string& class_bytes) {
  const auto bytes = encode(Claim{.tenant = claim.tenant, .spec = class_of(claim.spec)});
  return bytes && *bytes == class_bytes && may_be_parked(claim.spec) && fits_parked(claim.spec);
}

Answer answer(const SupervisorPost& post, const Fd& connection, const Packet& packet,
              ParkedCell parked = {}, const ShowingClient* visitor = nullptr) {
  std::string call_id;
  auto order = read_order(post.ceiling, post.front, packet, visitor, call_id);
  if (!order) return {blocked(call_id, std::move(order.error()))};
  if (!send_packet(connection.get(), PacketKind::accepted, 0, {})) return {cancelled(call_id)};
  const CellSpec& spec = order->claim.spec;
  order->streams.cancel = connection.get();
  order->streams.egress = post.egress;
  // While the front writes its record, all is made ready that runs nothing.
  const bool is_ready = parked.cell && is_of_class(order->claim, parked.class_bytes) &&
                        order->streams.connection < 0 &&
                        parked.cell->get_ready(spec, order->streams);
  switch (hear_front(connection.get())) {
    case FrontsWord::go:
      break;
    case FrontsWord::end:
      return {cancelled(call_id)};
    case FrontsWord::none:
      return {blocked(call_id, {Reason::unavailable, "the call was not let begin in time",
                                "nothing was run; the disk of the state directory may be slow"})};
  }
  // Nothing is done to the files of a client that does not wait for it any more.
  if (visitor != nullptr && has_hung_up(visitor->connection))
    return {blocked(call_id, {Reason::unavailable, "the client that showed its files has gone",
                              "nothing was run"})};
  if (is_ready && parked.cell->start()) {
    Outcome outcome = parked.cell->run();
    return {std::move(outcome), std::move(parked.cell)};
  }
  parked.cell.reset();
  auto cell = Cell::make(spec, order->streams);
  if (!cell) return {blocked(call_id, std::move(cell.error()))};
  Outcome outcome = (*cell)->run();
  return {std::move(outcome), std::move(*cell)};
}

// The spec that a class of cells is made from. An error: the launcher lets nobody have one.
Result<Claim> read_class(const SupervisorPost& post, int file, std::string& bytes) {
  auto text = read_memory_file(file, kLargestClaim);
  if (!text) return refuse("its class cannot be read");
  bytes = std::move(*text);
  auto claim = decode_claim(bytes);
  if (!claim) return claim;
  // A class has none of these; the ceiling wants to see them.
  claim->spec.call_id = make_call_id();
  claim->spec.command = {"-"};
  claim->spec.swept = true;
  claim->spec.limits.timeout = post.ceiling.limits.timeout;
  if (claim->spec.use_stdin) claim->spec.input.emplace();
  if (!may_be_parked(claim->spec)) return refuse("such a cell is not made ahead of need");
  if (auto checked = check_claim(post.ceiling, *claim); !checked)
    return std::unexpected(std::move(checked.error()));
  claim->spec.input.reset();
  return claim;
}

void live_with(pid_t launcher, const char* name) {
  // The launcher may have died before this process could ask to die with it.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != launcher) ::_exit(1);
  ::prctl(PR_SET_NAME, name);
}

constexpr const char* kName = "sally-supervise";
constexpr int kSpareNice = 10;
// Of a cell that waits, beside what is counted as its own: of its supervisor, and the kernel's for
// its namespaces and mounts (`bench/warm` measures it).
constexpr std::uint64_t kSupervisorMemory = 520'000;

// An interpreter that has started knows its modules and the system that it found them in, and
// nothing else: cells that agree in these may share an image, whosever they are.
PacketId template_of(const CellSpec& spec) {
  std::string text = spec.root + '\0' + spec.syscalls;
  for (const std::string& module : spec.warm.preload)
    text.append(1, '\0').append(module);
  return id_of(text);
}

// What make_shared_root() looks at; and the tenant, whose cells share it with no other's.
PacketId root_of(const Claim& claim) {
  const bool python = claim.spec.warm.interpreter == Interpreter::python;
  return id_of(claim.tenant + '\0' + claim.spec.hostname + (python ? "\0python"s : ""s));
}

// Makes cells of one class, one after the other: what they share is made once, and so is this
// process. It lives for a while only, so that what it has seen of the system does not grow old.
class CellMaker {
 public:
  CellMaker(const SupervisorPost& post, const Fd& socket, int class_file)
      : post_(post), socket_(socket), claim_(read_class(post, class_file, class_bytes_)) {
    live_with(post.launcher, kName);
    if (claim_ && may_share_root(claim_->spec)) find_root();
  }

  // False: something may be left of the last cell.
  [[nodiscard]] bool work(std::uint8_t how) {
    for (int made = 1;; ++made) {
      // Whoever writes files as another user loses what was asked for here.
      live_with(post_.launcher, kName);
      const End end = park_and_answer(how);
      if (end != End::clean) return end == End::over;
      if (made == kMostCells || Clock::now() >= until_ ||
          !send_packet(socket_.get(), PacketKind::idle, 0, {}))
        return true;
      wait_for_socket();
      const auto order = receive_packet(socket_.get());
      if (!order || order->kind != PacketKind::make) return true;
      how = order->flags;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kMostCells = 1000;

  void find_root();
  // Another cell may follow; none is to follow; something may be left of this one.
  enum class End { clean, over, unclean };
  End park_and_answer(std::uint8_t how);
  ParkedCell park(Packet& ready, bool may_doze);
  [[nodiscard]] bool say_ready(const ParkedCell& parked, const Packet& ready) const;
  Sys<Packet> wait_for_claim(const ParkedCell& parked) const;
  void wait_for_socket() const {
    pollfd event{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    while (::poll(&event, 1, -1) < 0 && errno == EINTR)
      ;
  }

  const SupervisorPost& post_;
  const Fd& socket_;
  std::string class_bytes_;
  Result<Claim> claim_;
  std::optional<SharedRoot> own_root_;
  const SharedRoot* root_ = nullptr;
  Clock::time_point until_ = Clock::now() + kSupervisorLife;
};

// One that somebody else has made, or one for others, too.
void CellMaker::find_root() {
  const PacketId id = root_of(*claim_);
  if (const auto kept = post_.roots.find(id); kept != post_.roots.end()) {
    root_ = &kept->second.root;
    until_ = kept->second.since + kSupervisorLife;
    return;
  }
  auto made = make_shared_root(claim_->spec);
  // What it was laid out with would be kept for as long as this process waits, and be copied with
  // it for each cell.
  ::malloc_trim(0);
  if (!made) return log_line("no shared root", {{"message", made.error().message}});
  root_ = &own_root_.emplace(std::move(*made));
  const int fds[] = {root_->mounts.get(), root_->root.get()};
  auto sent = send_packet(socket_.get(), PacketKind::root, 0, fds, id);
  (void)sent;  // otherwise it is ours alone
}

// A cell that cannot be made is a matter of the call: the next claim gets it said. `ready` becomes
// what there is to say about images.
ParkedCell CellMaker::park(Packet& ready, bool may_doze) {
  ParkedCell parked{.cell = nullptr, .class_bytes = class_bytes_};
  if (!claim_) return parked;
  CellSpec spec = claim_->spec;
  spec.call_id = make_call_id();
  const bool python = spec.warm.interpreter == Interpreter::python;
  if (python) ready.id = template_of(spec);
  const auto image = python ? post_.images.find(ready.id) : post_.images.end();
  const bool has_image = image != post_.images.end();
  parked.cell = make_parked(spec, has_image ? image->second.get() : -1, root_, may_doze);
  if (has_image && parked.cell) ready.id = {};
  if (parked.cell && parked.cell->dozes()) ready.flags = kDozing;
  if (has_image && !parked.cell) ready.flags = kBadImage;
  if (!parked.cell && spec.warm != Warmth{}) {
    // What the call needs is then started by the call.
    spec.warm = {};
    parked.cell = make_parked(spec, -1, root_);
  }
  return parked;
}

bool CellMaker::say_ready(const ParkedCell& parked, const Packet& ready) const {
  const std::uint64_t memory = kSupervisorMemory + (parked.cell ? parked.cell->memory() : 0);
  const auto units = std::min<std::uint64_t>(memory / kPacketUnit, 0xffff);
  return send_packet(socket_.get(), PacketKind::ready, ready.flags, {}, ready.id,
                     static_cast<std::uint16_t>(units))
      .has_value();
}

// What dozes in it may be woken meanwhile.
Sys<Packet> CellMaker::wait_for_claim(const ParkedCell& parked) const {
  // There are many of them, and what this one was made with is not needed for long.
  if (parked.cell && parked.cell->dozes()) ::malloc_trim(0);
  for (;;) {
    if (parked.cell && !parked.cell->park(socket_.get())) return sys_fail("poll", "cell", ECHILD);
    wait_for_socket();
    auto packet = receive_packet(socket_.get());
    if (!packet || packet->kind != PacketKind::wake || !parked.cell) return packet;
    if (!parked.cell->dozes()) continue;
    if (!parked.cell->wake() || !parked.cell->park() || !say_ready(parked, {}))
      return sys_fail("poll", "cell", ECHILD);
  }
}

// However it ends, the cell is taken down. Another one may follow where all was as it should be.
CellMaker::End CellMaker::park_and_answer(std::uint8_t how) {
  // Without the right to take it back, the call would be slow, too.
  const bool spare = (how & kSpare) != 0 && ::geteuid() == 0 &&
                     (::getpgrp() == ::getpid() || ::setpgid(0, 0) == 0);
  const int usual = ::getpriority(PRIO_PROCESS, 0);
  if (spare) ::setpriority(PRIO_PGRP, 0, kSpareNice);
  Packet ready;
  ParkedCell parked = park(ready, (how & kMayDoze) != 0);
  bool sound = parked.cell && ready.id == PacketId{};
  if (spare) {
    sound = ::setpriority(PRIO_PGRP, 0, usual) == 0 && sound;
    if (parked.cell) parked.cell->set_priority(0);
  }
  if (!say_ready(parked, ready)) return End::over;
  auto packet = wait_for_claim(parked);
  if (!packet || packet->kind != PacketKind::hand_over) return End::over;
  const Fd connection = std::move(packet->fds[0]);
  packet->fds.erase(packet->fds.begin());
  const Answer given = answer(post_, connection, *packet, std::move(parked));
  send_outcome(connection.get(), given.outcome);
  wait_for_hang_up(connection.get());
  if (given.cell && !given.cell->end()) return End::unclean;
  sound = sound && given.cell && given.outcome.status != Status::killed &&
          given.outcome.status != Status::blocked && given.outcome.usage.final;
  return sound ? End::clean : End::over;
}

// ---- A client that shows files of its own

// It sends what it shows at once.
constexpr int kVisitTime = 10'000;

Result<ShowingClient> hear_client(const SupervisorPost& post, int client, const ucred& peer) {
  pollfd event{.fd = client, .events = POLLIN, .revents = 0};
  while (::poll(&event, 1, kVisitTime) < 0 && errno == EINTR)
    ;
  auto packet = receive_packet(client);
  if (!packet || packet->kind != PacketKind::visit)
    return fail(Reason::argument, "the service was sent something else than files");
  return read_visit(post.ceiling, std::move(*packet), peer.uid, peer.gid);
}

// The claim of the client's call; none: the client has gone, or the launcher does not want it any
// more. What else a client says ends its visit.
std::optional<Packet> await_claim(int socket, int client) {
  pollfd events[] = {{.fd = socket, .events = POLLIN, .revents = 0},
                     {.fd = client, .events = POLLIN | POLLRDHUP, .revents = 0}};
  while (::poll(events, 2, -1) < 0 && errno == EINTR)
    ;
  if (events[0].revents == 0) return std::nullopt;
  auto packet = receive_packet(socket);
  if (!packet || packet->kind != PacketKind::hand_over) return std::nullopt;
  return std::move(*packet);
}

void answer_visit(const SupervisorPost& post, const Fd& socket, const VisitPost& visit) {
  const int client = visit.client.get();
  // The launcher does not hold it any more: what is in it is closed here.
  pollfd told{.fd = socket.get(), .events = POLLIN, .revents = 0};
  while (::poll(&told, 1, -1) < 0 && errno == EINTR)
    ;
  if (const auto go = receive_packet(socket.get()); !go || go->kind != PacketKind::go) return;
  auto visitor = hear_client(post, client, visit.peer);
  if (!visitor) return send_outcome(client, blocked({}, visitor.error()));
  if (!send_packet(client, PacketKind::ticket, 0, {}, visit.ticket)) return;
  auto packet = await_claim(socket.get(), client);
  if (!packet) return;
  const Fd connection = std::move(packet->fds[0]);
  packet->fds.erase(packet->fds.begin());
  visitor->connection = client;
  const Answer given = answer(post, connection, *packet, {}, &*visitor);
  send_outcome(connection.get(), given.outcome);
}

Result<Fd> make_template_image(const SupervisorPost& post, int class_file) {
  std::string bytes;
  auto claim = read_class(post, class_file, bytes);
  if (!claim) return std::unexpected(std::move(claim.error()));
  return make_image(std::move(claim->spec));
}

}  // namespace

void send_outcome(int connection, const Outcome& outcome) {
  auto bytes = encode(outcome);
  if (!bytes) {
    Outcome failed;
    failed.call_id = outcome.call_id;
    failed.status = Status::error;
    failed.reason = bytes.error().reason;
    failed.message = bytes.error().message;
    failed.usage = outcome.usage;
    bytes = encode(failed);
    if (!bytes) return;
  }
  // Nobody is there to be told that it cannot be sent.
  if (bytes->size() <= kMostPacketContent) {
    [[maybe_unused]] const auto sent =
        send_packet(connection, PacketKind::outcome, 0, {}, {}, 0, *bytes);
    return;
  }
  const auto file = make_memory_file(*bytes);
  if (!file) return;
  const int fds[] = {file->get()};
  [[maybe_unused]] const auto sent = send_packet(connection, PacketKind::outcome, 0, fds);
}

void supervise(const SupervisorPost& post, const Fd& connection, const Packet& claim) {
  live_with(post.launcher, kName);
  try {
    const Answer given = answer(post, connection, claim);
    send_outcome(connection.get(), given.outcome);
  } catch (const std::exception&) {  // out of memory, no more threads: the front sees us end
    ::_exit(1);
  }
  ::_exit(0);
}

void supervise_visit(const SupervisorPost& post, const Fd& socket, const VisitPost& visit) {
  live_with(post.launcher, kName);
  try {
    answer_visit(post, socket, visit);
  } catch (const std::exception&) {
    ::_exit(1);
  }
  ::_exit(0);
}

void supervise_parked(const SupervisorPost& post, const Fd& socket, int class_bytes,
                      std::uint8_t how) {
  try {
    ::_exit(CellMaker(post, socket, class_bytes).work(how) ? 0 : 1);
  } catch (const std::exception&) {
    ::_exit(1);
  }
}

void make_template(const SupervisorPost& post, const Fd& socket, int class_bytes) {
  live_with(post.launcher, "sally-template");
  try {
    const auto image = make_template_image(post, class_bytes);
    if (!image) {
      log_line("no template", {{"message", image.error().message}});
      ::_exit(1);
    }
    const int fds[] = {image->get()};
    ::_exit(send_packet(socket.get(), PacketKind::image, 0, fds) ? 0 : 1);
  } catch (const std::exception&) {
    ::_exit(1);
  }
}

}  // namespace sallyport
