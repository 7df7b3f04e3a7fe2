#include "cell/uid_slot.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace sallyport {
namespace {

constexpr const char* kDirectory = "/run/sallyport";
constexpr const char* kLockFile = "/run/sallyport/uids";
constexpr uid_t kFirstAllowed = 65536;  // below live the host's own users

bool parse_number(std::string_view text, std::uint32_t& value) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return !text.empty() && parsed.ec == std::errc{} && parsed.ptr == end;
}

}  // namespace

Result<UidRange> UidRange::configured() {
  const char* text = std::getenv("SALLYPORT_UID_RANGE");
  if (text == nullptr) return UidRange{};
  const std::string_view view = text;
  const std::size_t colon = view.find(':');
  UidRange range;
  if (colon == std::string_view::npos || !parse_number(view.substr(0, colon), range.first) ||
      !parse_number(view.substr(colon + 1), range.count) || range.first < kFirstAllowed ||
      range.count == 0 || range.count > 0x7fffffff - range.first)
    return fail(Reason::argument, "SALLYPORT_UID_RANGE is not a usable range: " + std::string(view),
                "write FIRST:COUNT with FIRST of at least 65536, for example 1879048192:65536");
  return range;
}

Result<UidSlot> UidSlot::take(const UidRange& range) {
  if (::mkdir(kDirectory, 0755) != 0 && errno != EEXIST)
    return fail(Reason::cannot_enforce, SysError{"mkdir", kDirectory, errno});
  Fd lock(::open(kLockFile, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
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
