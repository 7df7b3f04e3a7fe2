#include "cell/remove_tree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <string>
#include <utility>
#include <vector>

#include "cell/export.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostOpen = 64;
// Somebody who adds entries as fast as we delete them must not keep us for ever.
constexpr std::uint64_t kMostEntries = 10'000'000;
constexpr int kMostRewinds = 16;

struct Level {
  Directory directory;
  std::string name;
  int rewinds = 0;
};

Sys<Level> open_level(int parent, const char* name) {
  auto directory = Directory::open(parent, name);
  if (!directory) return std::unexpected(directory.error());
  // A directory of ours that is read-only, as in Go's module cache, must be opened up before it can
  // be emptied. If that fails, deleting fails next and says why.
  struct stat info{};
  if (::fstat(directory->fd(), &info) == 0 && (info.st_mode & S_IRWXU) != S_IRWXU)
    (void)::fchmod(directory->fd(), (info.st_mode & 0777) | S_IRWXU);
  return Level{.directory = std::move(*directory), .name = name};
}

// True if `name` is gone, false if it is a directory that is not empty.
Sys<bool> remove_entry(int parent, const char* name) {
  if (::unlinkat(parent, name, 0) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR) return sys_fail("unlinkat");
  if (::unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
  // ENOTDIR: it was swapped for something else just now; opening it will say so.
  if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) return false;
  return sys_fail("unlinkat");
}

}  // namespace

Sys<void> remove_tree(int directory, const char* name, std::uint64_t& removed) {
  struct stat info{};
  if (::fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return sys_fail("fstatat");
  }
  auto gone = remove_entry(directory, name);
  if (!gone) return std::unexpected(gone.error());
  if (*gone) {
    ++removed;
    return {};
  }

  std::vector<Level> levels;
  auto top = open_level(directory, name);
  if (!top) return std::unexpected(top.error());
  levels.push_back(std::move(*top));
  bool hoisted = false;
  for (std::uint64_t seen = 0; !levels.empty(); ++seen) {
    if (seen == kMostEntries) return sys_fail("readdir", "", EOVERFLOW);
    Level& level = levels.back();
    const int here = level.directory.fd();
    auto entry = level.directory.next();
    if (!entry) return std::unexpected(entry.error());

    if (*entry == nullptr) {
      const int parent = levels.size() == 1 ? directory : levels[levels.size() - 2].directory.fd();
      if (::unlinkat(parent, level.name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) {
        ++removed;
        levels.pop_back();
        continue;
      }
      const bool more = levels.size() == 1 && std::exchange(hoisted, false);
      if (errno != ENOTEMPTY || (!more && ++level.rewinds > kMostRewinds))
        return sys_fail("unlinkat");
      level.directory.rewind();
      continue;
    }

    gone = remove_entry(here, *entry);
    if (!gone) return std::unexpected(gone.error());
    if (*gone) {
      ++removed;
    } else if (levels.size() < kMostOpen) {
      auto below = open_level(here, *entry);
      if (!below) return std::unexpected(below.error());
      levels.push_back(std::move(*below));
    } else {
      // Too deep to go on with a descriptor per level: what hangs below is hung up at the top, and
      // comes up there again.
      if (::renameat(here, *entry, levels.front().directory.fd(), temporary_name().c_str()) != 0)
        return sys_fail("renameat");
      hoisted = true;
    }
  }
  return {};
}

}  // namespace sallyport
