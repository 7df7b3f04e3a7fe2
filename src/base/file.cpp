#include "base/file.h"

#include <unistd.h>

#include <cerrno>

#include "base/fd.h"

namespace sallyport {

std::optional<std::string> read_at(int dir, const char* path) {
  const Fd fd(::openat(dir, path, O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  std::string text;
  char chunk[16384];
  while (true) {
    const ssize_t got = ::read(fd.get(), chunk, sizeof(chunk));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(chunk, static_cast<std::size_t>(got));
  }
}

}  // namespace sallyport
