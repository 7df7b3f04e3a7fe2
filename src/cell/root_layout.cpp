#include "cell/root_layout.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <memory>

#include "base/file.h"
#include "base/text.h"
#include "cell/observe_names.h"
#include "cell/root_build.h"
#include "warm/interpreters.h"
#include "warm/programs.h"

namespace sallyport {
namespace {

using Kind = RootEntry::Kind;

// The cell's own places. In a root of the user's they must be directories or absent.
constexpr const char* kOwnPlaces[] = {"dev", "proc", "sys", "tmp", "workspace", "run"};

// Parts of the host's /etc that programs need and every user may read anyway. Nothing here names
// people or secrets. Small files are copied: a mount for each would cost more, and show the tool
// where it came from.
constexpr const char* kEtcFromHost[] = {
    "etc/alternatives",
    "etc/debian_version",
    "etc/fonts",
    "etc/ld.so.cache",
    "etc/localtime",
    "etc/os-release",
    "etc/protocols",
    "etc/services",
    "etc/ssl/certs",
    "etc/ssl/openssl.cnf",
    "etc/timezone",
    // Java keeps what it cannot start without there.
    "etc/java-11-openjdk",
    "etc/java-17-openjdk",
    "etc/java-21-openjdk",
    "etc/java-25-openjdk",
};
constexpr off_t kLargestCopy = off_t{256} * 1024;

// Where Debian keeps the system: real directories or, since the merge, symlinks into /usr.
constexpr const char* kSystemPlaces[] = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"};

struct DeviceNode {
  const char* name;
  unsigned major, minor;
};
constexpr DeviceNode kDevices[] = {
    {"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8}, {"urandom", 1, 9}};

void add(Plan& plan, Kind kind, std::string path, std::string content = {}) {
  plan.root_entries.push_back({kind, std::move(path), std::move(content)});
}

std::string read_link(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t size = ::readlink(path.c_str(), target, sizeof(target));
  return size > 0 ? std::string(target, static_cast<std::size_t>(size)) : std::string();
}

// Shows `source` at `place` as what it is: a mount for a file or directory, the same symlink for a
// symlink.
enum class Copy { nothing, small_files };
Result<void> show(Plan& plan, const std::string& source, const std::string& place,
                  Copy copy = Copy::nothing) {
  struct stat there{};
  if (::lstat(source.c_str(), &there) != 0) {
    if (errno == ENOENT) return {};
    return fail(Reason::argument, SysError{"lstat", source.c_str(), errno});
  }
  if (S_ISLNK(there.st_mode)) {
    add(plan, Kind::symlink, place, read_link(source));
    return {};
  }
  if (!S_ISDIR(there.st_mode) && !S_ISREG(there.st_mode)) return {};
  if (copy == Copy::small_files && S_ISREG(there.st_mode) && there.st_size <= kLargestCopy) {
    auto content = read_file(source.c_str());
    if (!content) return fail(Reason::argument, SysError{"read", source.c_str(), errno});
    add(plan, Kind::file, place, std::move(*content));
    return {};
  }
  auto mount = host_mount(source, place, Access::read_only);
  if (!mount) return std::unexpected(mount.error());
  add(plan, S_ISDIR(there.st_mode) ? Kind::directory : Kind::file, place);
  plan.mounts.push_back(std::move(*mount));
  return {};
}

Result<void> lay_out_devices(Plan& plan) {
  add(plan, Kind::directory, "dev");
  add(plan, Kind::directory, "dev/shm");
  add(plan, Kind::symlink, "dev/fd", "/proc/self/fd");
  add(plan, Kind::symlink, "dev/stdin", "/proc/self/fd/0");
  add(plan, Kind::symlink, "dev/stdout", "/proc/self/fd/1");
  add(plan, Kind::symlink, "dev/stderr", "/proc/self/fd/2");
  for (const DeviceNode& device : kDevices) {
    const std::string place = std::string("dev/") + device.name;
    auto mount = host_mount("/" + place, place, Access::device_node);
    if (!mount) return std::unexpected(mount.error());
    // CVE-2025-31133: what is mounted in the place of a device must be that device.
    if (!S_ISCHR(mount->expected.st_mode) ||
        mount->expected.st_rdev != ::makedev(device.major, device.minor))
      return fail(Reason::cannot_enforce, "/" + place + " of this machine is not that device");
    add(plan, Kind::file, place);
    plan.mounts.push_back(std::move(*mount));
  }
  return {};
}

Result<void> lay_out_system(Plan& plan) {
  for (const char* place : kSystemPlaces)
    if (auto shown = show(plan, std::string("/") + place, place); !shown) return shown;

  add(plan, Kind::directory, "etc");
  add(plan, Kind::directory, "etc/ssl");
  add(plan, Kind::file, "etc/passwd",
      "root:x:0:0:root:/:/usr/sbin/nologin\n"
      "agent:x:1000:1000:agent:/workspace:/bin/sh\n"
      "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n");
  add(plan, Kind::file, "etc/group", "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n");
  add(plan, Kind::file, "etc/hostname", plan.hostname + "\n");
  add(plan, Kind::file, "etc/hosts",
      "127.0.0.1 localhost " + plan.hostname + "\n::1 localhost " + plan.hostname + "\n");
  // Without a network there is no name server to ask, unless names are to be observed; without this
  // line programs would wait for one.
  const bool has_names = plan.observe || !plan.points.empty();
  add(plan, Kind::file, "etc/nsswitch.conf",
      std::string("passwd: files\ngroup: files\nhosts: files") + (has_names ? " dns\n" : "\n"));
  add(plan, Kind::file, "etc/resolv.conf", has_names ? kNameServerFile : "");
  for (const char* place : kEtcFromHost)
    if (auto shown = show(plan, std::string("/") + place, place, Copy::small_files); !shown)
      return shown;

  add(plan, Kind::directory, "var");
  return {};
}

Result<void> lay_out_own_root(Plan& plan, const std::string& root) {
  auto whole = host_mount(root, "", Access::read_only);
  if (!whole) return std::unexpected(whole.error());
  if (!S_ISDIR(whole->expected.st_mode))
    return fail(Reason::argument, "the root " + quoted(root) + " is not a directory");

  std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(root.c_str()), ::closedir);
  if (!listing)
    return fail(Reason::argument,
                "the root " + quoted(root) + " cannot be read: " + std::strerror(errno));
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(listing.get()))
    if (const std::string name = entry->d_name; name != "." && name != "..") names.push_back(name);
  std::ranges::sort(names);

  for (const std::string& name : names) {
    if (name == kScratch || name == plan.trust_place || name == plan.java_place) continue;
    const bool own = std::ranges::find(kOwnPlaces, name) != std::end(kOwnPlaces);
    if (!own) {
      if (auto shown = show(plan, root + "/" + name, name); !shown) return shown;
      continue;
    }
    struct stat there{};
    if (::lstat((root + "/" + name).c_str(), &there) != 0 || !S_ISDIR(there.st_mode))
      return fail(
          Reason::argument,
          "the root " + quoted(root) + " cannot be trusted: /" + name + " in it is not a directory",
          "a cell puts its own /" + name + " there; make it a directory or remove it");
  }
  return {};
}

}  // namespace

RootEntry restore_entry() {
  return {.kind = Kind::file,
          .path = kRestorePlace,
          .content = std::string(restore_program()),
          .mode = 0755};
}

bool is_in_own_etc(std::string_view path) {
  constexpr std::string_view kOwn[] = {
      "/etc",        "/etc/group",       "/etc/hostname", "/etc/hosts", "/etc/nsswitch.conf",
      "/etc/passwd", "/etc/resolv.conf", "/etc/ssl"};
  if (std::ranges::find(kOwn, path) != std::end(kOwn)) return true;
  return std::ranges::any_of(kEtcFromHost, [&](std::string_view place) {
    return path.starts_with('/') && path.substr(1).starts_with(place) &&
           (path.size() == place.size() + 1 || path[place.size() + 1] == '/');
  });
}

Result<HostMount> host_mount(const std::string& source, const std::string& target, Access access) {
  auto opened = open_mount_source(source.c_str());
  if (!opened) {
    if (opened.error().err == ELOOP) {
      const std::unique_ptr<char, void (*)(void*)> real(::realpath(source.c_str(), nullptr),
                                                        ::free);
      return fail(
          Reason::argument, quoted(source) + " goes through a symlink",
          real ? "if that is what you mean, give the real path: " + escape_for_terminal(real.get())
               : std::string("give the real path"));
    }
    return fail(Reason::argument,
                quoted(source) + " cannot be used: " + std::strerror(opened.error().err));
  }
  HostMount mount;
  mount.source = source;
  mount.target = target;
  mount.access = access;
  if (::fstat(opened->get(), &mount.expected) != 0)
    return fail(Reason::argument, SysError{"fstat", source.c_str(), errno});
  return mount;
}

Result<void> lay_out_root(Plan& plan, const std::string& root) {
  add(plan, Kind::directory, kScratch);
  for (const char* place : {"proc", "run", "tmp", "workspace"})
    add(plan, Kind::directory, place);
  if (auto done = lay_out_devices(plan); !done) return done;
  return root.empty() ? lay_out_system(plan) : lay_out_own_root(plan, root);
}

}  // namespace sallyport
