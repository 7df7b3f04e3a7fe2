#include "audit/writer_lock.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>

#include "base/private_file.h"
#include "base/process_number.h"

namespace sallyport {
namespace {

constexpr const char* kFile = "writers";
constexpr std::uint64_t kNumbers = std::uint64_t{1} << 48;
constexpr std::size_t kDigits = 12;

struct flock byte_of(std::uint64_t number) {
  struct flock byte{};
  byte.l_type = F_WRLCK;
  byte.l_whence = SEEK_SET;
  byte.l_start = static_cast<off_t>(number);
  byte.l_len = 1;
  return byte;
}

}  // namespace

Result<void> WriterLock::open() {
  if (owner_ == process_number()) return {};
  auto holder = open_private_file(audit_, kFile, O_RDWR | O_CREAT);
  if (!holder) return std::unexpected(std::move(holder.error()));
  auto looker = open_private_file(audit_, kFile, O_RDWR | O_CREAT);
  if (!looker) return std::unexpected(std::move(looker.error()));
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number))
    return fail(Reason::unavailable, SysError{"getrandom", "", errno});
  number %= kNumbers;
  struct flock byte = byte_of(number);
  if (::fcntl(holder->get(), F_OFD_SETLK, &byte) != 0)
    return fail(Reason::unavailable, SysError{"fcntl", kFile, errno});
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%012llx", static_cast<unsigned long long>(number));
  number_ = digits;
  holder_ = std::move(*holder);
  looker_ = std::move(*looker);
  owner_ = process_number();
  return {};
}

Result<std::string> WriterLock::own() {
  const std::lock_guard lock(mutex_);
  if (auto opened = open(); !opened) return std::unexpected(std::move(opened.error()));
  return number_;
}

bool WriterLock::is_alive(std::string_view number) {
  std::uint64_t place = 0;
  const std::string digits(number);
  const char* end = digits.c_str() + digits.size();
  const auto read = std::from_chars(digits.c_str(), end, place, 16);
  if (number.size() != kDigits || read.ec != std::errc{} || read.ptr != end) return false;
  const std::lock_guard lock(mutex_);
  if (!open()) return true;
  struct flock byte = byte_of(place);
  return ::fcntl(looker_.get(), F_OFD_GETLK, &byte) != 0 || byte.l_type != F_UNLCK;
}

}  // namespace sallyport
