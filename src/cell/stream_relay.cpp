#include "cell/stream_relay.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace sallyport {

void StreamRelay::read_some() {
  char buffer[16384];
  const ssize_t size = ::read(source_.get(), buffer, sizeof(buffer));
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {
    source_.reset();
    return;
  }
  captured_.append({buffer, static_cast<std::size_t>(size)});
  pass_on(buffer, static_cast<std::size_t>(size));
}

void StreamRelay::pass_on(const char* bytes, std::size_t size) {
  if (destination_ < 0 || reader_gone_) return;
  const std::uint64_t left = limit_.bytes - std::min(limit_.bytes, passed_);
  const std::size_t part = static_cast<std::size_t>(std::min<std::uint64_t>(size, left));
  passed_ += part;
  pending_.append(bytes, part);
}

void StreamRelay::write_some() {
  // A pipe that polls writable has room for PIPE_BUF bytes; more could block.
  const ssize_t size =
      ::write(destination_, pending_.data(), std::min<std::size_t>(pending_.size(), PIPE_BUF));
  if (size > 0) {
    pending_.erase(0, static_cast<std::size_t>(size));
  } else if (size < 0 && errno != EAGAIN && errno != EINTR) {
    reader_gone_ = true;
    pending_.clear();
  }
}

void StreamRelay::finish() {
  while (source_) {
    pollfd ready{.fd = source_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 0) <= 0) break;
    read_some();
  }
  while (!pending_.empty()) {
    pollfd ready{.fd = destination_, .events = POLLOUT, .revents = 0};
    ::poll(&ready, 1, -1);
    write_some();
  }
}

}  // namespace sallyport
