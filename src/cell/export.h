// What collect and copy_back stand on: moving what a hostile tool left behind into directories of
// the host.
//
// The tool chose every name, type, mode and link in its tree, and the owner of the host directory
// may rename things in it while we work, perhaps as an accomplice. So a name is only ever used as
// one component relative to an open directory; no call here follows a symlink, crosses a mount or
// opens anything but a directory or a regular file; and the host side is touched with the rights of
// its owner alone.
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "sallyport/finding.h"

namespace sallyport {

struct Owner {
  uid_t uid;
  gid_t gid;
};

// Opens `name`, one component or ".", of `parent`. A symlink is ELOOP or ENOTDIR, a mount point
// EXDEV.
Sys<Fd> open_directory(int parent, const char* name);

// The entries of a directory without "." and "..", as a stream: the tool decides how many there
// are.
class Directory {
 public:
  static Sys<Directory> open(int parent, const char* name);
  [[nodiscard]] int fd() const { return ::dirfd(stream_.get()); }
  // The next name, valid until the next call; nullptr at the end.
  Sys<const char*> next();
  void rewind() { ::rewinddir(stream_.get()); }

 private:
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  explicit Directory(DIR* stream) : stream_(stream) {}
  std::unique_ptr<DIR, Close> stream_;
};

struct OpenFile {
  Fd fd;
  struct stat info{};
};

// Opens the regular file `name` of `directory` for reading, without blocking on a FIFO or waking a
// device. ESTALE if it is not the file that was `seen` there.
Sys<OpenFile> open_regular(int directory, const char* name, const struct stat& seen);

// The rights of a host directory's owner, taken by root for the calls that touch that directory.
// Files belong to the owner from their first moment; a chown by root afterwards would hand over
// whatever was swapped in under the name. For a process that is not root this is nothing: it has no
// other rights. Drops the supplementary groups while it lives. As with every change of identity the
// kernel makes the process undumpable and forgets its PR_SET_PDEATHSIG.
class [[nodiscard]] OwnerRights {
 public:
  // Fails if root cannot act as `owner`, as in a user namespace that does not map it.
  static Result<OwnerRights> take(Owner owner);
  OwnerRights(OwnerRights&& other) noexcept;
  OwnerRights& operator=(OwnerRights&&) = delete;
  ~OwnerRights();

  // In force while the scope lives, for this thread. Scopes nest.
  class [[nodiscard]] Scope {
   public:
    explicit Scope(const OwnerRights& rights);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const bool active_;
    const Owner before_;
  };
  [[nodiscard]] Scope act() const { return Scope(*this); }
  // Who it is that acts.
  [[nodiscard]] uid_t uid() const { return owner_.uid; }

 private:
  OwnerRights(Owner owner, bool active) : owner_(owner), active_(active) {}
  Owner owner_;
  bool active_;
  std::vector<gid_t> groups_;
};

struct FileAttributes {
  mode_t mode;                       // permission bits; anything above 0777 is dropped
  std::optional<timespec> modified;  // now, when empty
};

// A file or symlink that is complete but has only a temporary name, and vanishes with this object
// unless committed. Renaming it into place replaces what had the name before, be it a symlink or a
// hard link to a file elsewhere, and never writes through it.
class [[nodiscard]] PendingEntry {
 public:
  // A copy of the first `size` bytes of `source`; holes stay holes.
  static Sys<PendingEntry> file(int directory, int source, std::uint64_t size,
                                const FileAttributes& attributes);
  static Sys<PendingEntry> symlink(int directory, const char* target);
  PendingEntry(PendingEntry&& other) noexcept;
  PendingEntry& operator=(PendingEntry&&) = delete;
  ~PendingEntry();

  // EISDIR if a directory has the name.
  Sys<void> commit(const char* name);

 private:
  explicit PendingEntry(int directory);
  int directory_;
  std::string temporary_;  // empty once committed
};

// A name that nobody else is using: hidden, and random.
std::string temporary_name();

// Whether an error is about the host as a whole (a full disk, no more descriptors) and not about
// one entry.
bool is_host_exhausted(int err);

// "a symbolic link", "a FIFO", ...
std::string_view kind_of_file(mode_t mode);

// Findings of one kind, bounded: a tree of a million FIFOs makes a short list that says how much it
// leaves out.
class FindingLog {
 public:
  FindingLog(const char* kind, std::vector<Finding>& findings) : kind_(kind), findings_(findings) {}
  ~FindingLog();
  FindingLog(const FindingLog&) = delete;
  FindingLog& operator=(const FindingLog&) = delete;

  void add(std::string_view path, std::string why);
  void add(std::string_view path, const SysError& error) { add(path, describe(error)); }

 private:
  static constexpr std::size_t kMost = 100;
  const char* kind_;
  std::vector<Finding>& findings_;
  std::size_t count_ = 0;
};

}  // namespace sallyport
