#include "cell/protected_grants.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>

#include "base/fd.h"
#include "base/protected_names.h"
#include "base/text.h"

namespace sallyport {
namespace {

// Directories at the top of a tree that have protected names inside.
constexpr std::string_view kOpened[] = {".git", ".config", ".github"};
// Of a repository: what holds nothing but data.
constexpr std::string_view kData[] = {"objects", "refs", "logs", "lfs"};
// What is deeper, or has more in it than any repository, is protected as a whole, so that nobody
// can hide a name in a crowd; and so is what cannot be read.
constexpr int kDeepest = 8, kMostEntries = 20'000;
constexpr std::size_t kMostPlaces = 64;

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

Directory open_directory(int parent, const char* name) {
  Fd fd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return Directory(fd ? ::fdopendir(fd.release()) : nullptr);
}

bool has_file(int directory, const char* name) {
  struct stat status{};
  return ::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

// Looks through a directory of a tree. `prefix` is what stands before its path in the eyes of the
// rules: the tree may itself be a .git.
class Look {
 public:
  Look(std::string prefix, std::vector<ProtectedPlace>& found)
      : prefix_(std::move(prefix)), found_(found) {}

  // False: there is more than can be looked at.
  bool look(DIR* stream, const std::string& path, int depth) {
    const int fd = ::dirfd(stream);
    const bool is_repository = has_file(fd, "HEAD") && has_file(fd, "config");
    while (const dirent* entry = ::readdir(stream)) {
      const std::string_view own = entry->d_name;
      struct stat status{};
      if (own == "." || own == ".." ||
          ::fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        continue;
      const bool is_directory = S_ISDIR(status.st_mode);
      if (!is_directory && !S_ISREG(status.st_mode)) continue;
      const std::string full = path.empty() ? std::string(own) : path + "/" + std::string(own);
      if (depth > 0 && ++entries_ > kMostEntries) return false;
      if (const ProtectedName* rule =
              find_protected({.path = prefix_ + full, .directory = is_directory})) {
        found_.push_back({full, std::string(rule->why), status});
        if (depth > 0 && ++places_ > kMostPlaces) return false;
      } else if (is_directory && is_opened(path, own, depth, is_repository)) {
        if (!descend(fd, entry->d_name, full, status, depth)) return false;
      }
    }
    return true;
  }

 private:
  [[nodiscard]] bool is_opened(const std::string& path, std::string_view own, int depth,
                               bool is_repository) const {
    if (!prefix_.empty() || path == ".git" || path.starts_with(".git/"))
      return !is_repository || std::ranges::find(kData, own) == std::end(kData);
    return depth == 0 && std::ranges::find(kOpened, own) != std::end(kOpened);
  }

  // A directory at the top that is too much is protected as a whole, and nothing else with it.
  bool descend(int parent, const char* name, const std::string& path, const struct stat& status,
               int depth) {
    const std::size_t before = found_.size();
    if (depth == 0) entries_ = 0, places_ = 0;
    const Directory directory = open_directory(parent, name);
    if (directory && depth < kDeepest && look(directory.get(), path, depth + 1)) return true;
    if (depth > 0) return false;
    found_.resize(before);
    found_.push_back({path, "it holds what cannot be looked through", status});
    return true;
  }

  std::string prefix_;
  std::vector<ProtectedPlace>& found_;
  int entries_ = 0;
  std::size_t places_ = 0;
};

bool is_changed(const struct stat& before, const struct stat& now) {
  return before.st_dev != now.st_dev || before.st_ino != now.st_ino ||
         before.st_size != now.st_size || before.st_mtim.tv_sec != now.st_mtim.tv_sec ||
         before.st_mtim.tv_nsec != now.st_mtim.tv_nsec;
}

uid_t owner_of(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_uid : static_cast<uid_t>(-1);
}

}  // namespace

std::string rule_prefix(const std::string& tree) {
  return tree.substr(tree.rfind('/') + 1) == ".git" ? ".git/" : "";
}

bool holds_protected(int parent, const char* name, const std::string& path) {
  const std::string top = path.substr(0, path.find('/'));
  if (std::ranges::find(kOpened, top) == std::end(kOpened)) return false;
  const Directory directory = open_directory(parent, name);
  if (!directory) return errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
  std::vector<ProtectedPlace> found;
  return !Look(path + "/", found).look(directory.get(), "", 1) || !found.empty();
}

Result<std::vector<ProtectedPlace>> list_protected(const std::string& tree) {
  std::vector<ProtectedPlace> found;
  struct stat status{};
  if (::lstat(tree.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return found;
  const Directory directory = open_directory(AT_FDCWD, tree.c_str());
  if (!directory)
    return fail(Reason::argument,
                quoted(tree) + " cannot be looked through, so what is in it cannot be protected",
                "its owner has to be able to read it: chmod u+rwx");
  Look look(rule_prefix(tree), found);
  if (!look.look(directory.get(), "", 0))
    return fail(Reason::argument, quoted(tree) + " holds more than can be looked through",
                "grant a directory in it");
  std::ranges::sort(found, {}, &ProtectedPlace::path);
  return found;
}

Result<std::vector<ProtectedTree>> protected_trees(const std::vector<Grant>& grants) {
  std::vector<ProtectedTree> trees;
  for (const Grant& grant : grants) {
    if (!grant.write) continue;
    auto places = list_protected(grant.host);
    if (!places) return std::unexpected(std::move(places.error()));
    trees.push_back({grant.host, grant.inside, std::move(*places)});
  }
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
  const auto add = [&](const std::string& path, std::string why) {
    if (findings.size() < kMostPlaces)
      findings.push_back({"protected_name", tree.inside + "/" + path, std::move(why)});
  };
  const auto now = list_protected(tree.host);
  if (!now) {
    add("", "the tree cannot be looked through any more");
    return findings;
  }
  for (const ProtectedPlace& place : *now) {
    const auto before = std::ranges::find(tree.places, place.path, &ProtectedPlace::path);
    if (before == tree.places.end())
      add(place.path, "the call made it, and " + place.why);
    else if (is_changed(before->status, place.status))
      // A mount goes when the host renames something over what it lies on.
      add(place.path, "it changed while the call ran, and " + place.why);
  }
  return findings;
}

}  // namespace sallyport
