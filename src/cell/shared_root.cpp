#include "cell/shared_root.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "cell/board.h"
#include "cell/control.h"
#include "cell/launcher.h"
#include "cell/plan.h"
#include "cell/root_build.h"
#include "cell/root_layout.h"
#include "kernel/mount.h"
#include "kernel/namespace.h"
#include "kernel/syscalls.h"

namespace sallyport {
namespace {

Sys<void> build(Plan& plan, int root) {
  ::umask(0);  // modes are meant as written
  // While the host's mounts can still be reached.
  if (auto done = clone_mounts(plan.mounts, true); !done) return done;
  if (auto done = replace_root(root); !done) return done;
  if (auto done = put_entries(root, plan.root_entries); !done) return done;
  if (auto done = attach_system_mounts(plan.mounts, root); !done) return done;
  return set_access(root, "/", Access::read_only);
}

// Runs in a child, whose mount namespace becomes the shared one and which sends it.
Sys<void> build_and_send(Plan& plan, int control) {
  const Fd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!proc) return sys_fail("open", "/proc");
  auto root = make_root_filesystem();
  if (!root) return std::unexpected(root.error());
  if (auto done = build(plan, root->get()); !done) return done;
  const Fd mounts(::openat(proc.get(), "self/ns/mnt", O_RDONLY | O_CLOEXEC));
  if (!mounts) return sys_fail("openat", "/proc/self/ns/mnt");
  // Whether cells will be able to: it needs one right more than making a root does.
  if (auto done = enter_namespace(mounts.get(), CLONE_NEWNS, "mount namespace"); !done) return done;
  const int both[] = {mounts.get(), root->get()};
  return send_descriptors(control, ControlMessage::descriptors, both);
}

Result<SharedRoot> build_in_child(Plan& plan) {
  auto board = SharedBoard::make();
  auto control = make_control();
  if (!board || !control) return fail(Reason::unavailable, board ? control.error() : board.error());
  clone_args args{};
  args.flags = CLONE_NEWNS;
  args.exit_signal = SIGCHLD;
  const pid_t child = sys::clone3(args);
  if (child < 0) return fail(Reason::unavailable, SysError{"clone3", "mount namespace", errno});
  if (child == 0) {
    const auto done = build_and_send(plan, control->init.get());
    if (!done) (*board)->report(done.error());
    ::_exit(0);
  }
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR)
    ;
  if ((*board)->step_failed)
    return fail(Reason::unavailable, SysError{(*board)->call, (*board)->path, (*board)->err});
  auto received = receive(control->supervisor.get());
  if (!received || received->descriptors.size() != 2)
    return fail(Reason::unavailable, SysError{"recvmsg", "shared root", EIO});
  return SharedRoot{.mounts = std::move(received->descriptors[0]),
                    .root = std::move(received->descriptors[1])};
}

}  // namespace

bool may_share_root(const CellSpec& spec) {
  if (!spec.root.empty() || !spec.grants.empty() || !spec.client.files.empty() || spec.limits.io ||
      !spec.network.allow.empty() || spec.observation != nullptr)
    return false;
  // A cell of an ordinary user begins in a user namespace, from which it cannot enter a mount
  // namespace that is made outside.
  const auto range = spec.uids ? Result<UidRange>(*spec.uids) : UidRange::configured();
  const auto launcher = range ? current_launcher(*range) : std::unexpected(range.error());
  return launcher && launcher->privileged;
}

Result<SharedRoot> make_shared_root(const CellSpec& spec) {
  Plan plan;
  plan.hostname = spec.hostname;
  if (auto done = lay_out_root(plan, ""); !done) return std::unexpected(std::move(done.error()));
  if (spec.warm.interpreter == Interpreter::python) plan.root_entries.push_back(restore_entry());
  return build_in_child(plan);
}

}  // namespace sallyport
