#include "kernel/cgroup.h"

#include <fcntl.h>

#include <cstdlib>
#include <mutex>

#include "base/text.h"
#include "kernel/cgroup_host.h"

namespace sallyport {
namespace {

CgroupHost read_host() {
  CgroupHost host{
      .mounts = parse_cgroup_mounts(read_at(AT_FDCWD, "/proc/self/mountinfo").value_or("")),
      .memberships = parse_cgroup_memberships(read_at(AT_FDCWD, "/proc/self/cgroup").value_or("")),
      .named_parent = {}};
  if (const char* named = ::secure_getenv("SALLYPORT_CGROUP_PARENT")) host.named_parent = named;
  return host;
}

CgroupVersion version_of(const CgroupHost& host) {
  return choose_cgroup_version(host.mounts, host.memberships, host.named_parent.has_value());
}

CgroupSupport no_cgroups() {
  CgroupSupport support;
  support.why_not = "no cgroup file system with the memory controller is mounted";
  support.fix = "mount -t cgroup2 cgroup2 /sys/fs/cgroup";
  return support;
}

Result<std::unique_ptr<CgroupTree>> open_tree() {
  const CgroupHost host = read_host();
  switch (version_of(host)) {
    case CgroupVersion::v1:
      return open_cgroup_v1(host);
    case CgroupVersion::v2:
      return open_cgroup_v2(host);
    case CgroupVersion::none:
      break;
  }
  return fail(Reason::cannot_enforce, no_cgroups().why_not, no_cgroups().fix);
}

// The tree that this process uses. Only success is remembered, and only until a group cannot be
// made: whoever runs for weeks may be moved to another group, or find its parent gone, and then has
// to look again.
class CurrentTree {
 public:
  Result<std::shared_ptr<CgroupTree>> get() {
    const std::scoped_lock lock(mutex_);
    if (!tree_) {
      auto opened = open_tree();
      if (!opened) return std::unexpected(std::move(opened.error()));
      tree_ = std::move(*opened);
    }
    return tree_;
  }

  void forget(const std::shared_ptr<CgroupTree>& tree) {
    const std::scoped_lock lock(mutex_);
    if (tree_ == tree) tree_.reset();
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<CgroupTree> tree_;
};

CurrentTree& current_tree() {
  static CurrentTree tree;
  return tree;
}

}  // namespace

CgroupSupport probe_cgroups() {
  const CgroupHost host = read_host();
  switch (version_of(host)) {
    case CgroupVersion::v1:
      return probe_cgroup_v1(host);
    case CgroupVersion::v2:
      return probe_cgroup_v2(host);
    case CgroupVersion::none:
      break;
  }
  return no_cgroups();
}

Result<std::unique_ptr<Cgroup>> Cgroup::create(std::string_view id, const CgroupLimits& limits) {
  if (!is_group_id(id))
    return fail(Reason::argument,
                "a cgroup id is 1 to 64 letters, digits, '-' and '_'; this is " + quoted(id));
  if (!cpu_quota_us(limits.cpus))
    return fail(Reason::argument, "the CPU share must be between 0.01 and 1000000 processors");
  auto tree = current_tree().get();
  if (!tree) return std::unexpected(std::move(tree.error()));
  auto group = (*tree)->create(group_name(current_process(), id), limits);
  if (!group) current_tree().forget(*tree);
  return group;
}

void sweep_cgroups() {
  if (auto tree = current_tree().get()) (*tree)->sweep();
}

}  // namespace sallyport
