#include "boundary/shown_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "boundary/shown_text.h"

namespace sallyport {
namespace {

// Whoever reads slowly makes the tool wait; whoever has gone makes the rest go nowhere.
bool write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(to, bytes.data(), bytes.size());
    if (wrote > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno == EAGAIN) {
      pollfd waiting{.fd = to, .events = POLLOUT, .revents = 0};
      if (::poll(&waiting, 1, -1) < 0 && errno != EINTR) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

void relay(const Fd& from, int to, const std::shared_ptr<const Redactions>& redactions) {
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
    heard = heard && write_all(to, out);
    if (size <= 0) return;
  }
}

}  // namespace

Result<std::unique_ptr<ShownStream>> ShownStream::open(
    int to, std::shared_ptr<const Redactions> redactions) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(Reason::unavailable, SysError{"pipe", "stream", errno});
  std::unique_ptr<ShownStream> stream(new ShownStream());
  stream->write_end_ = Fd(ends[1]);
  stream->relay_ = std::thread([from = Fd(ends[0]), to, redactions = std::move(redactions)] {
    relay(from, to, redactions);
  });
  return stream;
}

ShownStream::~ShownStream() {
  write_end_.reset();
  if (relay_.joinable()) relay_.join();
}

}  // namespace sallyport
