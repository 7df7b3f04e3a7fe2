#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <csignal>
#include <exception>

#include "base/text.h"
#include "cell/run.h"
#include "kernel/memory_file.h"
#include "launch/launcher_process.h"
#include "tool/denied_paths.h"

namespace sallyport {
namespace {

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

Result<Order> read_order(const LaunchCeiling& ceiling, uid_t front, const Packet& packet,
                         std::string& call_id) {
  const auto bytes = read_memory_file(packet.fds[0].get(), kLargestClaim);
  if (!bytes) return refuse("its claim cannot be read: " + describe(bytes.error()));
  auto claim = decode_claim(*bytes);
  if (!claim) return refuse(claim.error().message);
  call_id = to_utf8(claim->spec.call_id.substr(0, 64));

  Order order{.claim = std::move(*claim), .streams = {}};
  const bool has_directory = (packet.flags & kHasDirectory) != 0;
  const CarriedThings carried{.directory = has_directory,
                              .connection = (packet.flags & kHasConnection) != 0};
  if (auto checked = check_claim(ceiling, order.claim, carried); !checked)
    return std::unexpected(std::move(checked.error()));
  std::size_t next = 1;
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
  return order;
}

// Whether the front has ended the call. Asked after `accepted` is sent: a front that ends the call
// and then finds nothing received knows that the tool will not run.
bool is_ended(int connection) {
  pollfd peer{.fd = connection, .events = POLLIN | POLLRDHUP, .revents = 0};
  return ::poll(&peer, 1, 0) != 0;
}

Outcome answer(const LaunchCeiling& ceiling, uid_t front, const Fd& connection,
               const Packet& packet, int egress) {
  Outcome outcome;
  auto order = read_order(ceiling, front, packet, outcome.call_id);
  if (!order) {
    outcome.status = Status::blocked;
    outcome.reason = order.error().reason;
    outcome.message = std::move(order.error().message);
    outcome.hint = std::move(order.error().hint);
    return outcome;
  }
  if (!send_packet(connection.get(), PacketKind::accepted, 0, {}) || is_ended(connection.get())) {
    outcome.status = Status::killed;
    outcome.reason = Reason::cancelled;
    outcome.message = "killed: the caller ended it before it began";
    return outcome;
  }
  order->streams.cancel = connection.get();
  order->streams.egress = egress;
  return run_cell(order->claim.spec, order->streams);
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
  const auto file = make_memory_file(*bytes);
  if (!file) return;
  const int fds[] = {file->get()};
  auto sent = send_packet(connection, PacketKind::outcome, 0, fds);
  (void)sent;  // nobody is there to be told
}

void supervise(const LaunchCeiling& ceiling, uid_t front, pid_t launcher, const Fd& connection,
               const Packet& claim, int egress) {
  // The launcher may have died before this process could ask to die with it.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != launcher) ::_exit(1);
  ::prctl(PR_SET_NAME, "sally-supervise");
  try {
    send_outcome(connection.get(), answer(ceiling, front, connection, claim, egress));
  } catch (const std::exception&) {  // out of memory, no more threads: the front sees us end
    ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace sallyport
