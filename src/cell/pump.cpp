#include "cell/pump.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <memory>
#include <string_view>
#include <utility>

namespace sallyport {
namespace {

// What is carried goes through memory of its own, which copies of this process find empty: the init
// of the next cell is one.
class Buffer {
 public:
  static constexpr std::size_t kSize = 16384;

  static Sys<Buffer> make() {
    void* const bytes =
        ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) return sys_fail("mmap", "pump");
    Buffer made(static_cast<char*>(bytes));
    if (::madvise(bytes, kSize, MADV_WIPEONFORK) != 0) return sys_fail("madvise", "pump");
    return made;
  }
  Buffer(Buffer&& other) noexcept : bytes_(std::exchange(other.bytes_, nullptr)) {}
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() {
    if (bytes_ != nullptr) ::munmap(bytes_, kSize);
  }
  [[nodiscard]] char* get() const { return bytes_; }

 private:
  explicit Buffer(char* bytes) : bytes_(bytes) {}
  char* bytes_;
};

struct Pump {
  Fd from, to;
  Buffer buffer;
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
  char* const buffer = pump->buffer.get();
  for (;;) {
    const ssize_t size = ::read(pump->from.get(), buffer, Buffer::kSize);
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

// With a pipe, of which the end with the number `ours` is for the caller.
Sys<Fd> start_between(Fd tool_end, int ours) {
  int numbers[2];
  if (::pipe2(numbers, O_CLOEXEC) != 0) return sys_fail("pipe2", "pump");
  Fd ends[] = {Fd(numbers[0]), Fd(numbers[1])};
  auto buffer = Buffer::make();
  if (!buffer) return std::unexpected(buffer.error());
  Fd& theirs = ends[1 - ours];
  auto pump =
      ours == 0
          ? std::make_unique<Pump>(std::move(tool_end), std::move(theirs), std::move(*buffer))
          : std::make_unique<Pump>(std::move(theirs), std::move(tool_end), std::move(*buffer));
  return start(std::move(ends[ours]), std::move(pump));
}

}  // namespace

Sys<Fd> pump_from(Fd tool_end) {
  return start_between(std::move(tool_end), 0);
}

Sys<Fd> pump_to(Fd tool_end) {
  return start_between(std::move(tool_end), 1);
}

}  // namespace sallyport
