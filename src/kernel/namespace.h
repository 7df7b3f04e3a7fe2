// Namespaces: identity maps, hostname, loopback. Nothing here allocates, except IdmapNamespace
// which the supervisor uses.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// Map exactly one id into the caller's user namespace, which must have been unshared a moment ago.
// `proc` is a directory fd of a procfs that no one else can tamper with. map_gid denies setgroups
// first, as the kernel demands.
Sys<void> map_uid(int proc, uid_t inside, uid_t outside);
Sys<void> map_gid(int proc, gid_t inside, gid_t outside);

Sys<void> unshare_namespace(int flag, const char* name);
// `ns`: a descriptor of one. Entering a mount namespace also makes its root the caller's.
Sys<void> enter_namespace(int ns, int flag, const char* name);

Sys<void> set_hostname(const char* hostname);

// Brings up loopback, the only interface of a new network namespace.
Sys<void> bring_up_loopback();

// Gives loopback, beside its own, the /24 of an IPv4 address: every address of it is then local.
Sys<void> add_loopback_network(std::uint32_t address);

// One owner as it is on disk, shown as another: for idmapped mounts.
struct OwnerMap {
  uid_t disk_uid, shown_uid;
  gid_t disk_gid, shown_gid;
};

// A user namespace that exists only to describe an idmapped mount. Needs root.
Sys<Fd> make_idmap_namespace(const OwnerMap& map);

}  // namespace sallyport
