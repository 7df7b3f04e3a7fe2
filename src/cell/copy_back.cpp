#include "cell/copy_back.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/protected_names.h"
#include "base/text.h"
#include "cell/protected_grants.h"
#include "cell/remove_tree.h"

namespace sallyport {
namespace {

constexpr std::size_t kDeepest = 128;

struct MarkNames {
  const char* opaque;    // on a directory, "y": nothing of the host's directory shows through
  const char* redirect;  // the content is that of another path of the host
  const char* metacopy;  // on a file: the content is the host's
  const char* whiteout;  // on an empty file: the name is deleted (Linux 6.7; else a device 0:0)
};

constexpr MarkNames kTrustedMarks{"trusted.overlay.opaque", "trusted.overlay.redirect",
                                  "trusted.overlay.metacopy", "trusted.overlay.whiteout"};
constexpr MarkNames kUserMarks{"user.overlay.opaque", "user.overlay.redirect",
                               "user.overlay.metacopy", "user.overlay.whiteout"};

// The value of a mark, if it is there; a long one reads as empty.
Sys<std::optional<std::string>> read_mark(int fd, const char* name) {
  char value[16];
  const ssize_t size = ::fgetxattr(fd, name, value, sizeof(value));
  if (size >= 0) return std::string(value, static_cast<std::size_t>(size));
  if (errno == ERANGE) return std::string();
  if (errno == ENODATA || errno == EOPNOTSUPP) return std::nullopt;
  return sys_fail("fgetxattr");
}

// Whether a symlink in a directory `depth` levels below the root of the tree ends inside of the
// tree. ".." is allowed only at the front: behind a name that is itself a symlink it would count
// from where that one leads, and out of the tree with "deep/up/../..", where deep/up points to the
// root.
bool stays_inside(std::string_view target, std::size_t depth) {
  if (target.empty() || target.front() == '/') return false;
  bool descending = false;
  while (!target.empty()) {
    const std::string_view part = target.substr(0, target.find('/'));
    target.remove_prefix(std::min(target.size(), part.size() + 1));
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      descending = true;
    } else if (descending || depth-- == 0) {
      return false;
    }
  }
  return true;
}

// Opens the host's directory `name`, made (and then reported so) if there is none; anything else of
// that name gives way.
Sys<Fd> open_or_make(int parent, const char* name, bool& made, std::uint64_t& deleted) {
  // Each round is lost only to somebody who changes the tree at the same moment.
  for (int round = 0; round < 8; ++round) {
    auto opened = open_directory(parent, name);
    if (opened) return opened;
    if (opened.error().err == ENOENT) {
      made = ::mkdirat(parent, name, 0700) == 0;
      if (!made && errno != EEXIST) return sys_fail("mkdirat");
    } else if (opened.error().err == ENOTDIR || opened.error().err == ELOOP) {
      if (::unlinkat(parent, name, 0) == 0) {
        ++deleted;
      } else if (errno != ENOENT && errno != EISDIR) {
        return sys_fail("unlinkat");
      }
    } else {
      return opened;
    }
  }
  return sys_fail("openat2", "", EAGAIN);
}

class CopyBack {
 public:
  CopyBack(const OwnerRights& rights, const MarkNames& marks, const CopyBackLimits& limits,
           std::vector<Finding>& findings)
      : rights_(rights), marks_(marks), limits_(limits), log_("not_copied_back", findings) {}

  Result<CopyBackReport> run(int upper, int host);

 private:
  struct Level {
    Directory upper;
    Fd host;
    std::size_t path_size;
    mode_t mode;  // what the host's directory gets in the end
  };
  using Applied = std::expected<void, std::string>;  // or why an entry was not applied

  Applied apply(Level& level, const char* name);
  Applied apply_directory(Level& level, const char* name, const struct stat& seen);
  Applied apply_file(Level& level, const char* name, const struct stat& seen);
  Applied apply_symlink(Level& level, const char* name);
  Applied replace(int host, const char* name, Sys<PendingEntry> entry);
  Applied remove(int host, const char* name);
  void leave();

  std::unexpected<std::string> refuse(const SysError& error) {
    if (is_host_exhausted(error.err)) exhausted_ = true;
    return std::unexpected(describe(error));
  }

