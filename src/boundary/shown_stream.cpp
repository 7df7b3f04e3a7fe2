#include "boundary/shown_stream.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "boundary/shown_text.h"

namespace sallyport {
namespace {

struct Way {
  int to, cancel;
  std::uint64_t left;  // bytes that may still come out
};

// Whoever reads slowly makes the tool wait, until the call is cancelled; whoever has gone makes the
// rest go nowhere. Pieces are so small that a pipe that poll() found room in takes them at once.
bool write_all(Way& way, std::string_view bytes) {
  const bool cut = bytes.size() > way.left;
  bytes = bytes.substr(0, std::min<std::uint64_t>(bytes.size(), way.left));
  way.left -= bytes.size();
  // The half of a CR LF would let what follows be written over the line.
  if (cut && bytes.ends_with('\r')) bytes.remove_suffix(1);
  while (!bytes.empty()) {
    pollfd waiting[] = {{.fd = way.to, .events = POLLOUT, .revents = 0},
                        {.fd = way.cancel, .events = POLLIN, .revents = 0}};
    if (::poll(waiting, 2, -1) < 0 && errno != EINTR) return false;
    if (waiting[1].revents != 0) return false;
    if (waiting[0].revents == 0) continue;
    const ssize_t wrote =
        ::write(way.to, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
    if (wrote > 0)
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    else if (errno != EINTR && errno != EAGAIN)
      return false;
  }
  return true;
}

void relay(const Fd& from, Way way, const std::shared_ptr<const Redactions>& redactions) {
  ShownText shown(redactions);
  std::string out;
  char piece[16384];
  bool heard = true;
  for (;;) {
    const ssize_t size = ::read(from.get(), piece, sizeof(piece));
    if (size < 0 && errno == EINTR) continue;
    out.clear();
    if (size > 0)
      shown.feed({piece, static_cast<std::size_t>(size)}, out);
    else
      shown.finish(out);
    heard = heard && write_all(way, out);
    if (size <= 0) return;
  }
}

}  // namespace

Result<std::unique_ptr<ShownStream>> ShownStream::open(
    int to, int cancel, std::uint64_t most, std::shared_ptr<const Redactions> redactions) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(Reason::unavailable, SysError{"pipe", "stream", errno});
  std::unique_ptr<ShownStream> stream(new ShownStream());
  stream->write_end_ = Fd(ends[1]);
  stream->relay_ =
      std::thread([from = Fd(ends[0]), way = Way{to, cancel, most},
                   redactions = std::move(redactions)] { relay(from, way, redactions); });
  return stream;
}

ShownStream::~ShownStream() {
  write_end_.reset();
  if (relay_.joinable()) relay_.join();
}

}  // namespace sallyport
