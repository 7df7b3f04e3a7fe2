#include "base/file.h"

#include <unistd.h>

#include <cerrno>

#include "base/fd.h"

namespace sallyport {
namespace {

// `read`: the next bytes behind so many, as read() does.
template <class Read>
std::optional<std::string> read_all(Read&& read) {
  std::string text;
  char chunk[16384];
  while (true) {
    const ssize_t got = read(chunk, sizeof(chunk), text.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(chunk, static_cast<std::size_t>(got));
  }
}

}  // namespace

std::optional<std::string> read_at(int dir, const char* path) {
  const Fd fd(::openat(dir, path, O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  return read_all(
      [&](char* to, std::size_t size, std::size_t) { return ::read(fd.get(), to, size); });
}

std::optional<std::string> read_again(int file) {
  return read_all([&](char* to, std::size_t size, std::size_t from) {
    return ::pread(file, to, size, static_cast<off_t>(from));
  });
}

}  // namespace sallyport
