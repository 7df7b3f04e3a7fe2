#include "egress/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "egress/door.h"

namespace sallyport {

namespace {

// The settings as a file without a name.
Result<Fd> write_settings(const ReaderSettings& credentials) {
  const auto bytes = write_wire(credentials, kLargestSettings, "the list of credentials");
  if (!bytes) return std::unexpected(bytes.error());
  Fd file(::memfd_create("sallyport", MFD_CLOEXEC));
  if (!file ||
      ::pwrite(file.get(), bytes->data(), bytes->size(), 0) != static_cast<ssize_t>(bytes->size()))
    return fail(Reason::unavailable, SysError{"memfd_create", "credentials", errno});
  return file;
}

}  // namespace

Result<EgressChild> EgressChild::start(const char* program, const ReaderSettings& credentials) {
  auto door = make_door();
  if (!door) return fail(Reason::unavailable, door.error());
  const bool with_credentials = !credentials.sources.empty();
  Fd settings;
  if (with_credentials) {
    auto written = write_settings(credentials);
    if (!written) return std::unexpected(std::move(written.error()));
    settings = std::move(*written);
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, door->egress.get(), kEgressDoor);
  if (with_credentials) posix_spawn_file_actions_adddup2(&actions, settings.get(), kReaderSettings);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A session of its own: ^C is for the cell, whose last words the process still passes on.
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  char name[] = "sallyport", verb[] = "egress-process";
  std::string more = kWithCredentials;
  char* const arguments[] = {name, verb, with_credentials ? more.data() : nullptr, nullptr};
  char* const nothing[] = {nullptr};
  // A source may be a variable, or a command that needs some.
  char* const* environment = with_credentials ? environ : nothing;
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, program, &actions, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return fail(Reason::unavailable, "the egress process cannot be started: " +
                                         describe(SysError{"posix_spawn", program, failed}));
  return EgressChild(std::move(door->outside), pid);
}

EgressChild::EgressChild(EgressChild&& other) noexcept
    : door_(std::move(other.door_)), pid_(std::exchange(other.pid_, -1)) {}

bool EgressChild::is_gone() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ < 0;
}

Result<std::shared_ptr<EgressChild>> SharedEgress::get(const ReaderSettings& credentials) {
  if (program_.empty())
    return fail(Reason::unavailable,
                "a tool that reaches hosts needs the sallyport program, and it is not known where "
                "that is",
                "name it in BoundaryOptions::program");
  const std::lock_guard lock(mutex_);
  if (!child_ || child_->is_gone() || credentials != credentials_) {
    auto started = EgressChild::start(program_.c_str(), credentials);
    if (!started) return std::unexpected(std::move(started.error()));
    child_ = std::make_shared<EgressChild>(std::move(*started));
    credentials_ = credentials;
  }
  return child_;
}

EgressChild::~EgressChild() {
  door_.reset();
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
}

}  // namespace sallyport
