#include "access/state_directory.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/private_file.h"
#include "base/text.h"

namespace sallyport {
namespace {

// A variable that holds an absolute path; others are as good as none.
std::string_view absolute(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && value[0] == '/' ? value : "";
}

// 0, also when it is there already, or the errno.
int make(const std::string& path) {
  return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

// Makes every directory above `path` that is not there yet.
Result<void> make_parents(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos;
       end = path.find('/', end + 1)) {
    const std::string parent = path.substr(0, end);
    if (const int err = make(parent); err != 0)
      return fail(Reason::unavailable, "cannot make " + quoted(parent) + ": " + std::strerror(err),
                  "name a directory with --state");
  }
  return {};
}

}  // namespace

Result<std::string> private_state_directory() {
  if (const auto state = absolute("XDG_STATE_HOME"); !state.empty())
    return std::string(state) + "/sallyport";
  if (const auto home = absolute("HOME"); !home.empty())
    return std::string(home) + "/.local/state/sallyport";
  if (::geteuid() == 0) return "/var/lib/sallyport";
  return fail(Reason::unavailable, "there is no HOME to keep rates and records in",
              "name a directory with --state, or set HOME");
}

Result<void> check_state_directory(int directory, const std::string& name) {
  struct stat status{};
  if (::fstat(directory, &status) != 0)
    return fail(Reason::unavailable, SysError{"fstat", "state directory", errno});
  if (!S_ISDIR(status.st_mode))
    return fail(Reason::unavailable, quoted(name) + " is not a directory");
  if (status.st_uid != ::geteuid())
    return fail(Reason::unavailable,
                "the state directory " + quoted(name) + " belongs to another user",
                "use one of your own, or chown it");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(Reason::unavailable, "others may write to the state directory " + quoted(name),
                "chmod 700 it");
  return {};
}

Result<Fd> open_state_directory(const std::string& path) {
  std::string name = path;
  if (name.empty()) {
    auto own = private_state_directory();
    if (!own) return std::unexpected(std::move(own.error()));
    name = std::move(*own);
    if (auto made = make_parents(name); !made) return std::unexpected(std::move(made.error()));
  }
  if (name.find('\0') != std::string::npos)
    return fail(Reason::unavailable, "the path of a state directory holds a NUL byte");
  // Behind a slash, a link would be followed.
  while (name.size() > 1 && name.ends_with('/'))
    name.pop_back();
  if (const int err = make(name); err != 0)
    return fail(Reason::unavailable,
                "cannot make the state directory " + quoted(name) + ": " + std::strerror(err),
                err == ENOENT ? "make the directory above it first" : "");
  Fd directory(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (const int err = errno; !directory)
    return fail(Reason::unavailable,
                "cannot open the state directory " + quoted(name) + ": " +
                    (err == ENOTDIR || err == ELOOP ? "it is a symbolic link or not a directory"
                                                    : std::strerror(err)),
                "name a directory itself");
  if (auto checked = check_state_directory(directory.get(), name); !checked)
    return std::unexpected(std::move(checked.error()));
  return directory;
}

Result<std::string> state_secret(int directory, const char* name) {
  constexpr std::size_t kSize = 32;
  const auto file = lock_private_file(directory, name, O_RDWR | O_CREAT, std::chrono::seconds{10});
  if (!file) return std::unexpected(file.error());
  std::string secret(kSize, '\0');
  const ssize_t there = ::pread(file->get(), secret.data(), kSize, 0);
  if (there < 0) return fail(Reason::unavailable, SysError{"read", name, errno});
  if (there == kSize) return secret;
  if (there != 0)
    return fail(Reason::unavailable,
                "the file '" + std::string(name) + "' in the state directory is damaged",
                "put back a good copy, or move it away to begin with a new one");
  if (::getrandom(secret.data(), kSize, 0) != kSize)
    return fail(Reason::unavailable, SysError{"getrandom", name, errno});
  if (::pwrite(file->get(), secret.data(), kSize, 0) != kSize || ::fdatasync(file->get()) != 0) {
    const int err = errno;
    (void)!::ftruncate(file->get(), 0);
    return fail(Reason::unavailable, SysError{"write", name, err});
  }
  return secret;
}

}  // namespace sallyport
