#include "access/act_as_owner.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/state_directory.h"
#include "base/text.h"

namespace sallyport {

Result<void> act_as_owner(const std::string& state) {
  struct stat status{};
  if (::geteuid() != 0 || state.empty()) return {};
  std::string name = state;
  while (name.size() > 1 && name.ends_with('/'))
    name.pop_back();
  if (::lstat(name.c_str(), &status) != 0 || status.st_uid == 0) return {};
  if (!S_ISDIR(status.st_mode) || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(
        Reason::unavailable,
        "the state directory " + quoted(name) + " is not a directory, or others may write to it",
        "name the directory itself, and chmod 700 it");
  if (::setgroups(0, nullptr) != 0 || ::setegid(status.st_gid) != 0 ||
      ::seteuid(status.st_uid) != 0)
    return fail(Reason::unavailable, SysError{"seteuid", "owner of the state directory", errno});
  return {};
}

Result<Fd> open_state_as_owner(const std::string& state) {
  if (auto acting = act_as_owner(state); !acting) return std::unexpected(acting.error());
  return open_state_directory(state);
}

}  // namespace sallyport
