#include "cell/stream_relay.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace sallyport {
namespace {

// A descriptor of our own for a pipe or terminal, on which no write blocks: a terminal says that it
// is writable when it has room for one byte, and a pipe may have other writers. O_NONBLOCK on the
// caller's descriptor would change it for everybody who shares it. None if it cannot be had; then
// only the size of a write guards against waiting.
Fd reopen_without_blocking(int destination) {
  struct stat info{};
  if (destination < 0 || ::fstat(destination, &info) != 0) return {};
  if (!S_ISFIFO(info.st_mode) && ::isatty(destination) == 0) return {};
  const std::string path = "/proc/self/fd/" + std::to_string(destination);
  return Fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

}  // namespace

StreamRelay::StreamRelay(Fd source, int destination, ByteSize limit)
    : source_(std::move(source)), destination_(-1), limit_(limit), captured_(limit) {
  pass_on_to(destination);
}

void StreamRelay::pass_on_to(int destination) {
  reopened_ = reopen_without_blocking(destination);
  destination_ = reopened_ ? reopened_.get() : destination;
}

void StreamRelay::read_some() {
  char buffer[16384];
  const ssize_t size = ::read(source_.get(), buffer, sizeof(buffer));
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {
    source_.reset();
    return;
  }
  const std::string_view bytes(buffer, static_cast<std::size_t>(size));
  if (!cover_) return take(bytes);
  std::string shown;
  cover_->feed(bytes, shown);
  take(shown);
}

void StreamRelay::take(std::string_view bytes) {
  captured_.append(bytes);
  pass_on(bytes.data(), bytes.size());
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

void StreamRelay::finish(int cancel, std::chrono::milliseconds patience) {
  while (source_) {
    pollfd ready{.fd = source_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, static_cast<int>(patience.count())) <= 0) break;
    read_some();
  }
  if (cover_) {
    std::string shown;
    cover_->finish(shown);
    take(shown);
  }
  while (!pending_.empty()) {
    pollfd events[] = {{.fd = destination_, .events = POLLOUT, .revents = 0},
                       {.fd = cancel, .events = POLLIN, .revents = 0}};
    ::poll(events, 2, -1);
    if (events[0].revents != 0)
      write_some();
    else if (events[1].revents != 0)
      pending_.clear();
  }
}

}  // namespace sallyport
