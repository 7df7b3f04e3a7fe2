#include "access/call_locks.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/private_file.h"

namespace sallyport {
namespace {

constexpr const char* kFile = "calls";

struct flock byte_of(std::uint64_t ticket, short type) {
  struct flock byte{};
  byte.l_type = type;
  byte.l_whence = SEEK_SET;
  byte.l_start = static_cast<off_t>(ticket);
  byte.l_len = 1;
  return byte;
}

}  // namespace

Result<void> CallLocks::open() {
  if (owner_ == ::getpid()) return {};
  auto holder = open_private_file(directory_, kFile, O_RDWR | O_CREAT);
  if (!holder) return std::unexpected(std::move(holder.error()));
  auto looker = open_private_file(directory_, kFile, O_RDWR | O_CREAT);
  if (!looker) return std::unexpected(std::move(looker.error()));
  holder_ = std::move(*holder);
  looker_ = std::move(*looker);
  owner_ = ::getpid();
  return {};
}

Result<void> CallLocks::hold(std::uint64_t ticket) {
  struct flock byte = byte_of(ticket, F_WRLCK);
  if (::fcntl(holder_.get(), F_OFD_SETLK, &byte) == 0) return {};
  return fail(Reason::unavailable, SysError{"fcntl", kFile, errno});
}

void CallLocks::let_go(std::uint64_t ticket) {
  struct flock byte = byte_of(ticket, F_UNLCK);
  (void)::fcntl(holder_.get(), F_OFD_SETLK, &byte);
}

bool CallLocks::is_held(std::uint64_t ticket) const {
  struct flock byte = byte_of(ticket, F_WRLCK);
  return ::fcntl(looker_.get(), F_OFD_GETLK, &byte) != 0 || byte.l_type != F_UNLCK;
}

}  // namespace sallyport
