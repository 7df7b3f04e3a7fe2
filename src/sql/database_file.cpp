#include "sql/database_file.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace sallyport {
namespace {

constexpr std::size_t kHeader = 100;
constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr std::size_t kReadVersion = 19;  // in the header; 2: write-ahead log

// A kernel's clock for files ticks at 100 Hz at least: after this time, a write shows in mtime.
constexpr std::int64_t kTickNs = 20'000'000;

// Only [A-Za-z0-9/._-] stand for themselves in a URI.
std::string uri_of(const std::string& path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/._-").contains(c);
    if (plain)
      uri += c;
    else
      uri.append("%").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
  }
  return uri;
}

bool is_there(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0;
}

std::int64_t size_of(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? status.st_size : 0;
}

std::int64_t ns(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Result<DatabaseFile> DatabaseFile::find(const std::string& path) {
  DatabaseFile found;
  found.file_ = Fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!found.file_ || ::fstat(found.file_.get(), &found.before_) != 0)
    return fail(Reason::unavailable,
                std::string("the database cannot be opened: ") + std::strerror(errno),
                "whoever keeps the policy should look at `database`");
  if (!S_ISREG(found.before_.st_mode))
    return fail(Reason::unavailable, "the database is not a regular file");
  if (found.before_.st_nlink > 1)
    return fail(Reason::unavailable,
                "the file of the database has more than one name, and its log may lie beside the "
                "other one",
                "whoever keeps the database should remove the other hard links");

  char header[kHeader];
  const ssize_t size = ::pread(found.file_.get(), header, sizeof(header), 0);
  // An empty file is a database without tables.
  if (size != 0 &&
      (size < static_cast<ssize_t>(kHeader) || std::string_view(header, kMagic.size()) != kMagic))
    return fail(Reason::unavailable, "the file is not a SQLite database, or it is encrypted",
                "whoever keeps the policy should look at `database`");
  found.uri_ = uri_of(path) + "?mode=ro&readonly_shm=1";
  const bool logged = size != 0 && header[kReadVersion] == 2;
  if (!logged) return found;
  if (is_there(path + "-wal") && is_there(path + "-shm")) {
    found.log_ = path + "-wal";
    return found;
  }
  if (size_of(path + "-wal") > 0)
    return fail(Reason::unavailable,
                "the database has a write-ahead log that nobody has open, and reading it takes "
                "writing beside it",
                "whoever keeps the database should open it once with its own program, which "
                "brings the log in");

  found.immutable_ = true;
  found.uri_ += "&immutable=1";
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t age = ns(now) - ns(found.before_.st_mtim);
  if (age >= 0 && age < kTickNs)
    ::poll(nullptr, 0, static_cast<int>((kTickNs - age) / 1'000'000) + 1);
  if (::fstat(found.file_.get(), &found.before_) != 0)
    return fail(Reason::unavailable, SysError{"fstat", "", errno});
  return found;
}

Result<void> DatabaseFile::check_unchanged() const {
  struct stat now{};
  // The cell shows a file that its owner has removed: the log that is in use is another one.
  if (!log_.empty() && ::stat(log_.c_str(), &now) == 0 && now.st_nlink == 0)
    return fail(Reason::unavailable, "the database was closed while it was read", "try again");
  if (!immutable_) return {};
  if (::fstat(file_.get(), &now) == 0 && now.st_size == before_.st_size &&
      ns(now.st_mtim) == ns(before_.st_mtim) && ns(now.st_ctim) == ns(before_.st_ctim))
    return {};
  return fail(Reason::unavailable, "the database was written while it was read", "try again");
}

}  // namespace sallyport
