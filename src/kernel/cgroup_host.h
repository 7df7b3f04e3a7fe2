// Within the cgroup layer: the directories that groups are made of, which are alike in v1 and v2,
// and the two backends that put them together.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/file.h"
#include "kernel/cgroup.h"
#include "kernel/cgroup_text.h"

namespace sallyport {

// A directory below which groups are made, and its path for messages.
struct GroupParent {
  Fd fd;
  std::string path;
};
// Empty, with errno, when `path` is not a directory of a cgroup file system of that version: a
// tmpfs mounted over it would take any write and enforce nothing.
[[nodiscard]] std::shared_ptr<const GroupParent> open_group_parent(std::string path,
                                                                   CgroupVersion version);

// 0 or the errno of opening or writing.
[[nodiscard]] int write_at(int dir, const char* file, std::string_view value);
// Whether this process, by its effective ids, may write there.
[[nodiscard]] bool may_write(int dir, const char* file);

using Deadline = std::chrono::steady_clock::time_point;
// How long a kill may take, from now.
[[nodiscard]] Deadline kill_deadline();

// One group in one hierarchy. Its maker holds a record lock on the directory: a sweep sees from
// that, and not only from the pid in the name (which means nothing in another pid namespace), that
// the owner is alive. Of the kinds of lock it is the one that children do not inherit, so that no
// survivor of a cell can keep the group from the sweep; as it ends when the owner closes any
// descriptor of the directory, the owner must not open it a second time.
class GroupDir {
 public:
  [[nodiscard]] static Result<GroupDir> make(std::shared_ptr<const GroupParent> parent,
                                             std::string name);
  // A group that is there already; empty when somebody holds its lock.
  [[nodiscard]] static std::optional<GroupDir> find_abandoned(
      std::shared_ptr<const GroupParent> parent, std::string name);

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::string path() const { return parent_->path + "/" + name_; }
  [[nodiscard]] std::optional<std::string> read(const char* file) const;
  // The descriptor that read() reads from, opened at the latest now; -1 where there is no such
  // file.
  [[nodiscard]] int opened(const char* file) const;
  [[nodiscard]] std::uint64_t count(const char* file) const;  // a file that is one number
  [[nodiscard]] Result<void> set(const char* file, std::string_view value) const;
  // The error that set() gives, for those who tried the write themselves.
  [[nodiscard]] std::unexpected<Error> cannot_set(const char* file, std::string_view value,
                                                  int err) const;

  // SIGKILL to all: through cgroup.kill where there is one, else one by one until a look finds
  // nobody.
  void kill(Deadline deadline) const;
  // What was read is closed first, and whoever has opened a file of the group should have done the
  // same: the kernel keeps what it knows of a file that was open when its directory went, until it
  // needs the memory. That would be a dozen for each cell, and looks among millions of them are
  // slow.
  [[nodiscard]] bool remove();

 private:
  GroupDir(std::shared_ptr<const GroupParent> parent, std::string name, Fd fd)
      : parent_(std::move(parent)), name_(std::move(name)), fd_(std::move(fd)) {}
  [[nodiscard]] bool signal_everyone() const;

  std::shared_ptr<const GroupParent> parent_;
  std::string name_;
  Fd fd_;
  // Those that were read stay open: they are read again when a call waits for its answer.
  mutable std::vector<std::pair<std::string_view, Fd>> files_;
  bool removed_ = false;  // from then on the name may belong to another group
};

// A high-water mark: the kernel's own where it keeps one, else the highest value that we saw.
class HighWater {
 public:
  HighWater(const char* peak_file, const char* current_file)
      : peak_file_(peak_file), current_file_(current_file) {}
  void sample(const GroupDir& dir);
  [[nodiscard]] std::uint64_t read(const GroupDir& dir);

 private:
  const char* peak_file_;
  const char* current_file_;
  std::optional<bool> kept_by_kernel_;
  std::uint64_t highest_ = 0;
};

// The form "major:minor" in which blkio and io want the disk that `device` is, or is a partition
// of. An error: there is no disk behind it (tmpfs, overlay), so nothing could be throttled.
[[nodiscard]] Result<std::string> whole_disk(dev_t device);

// Kill and remove, waiting a bounded time: what destructors do.
void destroy(Cgroup& group);

// This very process, as the owner of cells' groups.
[[nodiscard]] GroupOwner current_process();

// Kills and removes the groups below `parent` whose owners are dead.
void sweep_group_parent(const std::shared_ptr<const GroupParent>& parent);

// The files of /proc that say where we are, parsed.
struct CgroupHost {
  std::vector<CgroupMount> mounts;
  std::vector<CgroupMembership> memberships;
  std::optional<std::string> named_parent;  // SALLYPORT_CGROUP_PARENT
};

// A place for groups, found and prepared once per process.
class CgroupTree {
 public:
  CgroupTree() = default;
  CgroupTree(const CgroupTree&) = delete;
  CgroupTree& operator=(const CgroupTree&) = delete;
  virtual ~CgroupTree() = default;
  [[nodiscard]] virtual Result<std::unique_ptr<Cgroup>> create(std::string name,
                                                               const CgroupLimits& limits) = 0;
  virtual void sweep() = 0;
};

[[nodiscard]] CgroupSupport probe_cgroup_v1(const CgroupHost& host);
[[nodiscard]] Result<std::unique_ptr<CgroupTree>> open_cgroup_v1(const CgroupHost& host);

[[nodiscard]] CgroupSupport probe_cgroup_v2(const CgroupHost& host);
[[nodiscard]] Result<std::unique_ptr<CgroupTree>> open_cgroup_v2(const CgroupHost& host);
// A v2 group without limits, for a parent that may have no controllers.
[[nodiscard]] Result<std::unique_ptr<Cgroup>> make_bare_group_v2(
    std::shared_ptr<const GroupParent> parent, std::string name);

}  // namespace sallyport
