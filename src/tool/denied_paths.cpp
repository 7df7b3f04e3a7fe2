#include "tool/denied_paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "tool/file_order.h"
#include "tool/glob_reach.h"

namespace sallyport {
namespace {

constexpr std::size_t kDeepest = 128;

// Stands for any name at all: a directory in which this one is denied is denied itself, although
// `/**/.ssh/**` does not match it and it may still be empty.
constexpr std::string_view kAnyName = "any name";

constexpr const char* kNarrower = "grant a narrower directory, one without it";

// All deny rules, over host paths without their leading '/'.
class DeniedNames {
 public:
  explicit DeniedNames(const std::vector<DenyRule>& rules) : rules_(rules) {
    for (const DenyRule& rule : rules) {
      struct stat status{};
      if (rule.text.find_first_of("*?[{\\") == std::string::npos &&
          ::lstat(rule.text.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
          status.st_nlink > 1)
        linked_.push_back({.device = status.st_dev, .inode = status.st_ino, .rule = &rule});
    }
  }

  [[nodiscard]] const DenyRule* find(std::string_view path) const {
    const auto rule = std::ranges::find_if(
        rules_, [path](const DenyRule& deny) { return deny.glob.matches(path); });
    return rule == rules_.end() ? nullptr : &*rule;
  }

  // A file that is denied under another name. `inode` says whether to look closer.
  [[nodiscard]] const DenyRule* find_link(int parent, const char* name, ino_t inode) const {
    for (const Linked& file : linked_) {
      struct stat status{};
      if (file.inode == inode && ::fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
          status.st_dev == file.device && status.st_ino == file.inode)
        return file.rule;
    }
    return nullptr;
  }

  [[nodiscard]] bool may_be_below(std::string_view path) const {
    // Another name of a file can be anything.
    if (!linked_.empty()) return true;
    return std::ranges::any_of(rules_, [path](const DenyRule& deny) {
      const std::string_view glob = deny.text;
      return may_match_below(glob.starts_with('/') ? glob.substr(1) : glob, path);
    });
  }

 private:
  struct Linked {
    dev_t device;
    ino_t inode;
    const DenyRule* rule;
  };
  const std::vector<DenyRule>& rules_;
  std::vector<Linked> linked_;  // files that have other names than the denied one
};

// What is left for all grants together.
struct Allowance {
  std::size_t entries;
  std::int64_t deadline;
  Duration timeout;  // that the deadline comes from
  std::int64_t (*clock)();
};

// Looks for denied names in one granted tree, without following links: what a link leads to is not
// in the cell unless another grant shows it.
class Search {
 public:
  Search(const DeniedNames& denied, std::string grant, Allowance& left)
      : denied_(denied), left_(left), grant_(std::move(grant)) {
    path_ = grant_.substr(1);
  }

  Result<void> run() {
    // What lies in a denied directory is denied with it.
    for (std::size_t end = path_.find('/'); !path_.empty(); end = path_.find('/', end + 1)) {
      if (const DenyRule* rule = denied_.find(std::string_view(path_).substr(0, end)))
        return refuse(*rule, path_.substr(0, end));
      if (end == std::string::npos) break;
    }
    struct stat status{};
    if (::lstat(grant_.c_str(), &status) == 0)
      if (const DenyRule* rule = denied_.find_link(AT_FDCWD, grant_.c_str(), status.st_ino))
        return refuse_link(*rule);
    return look_below(AT_FDCWD, grant_.c_str(), 0);
  }

 private:
  struct CloseDirectory {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };

  [[nodiscard]] std::unexpected<Error> refuse(const DenyRule& rule, std::string_view path) const {
    return fail(Reason::cannot_enforce,
                "the grant " + quoted(grant_) + " would show " + quoted("/" + std::string(path)) +
                    ", which ceiling.files.deny has as " + quoted(rule.text),
                kNarrower);
  }

  [[nodiscard]] std::unexpected<Error> refuse_link(const DenyRule& rule) const {
    return fail(Reason::cannot_enforce,
                "the grant " + quoted(grant_) + " would show " + quoted("/" + path_) +
                    ", another name of " + quoted(rule.text) + ", which ceiling.files.deny has",
                kNarrower);
  }

