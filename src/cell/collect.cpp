#include "cell/collect.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/glob.h"
#include "base/protected_names.h"
#include "base/text.h"
#include "cell/export.h"

namespace sallyport {
namespace {

constexpr std::size_t kDeepest = 64;
constexpr std::uint64_t kMostEntries = 1'000'000;

// Whether a name looks on a screen like what it is.
bool is_plain(std::string_view name) {
  return escape_for_terminal(name) == name;
}

// Opens the directory `name` of `parent`, made if it is missing.
Sys<Fd> open_or_make(int parent, const char* name) {
  auto opened = open_directory(parent, name);
  if (opened || opened.error().err != ENOENT) return opened;
  if (::mkdirat(parent, name, 0755) != 0 && errno != EEXIST) return sys_fail("mkdirat");
  return open_directory(parent, name);
}

class Collection {
 public:
  Collection(const OwnerRights& rights, int destination, const CollectLimits& limits,
             std::vector<Finding>& findings)
      : rights_(rights),
        destination_(destination),
        limits_(limits),
        log_("not_exported", findings) {}

  Result<void> add_glob(const std::string& text) {
    auto glob = Glob::parse(text);
    if (!glob) return std::unexpected(glob.error());
    wanted_.push_back({.text = text, .glob = std::move(*glob)});
    return {};
  }

  Result<void> walk(int workspace);
  std::vector<Artifact> finish();

 private:
  struct Wanted {
    std::string text;
    Glob glob;
    bool met = false;              // a file matched, exported or not
    bool names_directory = false;  // a directory matched
  };
  struct Level {
    Directory directory;
    std::size_t path_size;
  };

  Result<void> visit(int directory, const char* name);
  bool is_wanted(bool directory);
  void enter(int parent, const char* name);
  Result<void> export_file(int directory, const char* name, const struct stat& seen);
  Sys<void> write(const OpenFile& file);
  Sys<Fd> open_destination(std::string_view parents);

