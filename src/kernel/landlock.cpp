#include "kernel/landlock.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "kernel/syscalls.h"

namespace sallyport {
namespace {

// Rights newer than Debian 12's header, by the ABI that brought them.
constexpr std::uint64_t kTruncate = 1ULL << 14;     // ABI 3
constexpr std::uint64_t kIoctlDevice = 1ULL << 15;  // ABI 5
constexpr std::uint64_t kResolveUnix = 1ULL << 16;  // ABI 9
constexpr int kAbiRefer = 2, kAbiTruncate = 3, kAbiNetwork = 4, kAbiIoctl = 5, kAbiScope = 6,
              kAbiResolveUnix = 9;

constexpr std::uint64_t kScopeAbstractSocket = 1ULL << 0;
constexpr std::uint64_t kScopeSignal = 1ULL << 1;

struct RulesetAttributes {
  std::uint64_t handled_access_fs;
  std::uint64_t handled_access_net;
  std::uint64_t scoped;
};

constexpr std::uint64_t kRead =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE;
constexpr std::uint64_t kMakeDevice = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;
constexpr std::uint64_t kChange = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                  LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                  LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                                  LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM;

std::uint64_t handled(int abi) {
  std::uint64_t rights = kRead | kChange | kMakeDevice;
  if (abi >= kAbiRefer) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= kAbiTruncate) rights |= kTruncate;
  if (abi >= kAbiIoctl) rights |= kIoctlDevice;
  if (abi >= kAbiResolveUnix) rights |= kResolveUnix;
  return rights;
}

std::uint64_t rights_of(LandlockAccess access, bool directory) {
  switch (access) {
    case LandlockAccess::read:
      return directory ? kRead : kReadFile;
    case LandlockAccess::read_write:
      if (!directory) return kReadFile | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
      return kRead | kChange | LANDLOCK_ACCESS_FS_REFER | kTruncate | kResolveUnix;
    case LandlockAccess::device:
      return LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate |
             kIoctlDevice;
  }
  __builtin_unreachable();
}

}  // namespace

int landlock_abi() {
  const int abi = sys::landlock_create_ruleset(nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi < 0 ? 0 : abi;
}

bool landlock_covers_unix_sockets(int abi) {
  return abi >= kAbiResolveUnix;
}

Sys<LandlockRuleset> LandlockRuleset::create(int abi) {
  // TCP (ABI 4) is not handled: the cell's own network namespace decides that, and its loopback is
  // free to use.
  RulesetAttributes attributes{
      .handled_access_fs = handled(abi), .handled_access_net = 0, .scoped = 0};
  std::size_t size = sizeof(attributes.handled_access_fs);
  if (abi >= kAbiNetwork) size += sizeof(attributes.handled_access_net);
  if (abi >= kAbiScope) {
    attributes.scoped = kScopeAbstractSocket | kScopeSignal;
    size = sizeof(attributes);
  }
  Fd fd(sys::landlock_create_ruleset(&attributes, size, 0));
  if (!fd) return sys_fail("landlock_create_ruleset");
  return LandlockRuleset(std::move(fd), abi);
}

Sys<void> LandlockRuleset::allow(const char* path, LandlockAccess access) {
  Fd target(::open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW));
  if (!target) return sys_fail("open", path);
  struct stat status{};
  if (::fstat(target.get(), &status) != 0) return sys_fail("fstat", path);
  const landlock_path_beneath_attr rule{
      .allowed_access = rights_of(access, S_ISDIR(status.st_mode)) & handled(abi_),
      .parent_fd = target.get()};
  if (sys::landlock_add_path_rule(fd_.get(), rule) != 0) return sys_fail("landlock_add_rule", path);
  return {};
}

Sys<void> LandlockRuleset::restrict_self() {
  if (sys::landlock_restrict_self(fd_.get()) != 0) return sys_fail("landlock_restrict_self");
  return {};
}

}  // namespace sallyport
