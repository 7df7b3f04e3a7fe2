#include "base/private_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>

#include "base/clock.h"

namespace sallyport {
namespace {

constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;
constexpr std::int64_t kFirstPause = 20'000, kLongestPause = 2'000'000;  // ns

void pause_for(std::int64_t nanoseconds) {
  const timespec pause{.tv_sec = 0, .tv_nsec = nanoseconds};
  ::nanosleep(&pause, nullptr);
}

// Whether `name` still is the file that was opened.
bool is_current(int directory, const char* name, int fd) {
  struct stat opened{}, named{};
  return ::fstat(fd, &opened) == 0 &&
         ::fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

bool is_private(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & kOthersMayWrite) == 0;
}

Result<Fd> open_private_file(int directory, const char* name, int flags) {
  // O_NONBLOCK: a pipe under that name must not hold us up before it is seen to be one.
  Fd file(::openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!file && errno == ENOENT && (flags & O_CREAT) == 0) return Fd();
  if (!file)
    return fail(Reason::unavailable, SysError{"open", name, errno},
                errno == ELOOP ? "the state directory must not hold symbolic links" : "");
  struct stat status{};
  if (::fstat(file.get(), &status) != 0)
    return fail(Reason::unavailable, SysError{"fstat", name, errno});
  if (!S_ISREG(status.st_mode))
    return fail(Reason::unavailable, std::string(name) + " is not a plain file", "move it away");
  if (!is_private(status))
    return fail(Reason::unavailable,
                std::string(name) + " belongs to another user, or others may write to it",
                "only its user may write to it: chown it, and chmod go-w");
  return file;
}

Result<void> lock_file(int file, const char* name, std::chrono::milliseconds patience) {
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) return {};
  const std::int64_t deadline =
      monotonic_ns() + std::chrono::duration_cast<std::chrono::nanoseconds>(patience).count();
  std::int64_t pause = kFirstPause;
  do {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return fail(Reason::unavailable, SysError{"flock", name, errno});
    if (monotonic_ns() > deadline)
      return fail(Reason::unavailable,
                  "another process has held " + std::string(name) + " locked for too long",
                  "look with `fuser` which one, and end it");
    pause_for(pause);
    pause = std::min(pause + pause / 2, kLongestPause);
  } while (::flock(file, LOCK_EX | LOCK_NB) != 0);
  return {};
}

Result<Fd> lock_private_file(int directory, const char* name, int flags,
                             std::chrono::milliseconds patience) {
  while (true) {
    auto file = open_private_file(directory, name, flags);
    if (!file || !file->valid()) return file;
    if (auto locked = lock_file(file->get(), name, patience); !locked)
      return std::unexpected(std::move(locked.error()));
    if (is_current(directory, name, file->get())) return file;
  }
}

}  // namespace sallyport
