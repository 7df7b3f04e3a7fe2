#include "input/path.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "input/string_value.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongestPath = 4095;
constexpr std::size_t kLongestName = 255;

std::unexpected<Error> refused(std::string_view path, std::string_view fault,
                               std::string hint = {}) {
  return fail(Reason::argument, "the path " + quoted(path) + " " + std::string(fault),
              std::move(hint));
}

// A failure of the machine or of its permissions, not of the path's form.
std::unexpected<Error> cannot_open(std::string_view path, int error) {
  if (error == ENOENT)
    return refused(path, "does not exist", "name a path that exists; list the directory first");
  if (error == EACCES || error == EPERM || error == EROFS)
    return refused(path, std::string("may not be opened: ") + std::strerror(error));
  return fail(error == EMFILE || error == ENFILE || error == ENOMEM ? Reason::unavailable
                                                                    : Reason::argument,
              "the path " + quoted(path) + " cannot be opened: " + std::strerror(error));
}

std::string_view kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "a regular file";
    case S_IFDIR:
      return "a directory";
    case S_IFLNK:
      return "a symbolic link";
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    default:
      return "a device";
  }
}

Fd open_at(int directory, const std::string& name, int flags) {
  return Fd(openat(directory, name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW));
}

// The directory that holds the last component: one openat per component, each from the one before
// and none through a link. Without "..", there is no way up.
Result<Fd> open_parent(int base, std::string_view relative) {
  Fd directory = open_at(base, ".", O_PATH | O_DIRECTORY);
  if (!directory) return cannot_open(relative, errno);
  for (std::size_t start = 0, slash = 0;
       (slash = relative.find('/', start)) != std::string_view::npos; start = slash + 1) {
    const std::string name(relative.substr(start, slash - start));
    const std::string_view so_far = relative.substr(0, slash);
    Fd next = open_at(directory.get(), name, O_PATH | O_DIRECTORY);
    if (!next) {
      const int error = errno;
      struct stat status{};
      if (fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
          !S_ISDIR(status.st_mode))
        return refused(so_far, "is " + std::string(kind_of(status.st_mode)) + ", not a directory",
                       "name the real path; links are not followed");
      return cannot_open(so_far, error);
    }
    directory = std::move(next);
  }
  return directory;
}

// Whether a file of this kind may be opened in this way at all.
Result<void> check_kind(std::string_view path, const struct stat& status, const PathRules& rules,
                        PathAccess access) {
  const std::string kind(kind_of(status.st_mode));
  if (S_ISLNK(status.st_mode))
    return refused(path, "is a symbolic link", "name the real path; links are not followed");
  if (S_ISDIR(status.st_mode)) {
    if (access == PathAccess::list || access == PathAccess::inspect) return {};
    return refused(path, "is a directory", "name a file");
  }
  if (!S_ISREG(status.st_mode))
    return refused(path, "is " + kind, "only regular files and directories are allowed");
  if (access == PathAccess::list) return refused(path, "is a regular file", "name a directory");
  // Another name of the same file may lie outside the directory.
  const bool may_share =
      access == PathAccess::inspect || (access == PathAccess::read && rules.read_hard_links);
  if (status.st_nlink > 1 && !may_share)
    return refused(path, "is a file with several names (hard links)",
                   "use a file that has this name only");
  return {};
}

int flags_of(PathAccess access) {
  switch (access) {
    case PathAccess::inspect:
      return O_PATH;
    case PathAccess::read:
      return O_RDONLY | O_NONBLOCK | O_NOCTTY;
    case PathAccess::list:
      return O_RDONLY | O_DIRECTORY;
    case PathAccess::write:
      return O_WRONLY | O_NONBLOCK | O_NOCTTY;
  }
  return O_PATH;
}

// `text` without the directory that it lies in; nothing when it lies elsewhere. Compared by whole
// components: /data-secret is not below /data.
std::optional<std::string_view> cut_base(std::string_view text, std::string_view below) {
  while (below.ends_with('/'))
    below.remove_suffix(1);
  if (!text.starts_with(below)) return std::nullopt;
  text.remove_prefix(below.size());
  if (text.empty() || (text == "/" && below.empty())) return ".";
  if (text[0] != '/') return std::nullopt;
  return text.substr(1);
}

}  // namespace

