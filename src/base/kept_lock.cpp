#include "base/kept_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/private_file.h"
#include "base/process_number.h"

namespace sallyport {

KeptLock::Held::~Held() {
  if (file_ >= 0) (void)::flock(file_, LOCK_UN);
}

Result<void> KeptLock::open(int directory) {
  auto file = open_private_file(directory, name_.c_str(), O_RDWR | O_CREAT);
  if (!file) return std::unexpected(std::move(file.error()));
  struct stat status{};
  if (::fstat(file->get(), &status) != 0)
    return fail(Reason::unavailable, SysError{"fstat", name_.c_str(), errno});
  file_ = std::move(*file);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  process_ = process_number();
  return {};
}

bool KeptLock::is_current(int directory) const {
  struct stat named{};
  return ::fstatat(directory, name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         named.st_dev == device_ && named.st_ino == inode_ && is_private(named);
}

Result<KeptLock::Held> KeptLock::take(int directory, std::chrono::milliseconds patience) {
  if (process_ != process_number()) file_.reset();
  while (true) {
    if (!file_)
      if (auto opened = open(directory); !opened) return std::unexpected(std::move(opened.error()));
    if (auto locked = lock_file(file_.get(), name_.c_str(), patience); !locked)
      return std::unexpected(std::move(locked.error()));
    if (is_current(directory)) return Held(file_.get());
    file_.reset();
  }
}

}  // namespace sallyport