  [[nodiscard]] std::unexpected<Error> unsure(const std::string& why) const {
    return fail(Reason::cannot_enforce,
                "it cannot be told whether the grant " + quoted(grant_) +
                    " holds something that ceiling.files.deny names: " + why,
                "grant a narrower directory");
  }

  Result<void> look_below(int parent, const char* name, std::size_t depth) {
    if (!denied_.may_be_below(path_)) return {};
    Fd directory(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory) {
      if (errno == ENOTDIR || errno == ENOENT || errno == ELOOP) return {};
      const int cause = errno;
      struct stat status{};
      // A cell has no more rights than its launcher, but the owner could give them back to himself.
      if (cause == EACCES && ::fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
          status.st_uid != ::geteuid())
        return {};
      return unsure(quoted("/" + path_) + " cannot be opened: " + std::strerror(cause));
    }
    if (const DenyRule* rule =
            denied_.find(path_ + (path_.empty() ? "" : "/") + std::string(kAnyName)))
      return refuse(*rule, path_);
    if (depth == kDeepest) return unsure("it is more than 128 directories deep");
    const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(directory.get()));
    if (!stream) return unsure(std::string("fdopendir: ") + std::strerror(errno));
    (void)directory.release();
    const std::size_t size = path_.size();
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(stream.get());
      if (entry == nullptr && errno != 0)
        return unsure(quoted("/" + path_) + " cannot be read: " + std::strerror(errno));
      if (entry == nullptr) return {};
      const std::string_view entry_name = entry->d_name;
      if (entry_name == "." || entry_name == "..") continue;
      if (left_.entries == 0) return unsure("there are too many entries to look at");
      --left_.entries;
      if (left_.clock() > left_.deadline)
        return unsure("looking takes longer than the call's timeout, " + to_text(left_.timeout));
      if (size != 0) path_.push_back('/');
      path_.append(entry_name);
      if (const DenyRule* rule = denied_.find(path_)) return refuse(*rule, path_);
      if (const DenyRule* rule =
              denied_.find_link(::dirfd(stream.get()), entry->d_name, entry->d_ino))
        return refuse_link(*rule);
      if (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN)
        if (auto looked = look_below(::dirfd(stream.get()), entry->d_name, depth + 1); !looked)
          return looked;
      path_.resize(size);
    }
  }

  const DeniedNames& denied_;
  Allowance& left_;
  const std::string grant_;
  std::string path_;  // of what is looked at, on the host, without its leading '/'
};

}  // namespace

Result<void> check_denied_paths(const Ceiling& ceiling, const CellSpec& spec,
                                const SearchBounds& bounds) {
  if (ceiling.deny_files.empty()) return {};
  const DeniedNames denied(ceiling.deny_files);
  const std::int64_t now = bounds.clock();
  Allowance left{.entries = bounds.entries,
                 .deadline = std::numeric_limits<std::int64_t>::max(),
                 .timeout = spec.limits.timeout,
                 .clock = bounds.clock};
  // A timeout may be longer than nanoseconds can count.
  const std::chrono::nanoseconds countable(left.deadline - now);
  if (spec.limits.timeout < std::chrono::floor<Duration>(countable))
    left.deadline = now + std::chrono::nanoseconds(spec.limits.timeout).count();
  for (const Grant& grant : spec.grants) {
    if (grant.inside == kProgramInside) continue;  // our own, and not the tool's to choose
    // A path that is spelled in another way than the globs are would pass by them.
    if (!grant.host.starts_with('/') || (grant.host != "/" && irregular_component(grant.host)))
      return fail(Reason::cannot_enforce,
                  "the path " + quoted(grant.host) + " cannot be held against ceiling.files.deny",
                  "write it in full, without \".\" and \"..\"");
    if (auto searched = Search(denied, grant.host, left).run(); !searched) return searched;
  }
  return {};
}

}  // namespace sallyport
