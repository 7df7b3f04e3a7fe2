#include "serve/front_user.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>

#include "access/state_directory.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/text.h"
#include "egress/process.h"

namespace sallyport {
namespace {

constexpr std::string_view kDefaultName = "sallyport";
constexpr std::size_t kDeepest = 16;

Result<std::string> absolute(const std::string& path) {
  if (path.starts_with('/')) return path;
  const std::unique_ptr<char, void (*)(void*)> cwd(::getcwd(nullptr, 0), ::free);
  if (!cwd) return fail(Reason::unavailable, SysError{"getcwd", "", errno});
  return std::string(cwd.get()) + "/" + path;
}

std::unexpected<Error> unusable(const std::string& path, const std::string& why,
                                std::string hint = {}) {
  return fail(Reason::unavailable, "the state directory " + quoted(path) + " " + why,
              std::move(hint));
}

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

// Gives away what root owns in a directory. The front may have been there before: nothing that has
// a second name elsewhere, is not a plain file or lies on another file system changes hands.
Result<void> hand_over(Fd directory, const FrontUser& user, dev_t device, std::size_t depth) {
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(directory.get()));
  if (!stream) return fail(Reason::unavailable, SysError{"fdopendir", "state directory", errno});
  (void)directory.release();
  const int parent = ::dirfd(stream.get());
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    const Fd file(::openat(parent, entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status{};
    if (!file || ::fstat(file.get(), &status) != 0 || status.st_dev != device) continue;
    const bool is_directory = S_ISDIR(status.st_mode);
    if (!is_directory && (!S_ISREG(status.st_mode) || status.st_nlink != 1)) continue;
    if (status.st_uid == 0 && ::fchownat(file.get(), "", user.uid, user.gid, AT_EMPTY_PATH) != 0)
      return fail(Reason::unavailable, SysError{"fchownat", "state directory", errno});
    if (!is_directory || depth == kDeepest) continue;
    Fd inner(::openat(parent, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inner) continue;
    if (auto done = hand_over(std::move(inner), user, device, depth + 1); !done) return done;
  }
  return {};
}

// Whether the front will get there, tried as the front: every directory above has a say.
bool can_enter(const std::string& path, const FrontUser& user) {
  if (::setegid(user.gid) != 0 || ::seteuid(user.uid) != 0) return false;
  const Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const bool back = ::seteuid(0) == 0 && ::setegid(0) == 0;
  return directory.valid() && back;
}

}  // namespace

std::optional<FrontUser> find_user(std::string_view passwd, std::string_view wanted) {
  while (!passwd.empty()) {
    std::string_view line = take(passwd, '\n');
    const std::string_view name = take(line, ':');
    take(line, ':');  // the password
    const auto uid = whole_number<uid_t>(take(line, ':'));
    const auto gid = whole_number<gid_t>(take(line, ':'));
    if (name == wanted && uid && gid) return FrontUser{.uid = *uid, .gid = *gid, .changes = true};
  }
  return std::nullopt;
}

Result<FrontUser> choose_front_user(const std::string& name, std::string_view passwd, uid_t self,
                                    gid_t own_group) {
  if (self != 0) {
    const FrontUser own{.uid = self, .gid = own_group, .changes = false};
    const auto asked = find_user(passwd, name);
    if (name.empty() || (asked && asked->uid == self) || whole_number<uid_t>(name) == self)
      return own;
    return fail(Reason::argument, "only root can serve as another user, " + quoted(name),
                "leave --user out: the service then runs as who started it");
  }
  std::optional<FrontUser> user = find_user(passwd, name.empty() ? kDefaultName : name);
  if (!user && name.empty()) user = FrontUser{.uid = kFrontUid, .gid = kFrontUid, .changes = true};
  if (!user)
    if (const auto uid = whole_number<uid_t>(name))
      user = FrontUser{.uid = *uid, .gid = *uid, .changes = true};
  if (!user)
    return fail(Reason::argument, "there is no user " + quoted(name) + " in /etc/passwd",
                "give a name from there, or a number");
  if (user->uid == 0 || user->gid == 0 || user->uid == static_cast<uid_t>(-1))
    return fail(Reason::argument, "the service cannot run as " + quoted(name),
                "its whole point is to have no privileges; leave --user out");
  return *user;
}

FrontUser choose_egress_user(const FrontUser& front) {
  if (!front.changes) return front;
  const uid_t uid = front.uid == kEgressUid ? kFrontUid : kEgressUid;
  return {.uid = uid, .gid = uid, .changes = true};
}

Result<std::string> prepare_state(const std::string& path, const FrontUser& user) {
  if (!user.changes) {
    if (auto opened = open_state_directory(path); !opened) return std::unexpected(opened.error());
    return path.empty() ? private_state_directory() : absolute(path);
  }
  auto whole = absolute(path.empty() ? kDefaultState : path);
  if (!whole) return whole;
  while (whole->size() > 1 && whole->ends_with('/'))
    whole->pop_back();
  if (::mkdir(whole->c_str(), 0700) != 0 && errno != EEXIST)
    return unusable(*whole, std::string("cannot be made: ") + std::strerror(errno));
  Fd directory(::open(whole->c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (!directory || ::fstat(directory.get(), &status) != 0)
    return unusable(*whole, "is not a directory, or a symbolic link", "name the directory itself");
  if (status.st_uid != 0 && status.st_uid != user.uid)
    return unusable(*whole, "belongs to another user, uid " + std::to_string(status.st_uid),
                    "serve as that user with --user, or use another directory");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return unusable(*whole, "can be written by others", "chmod 700 it");
  const int itself = directory.get();
  if (::fchown(itself, user.uid, user.gid) != 0)
    return unusable(*whole, std::string("cannot be given away: ") + std::strerror(errno));
  if (auto done = hand_over(std::move(directory), user, status.st_dev, 0); !done)
    return std::unexpected(std::move(done.error()));
  if (!can_enter(*whole, user))
    return unusable(
        *whole,
        "cannot be entered by uid " + std::to_string(user.uid) + ", which the service runs as",
        "let everybody pass through the directories above it (chmod o+x), or use "
        "/var/lib/sallyport");
  return whole;
}

}  // namespace sallyport
