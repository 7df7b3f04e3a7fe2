#include "launch/artifact_lock.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string_view>

#include "base/fd.h"
#include "cell/remove_tree.h"

namespace sallyport {
namespace {

// Between the end of a cell and that of its directory, the front reads what is in there.
constexpr std::time_t kQuiet = 60;
// The sticky bit of a directory that only its owner can enter does nothing else. Without the mark,
// a directory of a program that makes its cells by itself would look as if nobody held it.
constexpr mode_t kMarked = S_ISVTX | S_IRWXU;

bool is_abandoned(int directory, std::time_t now) {
  struct stat status{};
  return ::fstat(directory, &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & 07777) == kMarked &&
         status.st_mtim.tv_sec <= now - kQuiet && ::flock(directory, LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

void hold_artifacts(int directory, const std::string& path) {
  if (!path.starts_with(std::string(kArtifactPlace) + "/" + kArtifactPrefix)) return;
  // The lock first: who sees the mark must see that it is held. Without a lock there is no mark,
  // and the directory is only never swept.
  if (::flock(directory, LOCK_SH | LOCK_NB) == 0) (void)::fchmod(directory, kMarked);
}

void sweep_artifacts(const std::string& place, std::time_t now) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(place.c_str()), ::closedir);
  if (!listing) return;
  const int parent = ::dirfd(listing.get());
  while (const dirent* entry = ::readdir(listing.get())) {
    if (!std::string_view(entry->d_name).starts_with(kArtifactPrefix)) continue;
    const Fd directory(
        ::openat(parent, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory || !is_abandoned(directory.get(), now)) continue;
    std::uint64_t removed = 0;
    auto done = remove_tree(parent, entry->d_name, removed);
    (void)done;  // what cannot be removed stays, closed to everybody else
  }
}

}  // namespace sallyport
