#include "cell/protected_grants.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>

#include "base/fd.h"
#include "base/protected_names.h"

namespace sallyport {
namespace {

// Directories at the top of a tree that have protected names inside.
constexpr std::string_view kOpened[] = {".git", ".config", ".github"};
// Of .git: what holds nothing but data. If there is more of the rest than any repository has, all
// of it is protected, so that nobody can hide a name in a crowd.
constexpr std::string_view kData[] = {"objects", "refs", "logs", "lfs"};
constexpr int kDeepest = 8, kMost = 20'000;

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

class Look {
 public:
  std::vector<ProtectedPlace> found;
  bool crowded = false;

  void look(int parent, const char* name, const std::string& path, int depth) {
    Fd directory(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (depth > kDeepest) crowded = true;
    if (!directory || crowded) return;
    const int fd = directory.get();
    const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(directory.release()));
    if (!stream) return;
    while (const dirent* entry = ::readdir(stream.get())) {
      const std::string_view own = entry->d_name;
      if (own == "." || own == "..") continue;
      if (!path.empty() && ++looked_at_ > kMost) crowded = true;
      if (crowded) return;
      struct stat status{};
      if (::fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      const bool is_directory = S_ISDIR(status.st_mode);
      if (!is_directory && !S_ISREG(status.st_mode)) continue;
      const std::string full = path.empty() ? std::string(own) : path + "/" + std::string(own);
      if (const ProtectedName* rule = find_protected({.path = full, .directory = is_directory})) {
        found.push_back({full, std::string(rule->why)});
        continue;
      }
      const bool opened = path.empty() ? std::ranges::find(kOpened, own) != std::end(kOpened)
                                       : path.starts_with(".git") &&
                                             std::ranges::find(kData, own) == std::end(kData);
      if (is_directory && opened) look(fd, entry->d_name, full, depth + 1);
    }
  }

 private:
  int looked_at_ = 0;
};

uid_t owner_of(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_uid : static_cast<uid_t>(-1);
}

}  // namespace

std::vector<ProtectedPlace> list_protected(const std::string& tree) {
  Look look;
  look.look(AT_FDCWD, tree.c_str(), "", 0);
  if (look.crowded) {
    std::erase_if(look.found, [](const auto& place) { return place.path.starts_with(".git/"); });
    look.found.push_back({".git", "it holds too much to be looked through"});
  }
  std::ranges::sort(look.found, {}, &ProtectedPlace::path);
  return std::move(look.found);
}

std::vector<ProtectedTree> protected_trees(const std::vector<Grant>& grants) {
  std::vector<ProtectedTree> trees;
  for (const Grant& grant : grants)
    if (grant.write) trees.push_back({grant.host, grant.inside, list_protected(grant.host)});
  return trees;
}

void protect(const ProtectedTree& tree, std::vector<Grant>& grants) {
  const auto add = [&](const std::string& path, bool write) {
    const std::string inside = tree.inside + "/" + path;
    if (std::ranges::find(grants, inside, &Grant::inside) == grants.end())
      grants.push_back({.host = tree.host + "/" + path, .inside = inside, .write = write});
  };
  for (const ProtectedPlace& place : tree.places) {
    for (std::size_t end = place.path.find('/'); end != std::string::npos;
         end = place.path.find('/', end + 1)) {
      const std::string parent = place.path.substr(0, end);
      // It is shown as if it belonged to the cell's user, as the tree is: only where it does.
      add(parent, owner_of(tree.host + "/" + parent) == owner_of(tree.host));
    }
    add(place.path, false);
  }
}

std::vector<Finding> find_new_protected(const ProtectedTree& tree) {
  std::vector<Finding> findings;
  for (const ProtectedPlace& place : list_protected(tree.host))
    if (std::ranges::find(tree.places, place.path, &ProtectedPlace::path) == tree.places.end())
      findings.push_back(
          {"protected_name", tree.inside + "/" + place.path, "the call made it, and " + place.why});
  return findings;
}

}  // namespace sallyport