Result<std::string> parse_relative_path(std::string_view text, const PathRules& rules) {
  if (text.empty()) return refused(text, "is empty", "name a file or directory");
  if (text.size() > kLongestPath)
    return refused(text, "is too long", "at most 4095 bytes are allowed");
  if (const auto unfit = unfit_character(text, Layout::one_word))
    return refused(text, *unfit, "use plain UTF-8 text without control characters");

  std::string_view relative = text;
  if (text.starts_with('/')) {
    const auto cut = rules.below.starts_with('/') ? cut_base(text, rules.below) : std::nullopt;
    if (!cut)
      return refused(text, "lies outside the allowed directory",
                     rules.below.empty()
                         ? "use a relative path"
                         : "use a relative path, or one below " + quoted(rules.below));
    relative = *cut;
  }
  if (relative == ".") return std::string(relative);
  if (relative.starts_with('/') || irregular_component(relative))
    return refused(text, "has \"..\", \".\" or nothing between two slashes",
                   "write the plain path, as in dir/file.txt");
  for (std::size_t start = 0; start <= relative.size();) {
    const std::size_t end = std::min(relative.find('/', start), relative.size());
    const std::string_view component = relative.substr(start, end - start);
    if (component.size() > kLongestName)
      return refused(text, "has a component of more than 255 bytes", "use shorter names");
    if (component[0] == '.' && !rules.allow_hidden)
      return refused(text, "leads through the hidden name " + quoted(component),
                     "names that begin with a dot are not allowed here");
    start = end + 1;
  }
  return std::string(relative);
}

Result<SafePath> open_confined(int base, const PathRules& rules, std::string_view text,
                               PathAccess access) {
  Result<std::string> relative = parse_relative_path(text, rules);
  if (!relative) return std::unexpected(std::move(relative.error()));
  Result<Fd> parent = open_parent(base, *relative);
  if (!parent) return std::unexpected(std::move(parent.error()));

  SafePath path;
  path.name = relative->substr(relative->rfind('/') + 1);
  path.parent = std::move(*parent);
  path.relative = std::move(*relative);

  // First as O_PATH, which cannot wake a device or wait for a FIFO; then for use, and only if it is
  // still the same file.
  Fd seen = open_at(path.parent.get(), path.name, O_PATH);
  if (!seen) {
    if (errno == ENOENT && !rules.must_exist) return path;
    return cannot_open(text, errno);
  }
  struct stat before{};
  if (fstat(seen.get(), &before) != 0) return cannot_open(text, errno);
  if (const Result<void> kind = check_kind(text, before, rules, access); !kind)
    return std::unexpected(kind.error());
  if (access == PathAccess::inspect) {
    path.fd = std::move(seen);
    return path;
  }

  path.fd = open_at(path.parent.get(), path.name, flags_of(access));
  if (!path.fd) return cannot_open(text, errno);
  struct stat now{};
  if (fstat(path.fd.get(), &now) != 0) return cannot_open(text, errno);
  if (now.st_dev != before.st_dev || now.st_ino != before.st_ino)
    return refused(text, "was replaced while it was opened", "try again");
  // Links may have come since.
  if (const Result<void> kind = check_kind(text, now, rules, access); !kind)
    return std::unexpected(kind.error());
  return path;
}

Result<SafePath> open_confined(const PathRules& rules, std::string_view text, PathAccess access) {
  if (!rules.below.starts_with('/'))
    return fail(Reason::internal, "the directory " + quoted(rules.below) + " is not absolute");
  // The operator's own path: links in it are the operator's too.
  const Fd base(open(rules.below.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!base)
    return fail(Reason::unavailable, "the directory " + quoted(rules.below) +
                                         " cannot be opened: " + std::strerror(errno));
  return open_confined(base.get(), rules, text, access);
}

Result<Fd> create_file(const SafePath& path, mode_t mode) {
  if (path.fd) return fail(Reason::internal, "the file " + quoted(path.relative) + " exists");
  Fd file(openat(path.parent.get(), path.name.c_str(),
                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, mode));
  if (file) return file;
  if (errno == EEXIST)
    return refused(path.relative, "was created by another program meanwhile", "try again");
  return cannot_open(path.relative, errno);
}

}  // namespace sallyport
