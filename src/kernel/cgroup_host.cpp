#include "kernel/cgroup_host.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <csignal>
#include <mutex>
#include <thread>
#include <utility>

extern "C" {  // glibc 2.36 does not say so itself
#include <sys/pidfd.h>
}

#include "base/process_number.h"

namespace sallyport {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// Long enough for a process that holds gigabytes to die, short enough for an answer that waits
// behind it.
constexpr auto kKillTime = 100ms;
constexpr auto kDestroyTime = 250ms;
constexpr auto kSweepTime = 250ms;

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;

struct flock whole_directory(short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

// Repeats `done` with growing pauses until it holds or the deadline has passed.
template <class Done>
bool retry_until(Deadline deadline, Done done) {
  for (auto pause = 50us;; pause = std::min(pause * 2, 5000us)) {
    if (done()) return true;
    if (steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(pause);
  }
}

bool is_alive(const GroupOwner& owner) {
  const std::string file = "/proc/" + std::to_string(owner.pid) + "/stat";
  if (const auto text = read_at(AT_FDCWD, file.c_str())) {
    const auto stat = parse_process_stat(*text);
    if (!stat) return true;
    return stat->start_time == owner.start_time && stat->state != 'Z' && stat->state != 'X';
  }
  // A /proc mounted with hidepid does not show other users' processes.
  return ::kill(owner.pid, 0) == 0 || errno != ESRCH;
}

std::vector<std::string> names_below(const GroupParent& parent) {
  std::vector<std::string> names;
  const int fd = ::openat(parent.fd.get(), ".", kDirectory);
  DIR* dir = fd >= 0 ? ::fdopendir(fd) : nullptr;
  if (dir == nullptr) {
    if (fd >= 0) ::close(fd);
    return names;
  }
  while (const dirent* entry = ::readdir(dir))
    if (entry->d_type == DT_DIR) names.emplace_back(entry->d_name);
  ::closedir(dir);
  return names;
}

}  // namespace

std::shared_ptr<const GroupParent> open_group_parent(std::string path, CgroupVersion version) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct statfs fs{};
  if (!fd || ::fstatfs(fd.get(), &fs) != 0) return nullptr;
  const auto magic = version == CgroupVersion::v2 ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC;
  if (fs.f_type != magic) {
    errno = ENODEV;
    return nullptr;
  }
  return std::make_shared<const GroupParent>(std::move(fd), std::move(path));
}

int write_at(int dir, const char* file, std::string_view value) {
  const Fd fd(::openat(dir, file, O_WRONLY | O_CLOEXEC));
  if (!fd) return errno;
  ssize_t put = 0;
  do
    put = ::write(fd.get(), value.data(), value.size());
  while (put < 0 && errno == EINTR);
  if (put < 0) return errno;
  return put == static_cast<ssize_t>(value.size()) ? 0 : EIO;
}

bool may_write(int dir, const char* file) {
  return ::faccessat(dir, file, W_OK, AT_EACCESS) == 0;
}

Deadline kill_deadline() {
  return steady_clock::now() + kKillTime;
}

Result<GroupDir> GroupDir::make(std::shared_ptr<const GroupParent> parent, std::string name) {
  constexpr mode_t kMode = 0755;
  if (::mkdirat(parent->fd.get(), name.c_str(), kMode) != 0)
    return fail(Reason::cannot_enforce, "cannot make the cgroup " + parent->path + "/" + name +
                                            ": " + std::strerror(errno));
  Fd fd(::openat(parent->fd.get(), name.c_str(), kDirectory));
  struct flock lock = whole_directory(F_RDLCK);
  if (!fd || ::fcntl(fd.get(), F_SETLK, &lock) != 0) {
    const int err = errno;
    ::unlinkat(parent->fd.get(), name.c_str(), AT_REMOVEDIR);
    return fail(Reason::cannot_enforce,
                "cannot hold the cgroup " + parent->path + "/" + name + ": " + std::strerror(err));
  }
  return GroupDir(std::move(parent), std::move(name), std::move(fd));
}

std::optional<GroupDir> GroupDir::find_abandoned(std::shared_ptr<const GroupParent> parent,
                                                 std::string name) {
  Fd fd(::openat(parent->fd.get(), name.c_str(), kDirectory));
  struct flock lock = whole_directory(F_WRLCK);
  if (!fd || ::fcntl(fd.get(), F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK) return std::nullopt;
  return GroupDir(std::move(parent), std::move(name), std::move(fd));
}

int GroupDir::opened(const char* file) const {
  const auto at =
      std::ranges::find(files_, std::string_view(file), [](const auto& f) { return f.first; });
  if (at != files_.end()) return at->second.get();
  Fd opened(::openat(fd_.get(), file, O_RDONLY | O_CLOEXEC));
  if (!opened) return -1;
  return files_.emplace_back(file, std::move(opened)).second.get();
}

std::optional<std::string> GroupDir::read(const char* file) const {
  const int fd = opened(file);
  if (fd < 0) return std::nullopt;
  // What a counter says is written in one piece: if it fits, its end is not asked for, because the
  // kernel would count everything once more to find it.
  char text[1024];
  const ssize_t size = ::pread(fd, text, sizeof(text), 0);
  if (size > 0 && size < static_cast<ssize_t>(sizeof(text)) && text[size - 1] == '\n')
    return std::string(text, static_cast<std::size_t>(size));
  return read_again(fd);
}

std::uint64_t GroupDir::count(const char* file) const {
  return parse_count(read(file).value_or("")).value_or(0);
}

Result<void> GroupDir::set(const char* file, std::string_view value) const {
  if (const int err = write_at(fd_.get(), file, value)) return cannot_set(file, value, err);
  return {};
}

std::unexpected<Error> GroupDir::cannot_set(const char* file, std::string_view value,
                                            int err) const {
  return fail(Reason::cannot_enforce, "cannot set " + path() + "/" + file + " to '" +
                                          std::string(value) + "': " + std::strerror(err));
}

// True when there was nobody. A pid may be reused between reading it and using it, by a process
// that is none of ours, so it is pinned by a pidfd first and signalled only if the group still has
// it after that.
bool GroupDir::signal_everyone() const {
  // Opened anew each time: v1 keeps the list of an open file for a while.
  const auto list = [&] { return parse_pids(read_at(fd_.get(), "cgroup.procs").value_or("")); };
  std::vector<pid_t> members = list();
  if (members.empty()) return true;
  std::vector<std::pair<pid_t, Fd>> pinned;
  for (const pid_t pid : members)
    if (Fd pidfd(::pidfd_open(pid, 0)); pidfd) pinned.emplace_back(pid, std::move(pidfd));
  members = list();
  for (const auto& [pid, pidfd] : pinned)
    if (std::ranges::find(members, pid) != members.end())
      ::pidfd_send_signal(pidfd.get(), SIGKILL, nullptr, 0);
  return members.empty();
}

void GroupDir::kill(Deadline deadline) const {
  if (write_at(fd_.get(), "cgroup.kill", "1") == 0) return;
  retry_until(deadline, [this] { return signal_everyone(); });
}

bool GroupDir::remove() {
  files_.clear();
  if (!removed_)
    removed_ = ::unlinkat(parent_->fd.get(), name_.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
  return removed_;
}

void HighWater::sample(const GroupDir& dir) {
  if (!kept_by_kernel_) kept_by_kernel_ = dir.opened(peak_file_) >= 0;
  if (!*kept_by_kernel_) highest_ = std::max(highest_, dir.count(current_file_));
}

std::uint64_t HighWater::read(const GroupDir& dir) {
  sample(dir);
  return *kept_by_kernel_ ? dir.count(peak_file_) : highest_;
}

Result<std::string> whole_disk(dev_t device) {
  std::string number = std::to_string(major(device)) + ":" + std::to_string(minor(device));
  const std::string directory = "/sys/dev/block/" + number;
  struct stat st{};
  if (::stat(directory.c_str(), &st) != 0)
    return fail(Reason::cannot_enforce,
                "the device " + number + " is not a disk, so its I/O cannot be limited");
  // A partition's directory lies in its disk's.
  if (::stat((directory + "/partition").c_str(), &st) != 0) return number;
  auto disk = read_at(AT_FDCWD, (directory + "/../dev").c_str());
  if (!disk) return fail(Reason::cannot_enforce, "cannot tell the disk of the partition " + number);
  disk->erase(std::min(disk->find('\n'), disk->size()));
  return std::move(*disk);
}

void destroy(Cgroup& group) {
  if (group.remove()) return;
  group.kill();
  retry_until(steady_clock::now() + kDestroyTime, [&group] { return group.remove(); });
}

// It stays the same for as long as the process lives, and reading it costs as much as making a
// group's directory. A child is another process.
GroupOwner current_process() {
  static std::mutex mutex;
  static std::optional<std::pair<std::uint64_t, GroupOwner>> known;
  const std::scoped_lock lock(mutex);
  const std::uint64_t number = process_number();
  if (known && known->first == number && known->second.pid == ::getpid()) return known->second;
  const auto stat = parse_process_stat(read_at(AT_FDCWD, "/proc/self/stat").value_or(""));
  if (!stat) return {.pid = ::getpid(), .start_time = 0, .self = false};
  known.emplace(number,
                GroupOwner{.pid = ::getpid(), .start_time = stat->start_time, .self = false});
  return known->second;
}

void sweep_group_parent(const std::shared_ptr<const GroupParent>& parent) {
  const Deadline deadline = steady_clock::now() + kSweepTime;
  std::vector<GroupDir> leftovers;
  for (std::string& name : names_below(*parent)) {
    const auto owner = parse_group_name(name);
    if (!owner || is_alive(*owner)) continue;
    auto group = GroupDir::find_abandoned(parent, std::move(name));
    if (!group) continue;
    // What a dead Sallyport left in its own leaf was never in a cell; it is not ours to kill.
    if (!owner->self) group->kill(deadline);
    leftovers.push_back(std::move(*group));
  }
  for (GroupDir& group : leftovers)
    retry_until(deadline, [&group] { return group.remove(); });
}

}  // namespace sallyport
