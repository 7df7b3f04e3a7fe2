// From a description to a launch plan: paths are opened and checked, limits made, the filter
// compiled. Everything that can be refused is refused here, before anything of the cell exists.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cell/plan.h"
#include "cell/protected_grants.h"
#include "cell/shared_root.h"
#include "cell/spec.h"
#include "cell/uid_slot.h"
#include "kernel/cgroup.h"
#include "kernel/seccomp_policy.h"
#include "kernel/seccomp_profiles.h"
#include "sallyport/outcome.h"

namespace sallyport {

// A directory of the host that gets the changes of its overlay at the end.
struct CopyTarget {
  Fd directory;
  struct stat owner{};
  std::string prefix = {};  // see rule_prefix()
};

struct Prepared {
  std::string call_id;
  Plan plan;
  std::shared_ptr<const SeccompPolicy> policy;
  ProfileOptions profile_options;              // with which it was made
  std::unique_ptr<Cgroup> cgroup;              // null: the weaker means
  std::optional<UidSlot> slot;                 // root launcher
  std::vector<CopyTarget> copies;              // in the order of the plan's copy mounts
  std::vector<ProtectedTree> protected_trees;  // that are written to directly
  std::vector<Layer> layers;
  Fd stdin_write, stdout_read, stderr_read;  // the supervisor's ends
  Fd control;
  std::optional<OrderSpace> order;  // where the plan's order is
  Fd runner;  // our end of a warm interpreter's socket: it says that it is ready, and gets its
              // order
};

// What a spec starts, with all that its environment gets.
CommandLine make_command(const CellSpec& spec, const Plan& plan);

// An error means that nothing was run and nothing is left behind. `shared`: a root that was made
// for the spec's class.
Result<Prepared> prepare(const CellSpec& spec, std::string call_id,
                         const SharedRoot* shared = nullptr);

}  // namespace sallyport
