#include "cell/shared_root.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "cell/launcher.h"
#include "cell/plan.h"
#include "cell/root_build.h"
#include "cell/root_layout.h"
#include "kernel/namespace.h"

namespace sallyport {
namespace {

// Only ever mounted on in namespaces of our own.
constexpr const char* kPlaces[] = {"/run/sallyport", "/run/sallyport/root"};

// Where the host's mounts are shared, its mounts and unmounts still come in, or a file system that
// is unmounted there would stay busy here for as long as this process lives; nothing goes out.
Sys<void> enter_own_namespace() {
  if (auto done = unshare_namespace(CLONE_NEWNS, "mount namespace"); !done) return done;
  mount_attr attr{.attr_set = 0, .attr_clr = 0, .propagation = MS_SLAVE, .userns_fd = 0};
  if (::mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof(attr)) != 0)
    return sys_fail("mount_setattr", "/");
  return {};
}

Sys<Fd> attach_new_root() {
  for (const char* place : kPlaces)
    if (::mkdir(place, 0755) != 0 && errno != EEXIST) return sys_fail("mkdir", place);
  auto root = make_root_filesystem();
  const auto point = open_mount_source(kPlaces[1]);
  if (!root || !point) return point ? std::move(root) : std::unexpected(point.error());
  if (auto done = attach_at(root->get(), point->get(), kPlaces[1]); !done)
    return std::unexpected(done.error());
  return root;
}

Sys<void> fill(Plan& plan, int root) {
  const mode_t before = ::umask(0);  // modes are meant as written
  const auto put = put_entries(root, plan.root_entries);
  ::umask(before);
  if (!put) return put;
  if (auto done = clone_mounts(plan.mounts, true); !done) return done;
  if (auto done = attach_system_mounts(plan.mounts, root); !done) return done;
  return set_access(root, kPlaces[1], Access::read_only);
}

}  // namespace

bool may_share_root(const CellSpec& spec) {
  if (!spec.root.empty() || !spec.grants.empty() || spec.limits.io || !spec.network.allow.empty() ||
      spec.observation != nullptr)
    return false;
  // A cell of an ordinary user begins in a user namespace, where mounts that it has from outside
  // cannot be moved.
  const auto range = spec.uids ? Result<UidRange>(*spec.uids) : UidRange::configured();
  const auto launcher = range ? current_launcher(*range) : std::unexpected(range.error());
  return launcher && launcher->privileged;
}

Result<SharedRoot> make_shared_root(const CellSpec& spec) {
  Plan plan;
  plan.hostname = spec.hostname;
  if (auto done = lay_out_root(plan, ""); !done) return std::unexpected(std::move(done.error()));
  if (spec.warm.interpreter == Interpreter::python) plan.root_entries.push_back(restore_entry());
  if (auto done = enter_own_namespace(); !done) return fail(Reason::unavailable, done.error());
  auto root = attach_new_root();
  if (!root) return fail(Reason::unavailable, root.error());
  if (auto done = fill(plan, root->get()); !done) return fail(Reason::unavailable, done.error());
  SharedRoot shared{.place = kPlaces[1]};
  if (::fstat(root->get(), &shared.is) != 0)
    return fail(Reason::unavailable, SysError{"fstat", kPlaces[1], errno});
  return shared;
}

}  // namespace sallyport
