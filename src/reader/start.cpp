#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <exception>

#include "reader/reader.h"

namespace sallyport {
namespace {

// Of the egress process it has nothing: neither its door nor its side of the socket.
void close_all_but(unsigned kept) {
  if (kept > 3) ::close_range(3, kept - 1, 0);
  ::close_range(kept + 1, ~0U, 0);
}

}  // namespace

Result<Fd> start_reader(const ReaderSettings& settings) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(Reason::unavailable, SysError{"socketpair", "credentials", errno});
  Fd ours(ends[0]), theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return fail(Reason::unavailable, SysError{"fork", "credentials", errno});
  if (child > 0) return ours;
  (void)ours.release();
  close_all_but(static_cast<unsigned>(theirs.get()));
  ::prctl(PR_SET_NAME, "sally-secrets");
  ::setsid();
  ::signal(SIGPIPE, SIG_IGN);
  // No signal at the death of the parent: its end of the socket closes, and leases are given back.
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) ::_exit(1);
  try {
    read_sources(settings, std::move(theirs));
  } catch (const std::exception&) {
    ::_exit(1);  // out of memory: the egress process ends with it, and both are started again
  }
  ::_exit(0);
}

}  // namespace sallyport
