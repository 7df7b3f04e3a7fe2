#include "door/cli/show_files.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "cell/root_layout.h"
#include "kernel/memory_file.h"
#include "kernel/mount.h"
#include "launch/connect.h"
#include "launch/outcome_packet.h"
#include "launch/visit.h"
#include "launch/wire.h"
#include "serve/listeners.h"

namespace sallyport {
namespace {

constexpr int kAnswerTime = 20'000;

std::string in_hex(const PacketId& id) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : id)
    text.append({kDigits[byte >> 4], kDigits[byte & 15]});
  return text;
}

// Descriptors are for the service only: whoever can put a socket into its directory must not get
// them. The kernel says who listens.
Result<Fd> reach_launcher(const std::string& via) {
  if (!via.starts_with('/') && !via.starts_with("unix:"))
    return fail(Reason::argument, "--read and --write go to a service on this machine only",
                "give the path of its unix socket with --via");
  const std::string path = (via.starts_with('/') ? via : via.substr(5)) + std::string(kFilesSuffix);
  auto connection = connect_to_launcher(path);
  if (!connection && connection.error().err == ENOENT)
    return fail(Reason::unavailable, "the service takes no files of its callers",
                "a tool does with `files: { client: read }` in its policy, or `write`");
  if (!connection)
    return fail(Reason::unavailable, "the service cannot be shown files at " +
                                         sallyport::quoted(path) + ": " +
                                         std::strerror(connection.error().err));
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(connection->get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      (peer.uid != 0 && peer.uid != ::geteuid()))
    return fail(Reason::permission,
                "who listens at " + sallyport::quoted(path) + " is neither root nor yourself",
                "only a service of root's or of your own is shown your files");
  return std::move(*connection);
}

Result<PacketId> await_ticket(int connection) {
  pollfd event{.fd = connection, .events = POLLIN, .revents = 0};
  int came = 0;
  do
    came = ::poll(&event, 1, kAnswerTime);
  while (came < 0 && errno == EINTR);
  auto packet = receive_packet(connection);
  if (packet && packet->kind == PacketKind::ticket) return packet->id;
  if (packet && packet->kind == PacketKind::outcome)
    if (auto outcome = outcome_in(*packet))
      return fail(outcome->reason, std::move(outcome->message), std::move(outcome->hint));
  return fail(Reason::unavailable, "the service did not look at the files that it was shown",
              "it takes them for a few calls of one user at a time: try again in a moment");
}

}  // namespace

Result<ShownFiles> show_files(const std::string& via, const std::string& tool,
                              const std::vector<Grant>& grants,
                              const std::vector<std::string>& command, const CallRequest& call) {
  Visit visit{.tool = tool,
              .command = command,
              .inputs = {},
              .input = {},
              .outputs = call.collect,
              .files = {}};
  for (const CallFile& file : call.files)
    visit.inputs.push_back(visit_input(file.path, file.content));
  if (call.input) visit.input = visit_digest(*call.input);
  if (grants.size() > kMostVisitFiles)
    return fail(Reason::argument, "more than 16 of --read and --write",
                "give a directory that holds several of them");

  ShownFiles shown;
  std::vector<Fd> opened;
  std::vector<int> fds = {-1};
  for (const Grant& grant : grants) {
    std::error_code error;
    std::string host = std::filesystem::absolute(grant.host, error).lexically_normal().string();
    if (error) return fail(Reason::argument, "the current directory cannot be named");
    if (host.size() > 1 && host.ends_with('/')) host.pop_back();
    // As for a cell of our own: no symlink, and an error that names the real path.
    if (auto found = host_mount(host, "", Access::read_only); !found)
      return std::unexpected(std::move(found.error()));
    auto fd = open_mount_source(host.c_str());
    if (!fd) return fail(Reason::argument, fd.error());
    const std::string inside = grant.inside.empty() ? host : grant.inside;
    fds.push_back(fd->get());
    opened.push_back(std::move(*fd));
    visit.files.push_back({.host = host, .inside = inside, .write = grant.write});
    shown.client.files.push_back({.path = host, .inside = inside, .write = grant.write});
  }
  const auto bytes = encode(visit);
  if (!bytes) return std::unexpected(bytes.error());
  const auto file = make_memory_file(*bytes);
  if (!file) return fail(Reason::unavailable, file.error());
  fds[0] = file->get();

  auto connection = reach_launcher(via);
  if (!connection) return std::unexpected(std::move(connection.error()));
  // One that has refused us may be gone already; what it said is still there.
  [[maybe_unused]] const auto sent = send_packet(connection->get(), PacketKind::visit, 0, fds);
  const auto ticket = await_ticket(connection->get());
  if (!ticket) return std::unexpected(ticket.error());
  shown.client.ticket = in_hex(*ticket);
  shown.client.uid = ::geteuid();
  shown.connection = std::move(*connection);
  return shown;
}

}  // namespace sallyport
