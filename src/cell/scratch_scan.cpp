#include "cell/scratch_scan.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <vector>

#include "cell/export.h"

namespace sallyport {
namespace {

constexpr std::size_t kDeepest = 64;
// Ten times the default limit on inodes, and a tenth of a second at most.
constexpr int kMostEntries = 100'000;

}  // namespace

bool has_file_of_size(int directory, ByteSize size) {
  std::vector<Directory> levels;
  const auto enter = [&levels](int parent, const char* name) {
    if (levels.size() == kDeepest) return;
    if (auto opened = Directory::open(parent, name)) levels.push_back(std::move(*opened));
  };
  enter(directory, ".");
  for (int seen = 0; !levels.empty() && seen < kMostEntries; ++seen) {
    const auto name = levels.back().next();
    if (!name || *name == nullptr) {
      levels.pop_back();
      continue;
    }
    const int here = levels.back().fd();
    struct stat info{};
    if (::fstatat(here, *name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(info.st_mode) && static_cast<std::uint64_t>(info.st_size) == size.bytes)
      return true;
    if (S_ISDIR(info.st_mode)) enter(here, *name);
  }
  return false;
}

}  // namespace sallyport
