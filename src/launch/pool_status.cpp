#include "launch/pool_status.h"

#include <poll.h>

#include "base/wire.h"
#include "kernel/memory_file.h"
#include "launch/connect.h"

namespace sallyport {
namespace {

constexpr std::size_t kLargest = 1024;
constexpr int kPatience = 200;  // milliseconds

}  // namespace

template <class Wire>
void visit(Wire& wire, PoolStatus& status) {
  auto& [hits, misses, expired, built, build_us, failed, retired, templates, parked, building,
         waiting, classes, memory] = status;
  for (std::uint64_t* count : {&hits, &misses, &expired, &built, &build_us, &failed, &retired,
                               &templates, &parked, &building, &waiting, &classes, &memory})
    visit(wire, *count);
}

Sys<void> send_status(int connection, const PoolStatus& status) {
  const auto bytes = write_wire(status, kLargest, "the status");
  if (!bytes) return sys_fail("encode", "status", EMSGSIZE);
  const auto file = make_memory_file(*bytes);
  if (!file) return std::unexpected(file.error());
  const int fds[] = {file->get()};
  return send_packet(connection, PacketKind::pool, 0, fds);
}

std::optional<PoolStatus> ask_status(const std::string& socket) {
  const auto connection = connect_to_launcher(socket);
  if (!connection || !send_packet(connection->get(), PacketKind::pool, 0, {})) return std::nullopt;
  pollfd answer{.fd = connection->get(), .events = POLLIN, .revents = 0};
  if (::poll(&answer, 1, kPatience) != 1) return std::nullopt;
  const auto packet = receive_packet(connection->get());
  if (!packet || packet->kind != PacketKind::pool || packet->fds.size() != 1) return std::nullopt;
  const auto bytes = read_memory_file(packet->fds[0].get(), kLargest);
  if (!bytes) return std::nullopt;
  auto status = read_wire<PoolStatus>(*bytes, kLargest, "a status");
  if (!status) return std::nullopt;
  return *status;
}

}  // namespace sallyport
