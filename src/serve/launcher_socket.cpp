#include "serve/launcher_socket.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/text.h"
#include "serve/listeners.h"

namespace sallyport {
namespace {

constexpr const char* kRootPlace = "/run/sallyport";
constexpr std::string_view kPrefix = "sallyport-serve-";

std::string find_place(const FrontUser& user) {
  if (user.changes) return kRootPlace;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  struct stat status{};
  // The path of a socket is short.
  if (runtime != nullptr && runtime[0] == '/' && std::strlen(runtime) < 60 &&
      ::stat(runtime, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == user.uid)
    return runtime;
  return "/tmp";
}

void remove_abandoned(const std::string& place) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(place.c_str()), ::closedir);
  if (!listing) return;
  while (const dirent* entry = ::readdir(listing.get())) {
    if (!std::string_view(entry->d_name).starts_with(kPrefix)) continue;
    const std::string directory = place + "/" + entry->d_name;
    struct stat status{};
    if (::lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
        status.st_uid != ::geteuid())
      continue;
    const std::string socket = directory + "/launcher";
    if (is_abandoned_socket(socket, SOCK_SEQPACKET) && ::unlink(socket.c_str()) == 0)
      ::rmdir(directory.c_str());
  }
}

}  // namespace

Result<LauncherSocket> LauncherSocket::make(const FrontUser& user) {
  const auto failed = [](const char* call, const std::string& path) {
    return fail(Reason::unavailable, SysError{call, path.c_str(), errno},
                "the launcher needs a place for its socket");
  };
  const std::string place = find_place(user);
  if (user.changes) {
    if (::mkdir(kRootPlace, 0755) != 0 && errno != EEXIST) return failed("mkdir", place);
    // Whoever made it may have had a narrow umask. What lies in there says itself who may.
    struct stat status{};
    if (::lstat(kRootPlace, &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != 0 ||
        ::chmod(kRootPlace, 0755) != 0)
      return failed("chmod", place);
  }
  remove_abandoned(place);
  std::string directory = place + "/" + std::string(kPrefix) + "XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return failed("mkdtemp", directory);
  LauncherSocket made(directory,
                      Fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = made.path();
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  // The directory is opened to the front last.
  const bool ready =
      made.listener_ &&
      ::bind(made.listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
          0 &&
      // The front's alone, and not its group's: to close a connection that somebody has sent
      // descriptors over is to close these, which may take as long as whoever sent them likes.
      ::chmod(path.c_str(), 0600) == 0 && ::listen(made.listener_.get(), 1024) == 0 &&
      (!user.changes ||
       (::lchown(path.c_str(), user.uid, user.gid) == 0 &&
        ::lchown(directory.c_str(), 0, user.gid) == 0 && ::chmod(directory.c_str(), 0750) == 0));
  if (ready) return made;
  auto error = failed("bind", path);
  made.remove();
  return error;
}

void LauncherSocket::remove() {
  listener_.reset();
  ::unlink(path().c_str());
  ::rmdir(directory_.c_str());
}

}  // namespace sallyport
