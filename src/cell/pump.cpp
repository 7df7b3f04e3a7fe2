#include "cell/pump.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <memory>
#include <string_view>

namespace sallyport {
namespace {

struct Pump {
  Fd from, to;
};

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(fd, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

void* carry(void* argument) {
  const std::unique_ptr<Pump> pump(static_cast<Pump*>(argument));
  char buffer[16384];
  for (;;) {
    const ssize_t size = ::read(pump->from.get(), buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0 || !write_all(pump->to.get(), {buffer, static_cast<std::size_t>(size)}))
      return nullptr;
  }
}

// Detached: nobody waits for a thread that the tool can hold up. Its stack is small, and no signal
// is its business.
Sys<Fd> start(Fd ours, std::unique_ptr<Pump> pump) {
  if (::fcntl(ours.get(), F_SETFL, O_NONBLOCK) != 0) return sys_fail("fcntl", "pump");
  constexpr std::size_t kStack = 64 * 1024UL;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  ::pthread_attr_setstacksize(&attributes, kStack);
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  Pump* const handed_over = pump.release();  // the thread owns it, if there is one
  const int failed = ::pthread_create(&thread, &attributes, carry, handed_over);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  if (failed == 0) return ours;
  pump.reset(handed_over);
  return sys_fail("pthread_create", "pump", failed);
}

}  // namespace

Sys<Fd> pump_from(Fd tool_end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return sys_fail("pipe2", "pump");
  return start(Fd(ends[0]), std::make_unique<Pump>(std::move(tool_end), Fd(ends[1])));
}

Sys<Fd> pump_to(Fd tool_end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return sys_fail("pipe2", "pump");
  return start(Fd(ends[1]), std::make_unique<Pump>(Fd(ends[0]), std::move(tool_end)));
}

}  // namespace sallyport
