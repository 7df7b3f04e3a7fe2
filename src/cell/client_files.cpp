#include "cell/client_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "base/cell_path.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/text.h"
#include "cell/doctor_text.h"
#include "kernel/mount.h"
#include "kernel/namespace.h"
#include "kernel/syscalls.h"

namespace sallyport {
namespace {

std::string link_of(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

std::unexpected<Error> refuse(const ClientFile& file, const std::string& why,
                              std::string hint = {}) {
  return fail(Reason::argument, quoted(file.host) + " " + why, std::move(hint));
}

bool has_mount_below(const std::string& path) {
  // As the kernel writes it there.
  std::string written;
  for (const char c : path)
    if (c == ' ' || c == '\t' || c == '\n' || c == '\\' || c == '#') {
      const auto byte = static_cast<unsigned char>(c);
      written.append({'\\', static_cast<char>('0' + (byte >> 6)),
                      static_cast<char>('0' + ((byte >> 3) & 7)),
                      static_cast<char>('0' + (byte & 7))});
    } else {
      written.push_back(c);
    }
  if (!written.ends_with('/')) written.push_back('/');
  const auto text = read_file("/proc/self/mountinfo");
  if (!text) return true;
  return std::ranges::any_of(parse_mountinfo(*text), [&](const MountLine& line) {
    return line.point.starts_with(written);
  });
}

class Adding {
 public:
  Adding(const ClientShare& client, Prepared& cell) : client_(client), cell_(cell) {}

  Result<void> add(const ClientFile& file) {
    struct stat status{};
    auto path = real_path(file);
    if (!path) return std::unexpected(std::move(path.error()));
    if (::fstat(file.fd, &status) != 0) return refuse(file, "cannot be looked at");
    if (has_mount_below(*path))
      return refuse(file, "has something else mounted below it",
                    "in some places of a cell, what it covers could be seen");
    // With the rights of a group, or of everybody, a command could still be kept out of what
    // protects the names in there.
    if (file.write && status.st_uid != client_.uid)
      return refuse(file, "belongs to another user",
                    "what is given with --write has to be your own");
    if (auto mapped = make_map(); !mapped) return mapped;

    // A name of the descriptor that can be looked through like any path, and that nobody can turn
    // into something else.
    const bool directory = S_ISDIR(status.st_mode);
    std::vector<Grant> places = {{.host = link_of(file.fd) + (directory ? "/." : ""),
                                  .inside = file.inside,
                                  .write = file.write}};
    const std::size_t base = places.front().host.size() + 1;
    if (file.write && directory) {
      if (path->ends_with("/.git"))
        return refuse(file, "is the inside of a repository", "give the directory around it");
      auto trees = protected_trees(places);
      if (!trees) return refuse(file, "cannot be looked through", "chmod u+rwx");
      for (ProtectedTree& tree : *trees) {
        protect(tree, places);
        cell_.protected_trees.push_back(std::move(tree));
      }
    }
    if (auto added = add_mount(file, file.fd, *path, places.front()); !added) return added;
    for (const Grant& place : std::span(places).subspan(1)) {
      const std::string below = place.host.substr(base);
      const Fd opened(sys::openat2(file.fd, below.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC,
                                   RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS));
      if (!opened) return refuse(file, "has changed meanwhile: " + quoted(below));
      if (auto added = add_mount(file, opened.get(), *path + "/" + below, place); !added)
        return added;
    }
    return {};
  }

 private:
  // The client is the cell's user, and everybody else is nobody: what is in a mount can be used
  // with the rights of the client and no other.
  Result<void> make_map() {
    if (!cell_.plan.privileged || map_) return {};
    auto made = make_idmap_namespace({.disk_uid = client_.uid,
                                      .shown_uid = cell_.plan.outside.uid,
                                      .disk_gid = client_.gid,
                                      .shown_gid = cell_.plan.outside.gid});
    if (!made) return fail(Reason::cannot_enforce, made.error());
    map_ = std::move(*made);
    return {};
  }

  Result<void> add_mount(const ClientFile& file, int fd, const std::string& path,
                         const Grant& place) {
    HostMount mount;
    mount.source = path;
    mount.target = place.inside.substr(1);
    mount.access = place.write ? Access::read_write : Access::read_only;
    mount.grant = true;
    if (::fstat(fd, &mount.expected) != 0) return refuse(file, "cannot be looked at");
    // An ordinary user has its own rights only; a launch step finds the same file by its path.
    if (cell_.plan.privileged) {
      auto tree = clone_tree(fd, path.c_str(), mount.access, map_.get());
      if (!tree && tree.error().err == EROFS)
        return refuse(file, "is mounted read-only, and cannot be given with --write");
      if (!tree)
        return fail(Reason::cannot_enforce,
                    quoted(file.host) +
                        " cannot be shown with your own rights alone: " + describe(tree.error()),
                    "it has to be on ext4, xfs, btrfs or another file system with idmapped "
                    "mounts, and so has all that is mounted below it");
      mount.made = std::move(*tree);
    }
    cell_.plan.landlock_rules.push_back(
        {place.inside, place.write ? LandlockAccess::read_write : LandlockAccess::read});
    cell_.plan.mounts.push_back(std::move(mount));
    return {};
  }

  const ClientShare& client_;
  Prepared& cell_;
  Fd map_;
};

}  // namespace

Result<std::string> real_path(const ClientFile& file) {
  const int flags = ::fcntl(file.fd, F_GETFL);
  struct stat meant{}, there{};
  if (flags < 0 || (flags & O_PATH) == 0 || ::fstat(file.fd, &meant) != 0)
    return refuse(file, "is not there as a descriptor with O_PATH");
  if (!S_ISDIR(meant.st_mode) && !S_ISREG(meant.st_mode))
    return refuse(file, "is neither a file nor a directory",
                  "a socket, device or pipe of the host would be a way out of the cell");
  char text[PATH_MAX];
  const ssize_t size = ::readlink(link_of(file.fd).c_str(), text, sizeof(text));
  if (size <= 0 || size == sizeof(text)) return refuse(file, "has no path");
  std::string path(text, static_cast<std::size_t>(size));
  if (!path.starts_with('/') || ::lstat(path.c_str(), &there) != 0 ||
      there.st_dev != meant.st_dev || there.st_ino != meant.st_ino)
    return refuse(file, "is not among the files of this machine as the service sees them",
                  "what is deleted, or mounted for some programs only, cannot be given");
  return path;
}

Result<void> check_client_places(const CellSpec& spec) {
  std::vector<std::string> taken;
  taken.reserve(spec.grants.size());
  for (const Grant& grant : spec.grants)
    taken.push_back(grant.inside.empty() ? grant.host : grant.inside);
  // Where the tool's programs are looked for, and what they load.
  for (const auto& [name, value] : spec.environment)
    if (name.ends_with("PATH") || name.starts_with("LD_"))
      for (std::string_view rest = value; !rest.empty();)
        if (const std::string_view path = take(rest, ':'); path.starts_with('/'))
          taken.emplace_back(path);
  for (const ClientFile& file : spec.client.files) {
    if (auto parsed = parse_inside_path(file.inside); !parsed || *parsed != file.inside)
      return fail(Reason::argument, quoted(file.inside) + " is no plain path in the cell");
    if (auto place = check_client_place(file.inside, taken); !place) return place;
  }
  return {};
}

Result<void> add_client_files(const ClientShare& client, Prepared& cell) {
  Adding adding(client, cell);
  for (const ClientFile& file : client.files)
    if (auto added = adding.add(file); !added) return added;
  return {};
}

}  // namespace sallyport
