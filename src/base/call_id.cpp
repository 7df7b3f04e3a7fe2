#include "base/call_id.h"

#include <sys/auxv.h>
#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>

#include "base/sha256.h"

namespace sallyport {
namespace {

constexpr std::size_t kBytes = 16;

std::string without_getrandom() {
  static std::atomic<std::uint64_t> count = 0;
  std::string seed;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): that is how the kernel hands it over
  if (const char* start = reinterpret_cast<const char*>(::getauxval(AT_RANDOM)))
    seed.assign(start, kBytes);
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(::getpid()), static_cast<std::uint64_t>(::gettid()),
        static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()),
        static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()),
        ++count})
    seed.append(" ").append(std::to_string(part));
  return sha256_hex(seed).substr(0, 2 * kBytes);
}

}  // namespace

std::string make_call_id(ssize_t (*get_random)(void*, std::size_t, unsigned)) {
  unsigned char bytes[kBytes];
  ssize_t got = 0;
  do
    got = get_random(bytes, sizeof(bytes), 0);
  while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof(bytes))) return without_getrandom();
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id(2 * kBytes, '0');
  for (std::size_t i = 0; i < kBytes; ++i) {
    id[2 * i] = kDigits[bytes[i] >> 4];
    id[2 * i + 1] = kDigits[bytes[i] & 15];
  }
  return id;
}

std::string make_call_id() {
  return make_call_id(::getrandom);
}

}  // namespace sallyport
