#include "cell/uid_slot.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string_view>

#include "base/parse.h"

namespace sallyport {
namespace {

constexpr const char* kDirectory = "/run/sallyport";
constexpr const char* kLockFile = "/run/sallyport/uids";
constexpr uid_t kFirstAllowed = 65536;  // below live the host's own users
constexpr uid_t kEnd = 0x7fffffff;      // programs that hold a uid in an int exist

}  // namespace

Result<UidRange> UidRange::configured() {
  const char* text = std::getenv("SALLYPORT_UID_RANGE");
  if (text == nullptr) return UidRange{};
  std::string_view rest = text;
  const auto first = whole_number<uid_t>(take(rest, ':'));
  const auto count = whole_number<unsigned>(rest);
  if (!first || !count || *first < kFirstAllowed || *first > kEnd || *count == 0 ||
      *count > kEnd - *first)
    return fail(Reason::argument, "SALLYPORT_UID_RANGE is not a usable range: " + std::string(text),
                "write FIRST:COUNT with FIRST of at least 65536, for example 1879048192:65536");
  return UidRange{.first = *first, .count = *count};
}

Result<UidSlot> UidSlot::take(const UidRange& range) {
  constexpr int kHow = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  Fd lock(::open(kLockFile, kHow, 0600));
  if (!lock && errno == ENOENT) {
    if (::mkdir(kDirectory, 0755) != 0 && errno != EEXIST)
      return fail(Reason::cannot_enforce, SysError{"mkdir", kDirectory, errno});
    lock = Fd(::open(kLockFile, kHow, 0600));
  }
  if (!lock) return fail(Reason::cannot_enforce, SysError{"open", kLockFile, errno});

  // A random place to begin: a uid is not handed to the next cell right after it became free.
  std::uint32_t start = 0;
  if (::getrandom(&start, sizeof(start), 0) != sizeof(start))
    return fail(Reason::internal, SysError{"getrandom", "", errno});
  for (unsigned tried = 0; tried < range.count; ++tried) {
    const unsigned slot = (start + tried) % range.count;
    // The byte is the uid itself, so that launchers with overlapping ranges agree.
    struct flock byte{};
    byte.l_type = F_WRLCK;
    byte.l_whence = SEEK_SET;
    byte.l_start = range.first + slot;
    byte.l_len = 1;
    if (::fcntl(lock.get(), F_OFD_SETLK, &byte) == 0)
      return UidSlot(std::move(lock), range.first + slot);
    if (errno != EAGAIN && errno != EACCES)
      return fail(Reason::cannot_enforce, SysError{"fcntl", kLockFile, errno});
  }
  return fail(Reason::unavailable, "every uid of the range is in use by a live cell",
              "widen SALLYPORT_UID_RANGE=FIRST:COUNT");
}

}  // namespace sallyport