  const OwnerRights& rights_;
  const MarkNames& marks_;
  const CopyBackLimits limits_;
  FindingLog log_;
  std::vector<Level> levels_;
  std::string path_;  // of the entry being applied, relative to the tree
  bool exhausted_ = false;
  std::uint64_t data_ = 0;  // bytes copied, without holes
  CopyBackReport report_;
};

Result<CopyBackReport> CopyBack::run(int upper, int host) {
  auto changes = Directory::open(upper, ".");
  if (!changes) return fail(Reason::internal, changes.error());
  auto target = [&] {
    const auto acting = rights_.act();
    return open_directory(host, ".");
  }();
  if (!target) return fail(Reason::unavailable, target.error());
  levels_.push_back({std::move(*changes), std::move(*target), 0, 0});

  std::optional<Error> stopped;
  std::uint64_t entries = 0;
  while (!levels_.empty()) {
    Level& level = levels_.back();
    path_.resize(level.path_size);
    auto name = level.upper.next();
    if (!name) log_.add(path_, name.error());
    if (!name || *name == nullptr) {
      leave();
      continue;
    }
    if (!path_.empty()) path_.push_back('/');
    path_.append(*name);
    if (entries++ == limits_.max_entries) {
      log_.add(path_, "the rest from here on: the tree has too many entries");
      break;
    }
    Applied applied = apply(level, *name);
    if (!applied && exhausted_) {
      stopped = Error{Reason::unavailable,
                      "copying back stopped at " + quoted(path_) + ": " + applied.error(),
                      std::to_string(report_.files_written) + " files were written before"};
      break;
    }
    if (!applied) log_.add(path_, std::move(applied.error()));
  }
  while (!levels_.empty())
    leave();
  if (stopped) return std::unexpected(std::move(*stopped));
  return report_;
}

CopyBack::Applied CopyBack::apply(Level& level, const char* name) {
  struct stat seen{};
  if (::fstatat(level.upper.fd(), name, &seen, AT_SYMLINK_NOFOLLOW) != 0)
    return refuse({"fstatat", "", errno});
  if (const ProtectedName* rule = find_protected(
          {.path = std::string(limits_.prefix) + path_, .directory = S_ISDIR(seen.st_mode)}))
    return std::unexpected("the name " + std::string(rule->pattern) + " is protected, because " +
                           std::string(rule->why));
  if (S_ISCHR(seen.st_mode) && seen.st_rdev == 0) return remove(level.host.get(), name);
  switch (seen.st_mode & S_IFMT) {
    case S_IFDIR:
      return apply_directory(level, name, seen);
    case S_IFREG:
      return apply_file(level, name, seen);
    case S_IFLNK:
      return apply_symlink(level, name);
    default:
      return std::unexpected("it is " + std::string(kind_of_file(seen.st_mode)));
  }
}

CopyBack::Applied CopyBack::apply_directory(Level& level, const char* name,
                                            const struct stat& seen) {
  if (levels_.size() == kDeepest) return std::unexpected("the directory is too deep");
  auto upper = Directory::open(level.upper.fd(), name);
  if (!upper) return refuse(upper.error());
  auto redirect = read_mark(upper->fd(), marks_.redirect);
  if (!redirect) return refuse(redirect.error());
  if (redirect->has_value()) return std::unexpected("it is redirected to another directory");
  auto opaque = read_mark(upper->fd(), marks_.opaque);
  if (!opaque) return refuse(opaque.error());

  const auto acting = rights_.act();
  if (*opaque == "y")
    if (auto removed = remove(level.host.get(), name); !removed) return removed;
  bool made = false;
  auto host = open_or_make(level.host.get(), name, made, report_.deleted);
  if (!host) return refuse(host.error());
  if (made) ++report_.directories_made;

  struct stat info{};
  if (::fstat(host->get(), &info) != 0) return refuse({"fstat", "", errno});
  // Set-id and sticky bits of the host's own directories are the host's affair: kept, never taken
  // from the tool.
  const mode_t mode = (info.st_mode & 07000) | (seen.st_mode & 0777);
  if ((info.st_mode & S_IRWXU) != S_IRWXU && info.st_uid == rights_.uid() &&
      ::fchmod(host->get(), (info.st_mode & 07777) | S_IRWXU) != 0)
    return refuse({"fchmod", "", errno});
  levels_.push_back({std::move(*upper), std::move(*host), path_.size(), mode});
  return {};
}

void CopyBack::leave() {
  const Level level = std::move(levels_.back());
  levels_.pop_back();
  path_.resize(level.path_size);
  if (levels_.empty()) return;
  const auto acting = rights_.act();
  struct stat info{};
  if (::fstat(level.host.get(), &info) != 0) return log_.add(path_, SysError{"fstat", "", errno});
  // Only the owner's directories change, although root could change all: the tool could not either.
  if ((info.st_mode & 07777) == level.mode || info.st_uid != rights_.uid()) return;
  if (::fchmod(level.host.get(), level.mode) != 0) log_.add(path_, SysError{"fchmod", "", errno});
}

CopyBack::Applied CopyBack::apply_file(Level& level, const char* name, const struct stat& seen) {
  auto file = open_regular(level.upper.fd(), name, seen);
  if (!file) return refuse(file.error());
  const struct stat& info = file->info;
  for (const char* mark : {marks_.metacopy, marks_.redirect}) {
    auto found = read_mark(file->fd.get(), mark);
    if (!found) return refuse(found.error());
    if (found->has_value()) return std::unexpected("its content is not in the upper directory");
  }
  if (info.st_size == 0) {
    auto whiteout = read_mark(file->fd.get(), marks_.whiteout);
    if (!whiteout) return refuse(whiteout.error());
    if (whiteout->has_value()) return remove(level.host.get(), name);
  }
  const auto size = static_cast<std::uint64_t>(info.st_size);
  const auto data = std::min(size, static_cast<std::uint64_t>(info.st_blocks) * 512);
  if (data > limits_.max_bytes - data_)
    return std::unexpected("its " + std::to_string(size) + " bytes go beyond the limit of " +
                           std::to_string(limits_.max_bytes) + " for all files");

  const auto acting = rights_.act();
  if (auto done = replace(level.host.get(), name,
                          PendingEntry::file(level.host.get(), file->fd.get(), size,
                                             {.mode = info.st_mode, .modified = info.st_mtim}));
      !done)
    return done;
  data_ += data;
  report_.bytes += size;
  return {};
}

CopyBack::Applied CopyBack::apply_symlink(Level& level, const char* name) {
  char target[PATH_MAX];
  const ssize_t size = ::readlinkat(level.upper.fd(), name, target, sizeof(target));
  if (size < 0) return refuse({"readlinkat", "", errno});
  if (size == sizeof(target)) return refuse({"readlinkat", "", ENAMETOOLONG});
  target[size] = '\0';
  if (!stays_inside(target, levels_.size() - 1))
    return std::unexpected("it is a symbolic link that may lead out of the tree, to " +
                           quoted(target));
  const auto acting = rights_.act();
  return replace(level.host.get(), name, PendingEntry::symlink(level.host.get(), target));
}

// Puts a finished entry into its place. Only now may a directory of that name go: a disk that is
// full has been noticed.
CopyBack::Applied CopyBack::replace(int host, const char* name, Sys<PendingEntry> entry) {
  if (!entry) return refuse(entry.error());
  auto done = entry->commit(name);
  if (!done && done.error().err == EISDIR) {
    if (auto removed = remove(host, name); !removed) return removed;
    done = entry->commit(name);
  }
  if (!done) return refuse(done.error());
  ++report_.files_written;
  return {};
}

CopyBack::Applied CopyBack::remove(int host, const char* name) {
  const auto acting = rights_.act();
  if (holds_protected(host, name, std::string(limits_.prefix) + path_))
    return std::unexpected("what is there holds protected names, and stays");
  if (auto removed = remove_tree(host, name, report_.deleted); !removed)
    return refuse(removed.error());
  return {};
}

}  // namespace

Result<CopyBackReport> copy_back(int upper_fd, int host_fd, Owner owner, OverlayMarks marks,
                                 const CopyBackLimits& limits, std::vector<Finding>& findings) {
  // The kernel hides trusted.* from others than root as if there were none; deleted directories
  // would come back to life.
  if (marks == OverlayMarks::trusted && ::geteuid() != 0)
    return fail(Reason::internal, "only root can read the marks of an overlay that root mounted");
  auto rights = OwnerRights::take(owner);
  if (!rights) return std::unexpected(rights.error());
  const MarkNames& names = marks == OverlayMarks::trusted ? kTrustedMarks : kUserMarks;
  return CopyBack(*rights, names, limits, findings).run(upper_fd, host_fd);
}

}  // namespace sallyport
