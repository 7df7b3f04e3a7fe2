#include "serve/launcher_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "launch/packet.h"

namespace sallyport {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAnswerTime{2'000};  // then it hangs
constexpr milliseconds kPause{100};         // before another try
// The launcher's patience with a connection that has no claim is longer.
constexpr milliseconds kRound{2'000};

}  // namespace

LauncherWatch::LauncherWatch(std::string path)
    : path_(std::move(path)), stop_(::eventfd(0, EFD_CLOEXEC)), thread_([this] { watch(); }) {}

LauncherWatch::~LauncherWatch() {
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

Result<void> LauncherWatch::answers() const {
  if (answers_) return {};
  return fail(Reason::unavailable, "the launcher does not answer",
              "it is started again when it dies; try again in a second");
}

void LauncherWatch::watch() {
  for (;;) {
    const Fd connection = greet();
    auto heard = listen(connection.get(), connection ? kAnswerTime : kPause);
    if (heard == Heard::something) {
      const auto packet = receive_packet(connection.get());
      answers_ = packet && packet->kind == PacketKind::hello;
      // The end of the connection is that of the launcher; a look at one that hangs comes with the
      // next round.
      heard = listen(answers_ ? connection.get() : -1, answers_ ? kRound : kPause);
      if (heard == Heard::something) answers_ = false;
    } else {
      answers_ = false;
    }
    if (heard == Heard::stop) return;
  }
}

Fd LauncherWatch::greet() const {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path_.size() >= sizeof(address.sun_path)) return {};
  path_.copy(address.sun_path, path_.size());
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      !send_packet(socket.get(), PacketKind::hello, 0, {}))
    return {};
  return socket;
}

LauncherWatch::Heard LauncherWatch::listen(int connection, milliseconds patience) const {
  pollfd events[] = {{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                     {.fd = connection, .events = POLLIN, .revents = 0}};
  (void)::poll(events, 2, static_cast<int>(patience.count()));
  if (events[0].revents != 0) return Heard::stop;
  return events[1].revents != 0 ? Heard::something : Heard::nothing;
}

}  // namespace sallyport