  const OwnerRights& rights_;
  const int destination_;
  const CollectLimits limits_;
  FindingLog log_;
  std::vector<Wanted> wanted_;
  std::vector<Level> levels_;
  std::string path_;  // of the entry being looked at, relative to the workspace
  std::vector<Artifact> artifacts_;
  std::uint64_t bytes_ = 0;
};

Result<void> Collection::walk(int workspace) {
  auto root = Directory::open(workspace, ".");
  if (!root) return fail(Reason::internal, root.error());
  levels_.push_back({.directory = std::move(*root), .path_size = 0});
  for (std::uint64_t seen = 0; !levels_.empty(); ++seen) {
    Level& level = levels_.back();
    path_.resize(level.path_size);
    if (seen == kMostEntries) {
      log_.add(path_, "the search ended here, after " + std::to_string(seen) + " entries");
      return {};
    }
    auto name = level.directory.next();
    if (!name) log_.add(path_, name.error());
    if (!name || *name == nullptr) {
      levels_.pop_back();
      continue;
    }
    if (auto visited = visit(level.directory.fd(), *name); !visited) return visited;
  }
  return {};
}

Result<void> Collection::visit(int directory, const char* name) {
  if (!path_.empty()) path_.push_back('/');
  path_.append(name);
  struct stat seen{};
  if (::fstatat(directory, name, &seen, AT_SYMLINK_NOFOLLOW) != 0) {
    log_.add(path_, SysError{"fstatat", "", errno});
  } else if (S_ISDIR(seen.st_mode)) {
    (void)is_wanted(true);
    enter(directory, name);
  } else if (is_wanted(false)) {
    return export_file(directory, name, seen);
  }
  return {};
}

bool Collection::is_wanted(bool directory) {
  bool any = false;
  for (Wanted& wanted : wanted_) {
    if (!wanted.glob.matches(path_)) continue;
    any = true;
    (directory ? wanted.names_directory : wanted.met) = true;
  }
  return any;
}

void Collection::enter(int parent, const char* name) {
  if (!is_plain(name)) return log_.add(path_, "the name of the directory is not plain text");
  if (levels_.size() == kDeepest) return log_.add(path_, "the directory is too deep");
  auto directory = Directory::open(parent, name);
  if (!directory) return log_.add(path_, directory.error());
  levels_.push_back({.directory = std::move(*directory), .path_size = path_.size()});
}

Result<void> Collection::export_file(int directory, const char* name, const struct stat& seen) {
  const auto skip = [&](std::string why) -> Result<void> {
    log_.add(path_, std::move(why));
    return {};
  };
  if (!is_plain(name)) return skip("the name is not plain text");
  if (const ProtectedName* rule = find_protected({.path = path_}))
    return skip("the name " + std::string(rule->pattern) + " is protected, because " +
                std::string(rule->why));
  if (!S_ISREG(seen.st_mode)) return skip("it is " + std::string(kind_of_file(seen.st_mode)));
  auto file = open_regular(directory, name, seen);
  if (!file) return skip(describe(file.error()));
  // The other name may lie outside of the workspace.
  if (file->info.st_nlink != 1) return skip("it has more than one hard link");
  const auto size = static_cast<std::uint64_t>(file->info.st_size);
  if (artifacts_.size() >= limits_.max_files)
    return skip("more than " + std::to_string(limits_.max_files) + " files");
  if (size > limits_.max_bytes - bytes_)
    return skip("its " + std::to_string(size) + " bytes go beyond the limit of " +
                std::to_string(limits_.max_bytes) + " for all files");

  if (auto written = write(*file); !written) {
    if (is_host_exhausted(written.error().err))
      return fail(Reason::unavailable,
                  "cannot export " + quoted(path_) + ": " + describe(written.error()),
                  std::to_string(artifacts_.size()) + " files were exported before");
    return skip(describe(written.error()));
  }
  artifacts_.push_back({.name = path_, .size = size});
  bytes_ += size;
  return {};
}

Sys<void> Collection::write(const OpenFile& file) {
  const auto acting = rights_.act();
  const std::size_t slash = path_.rfind('/');
  const bool nested = slash != std::string::npos;
  auto parent = open_destination(nested ? std::string_view(path_).substr(0, slash) : ".");
  if (!parent) return std::unexpected(parent.error());
  const mode_t mode = (file.info.st_mode & S_IXUSR) != 0 ? 0755 : 0644;
  auto entry = PendingEntry::file(parent->get(), file.fd.get(),
                                  static_cast<std::uint64_t>(file.info.st_size),
                                  {.mode = mode, .modified = std::nullopt});
  if (!entry) return std::unexpected(entry.error());
  return entry->commit(path_.c_str() + (nested ? slash + 1 : 0));
}

Sys<Fd> Collection::open_destination(std::string_view parents) {
  auto current = open_directory(destination_, ".");
  while (current && !parents.empty()) {
    const std::string name(parents.substr(0, parents.find('/')));
    parents.remove_prefix(std::min(parents.size(), name.size() + 1));
    current = open_or_make(current->get(), name.c_str());
  }
  return current;
}

std::vector<Artifact> Collection::finish() {
  for (const Wanted& wanted : wanted_) {
    if (wanted.met) continue;
    log_.add(wanted.text, wanted.names_directory
                              ? "it names a directory; add /** for the files in it"
                              : std::string(kNoFileMatches));
  }
  std::ranges::sort(artifacts_, {}, &Artifact::name);
  return std::move(artifacts_);
}

}  // namespace

Result<std::vector<Artifact>> collect_outputs(int workspace_fd, std::span<const std::string> globs,
                                              int destination_fd, const CollectLimits& limits,
                                              std::vector<Finding>& findings) {
  struct stat destination{};
  if (::fstat(destination_fd, &destination) != 0)
    return fail(Reason::unavailable, SysError{"fstat", "destination of the outputs", errno});
  auto rights = OwnerRights::take({.uid = destination.st_uid, .gid = destination.st_gid});
  if (!rights) return std::unexpected(rights.error());
  Collection collection(*rights, destination_fd, limits, findings);
  for (const std::string& glob : globs)
    if (auto added = collection.add_glob(glob); !added) return std::unexpected(added.error());
  if (auto walked = collection.walk(workspace_fd); !walked) return std::unexpected(walked.error());
  return collection.finish();
}

}  // namespace sallyport
