#include "cell/export.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/random.h>
#include <sys/sendfile.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "kernel/syscalls.h"

namespace sallyport {
namespace {

Sys<void> copy_range(int source, int target, off_t begin, off_t end) {
  constexpr off_t kChunk = 1 << 20;
  if (::lseek(target, begin, SEEK_SET) < 0) return sys_fail("lseek");
  while (begin < end) {
    const ssize_t count =
        ::sendfile(target, source, &begin, static_cast<std::size_t>(std::min(end - begin, kChunk)));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return sys_fail("write");
    if (count == 0) return sys_fail("read", "", ESTALE);
  }
  return {};
}

// A sparse file of a terabyte costs the tool nothing; written out in full it would fill the host's
// disk.
Sys<void> copy_content(int source, int target, off_t size) {
  if (::ftruncate(target, size) != 0) return sys_fail("ftruncate");
  off_t position = 0;
  while (position < size) {
    const off_t begin = ::lseek(source, position, SEEK_DATA);
    if (begin < 0 && errno == ENXIO) return {};
    if (begin < 0) return sys_fail("lseek");
    if (begin >= size) return {};
    const off_t hole = ::lseek(source, begin, SEEK_HOLE);
    if (hole < 0) return sys_fail("lseek");
    position = std::min(hole, size);
    if (auto copied = copy_range(source, target, begin, position); !copied) return copied;
  }
  return {};
}

}  // namespace

Sys<Fd> open_directory(int parent, const char* name) {
  constexpr std::uint64_t kResolve =
      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  Fd fd(sys::openat2(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, kResolve));
  if (!fd) return sys_fail("openat2");
  return fd;
}

Sys<Directory> Directory::open(int parent, const char* name) {
  auto fd = open_directory(parent, name);
  if (!fd) return std::unexpected(fd.error());
  DIR* stream = ::fdopendir(fd->get());
  if (stream == nullptr) return sys_fail("fdopendir");
  (void)fd->release();
  return Directory(stream);
}

Sys<const char*> Directory::next() {
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream_.get());
    if (entry == nullptr && errno != 0) return sys_fail("readdir");
    if (entry == nullptr) return nullptr;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return entry->d_name;
  }
}

Sys<OpenFile> open_regular(int directory, const char* name, const struct stat& seen) {
  OpenFile file{.fd = Fd(::openat(directory, name,
                                  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC))};
  if (!file.fd) return sys_fail("openat");
  if (::fstat(file.fd.get(), &file.info) != 0) return sys_fail("fstat");
  const bool same = file.info.st_dev == seen.st_dev && file.info.st_ino == seen.st_ino;
  if (!same || !S_ISREG(file.info.st_mode)) return sys_fail("openat", "", ESTALE);
  return file;
}

Result<OwnerRights> OwnerRights::take(Owner owner) {
  if (::geteuid() != 0) return OwnerRights({.uid = ::geteuid(), .gid = ::getegid()}, false);
  const int count = ::getgroups(0, nullptr);
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(count, 0)));
  if (count < 0 || ::getgroups(count, groups.data()) != count)
    return fail(Reason::internal, SysError{"getgroups", "", errno});
  if (::setgroups(0, nullptr) != 0)
    return fail(Reason::cannot_enforce, SysError{"setgroups", "", errno});
  OwnerRights rights(owner, true);
  rights.groups_ = std::move(groups);
  const Scope acting = rights.act();
  // setfsuid reports no error: asking for an impossible id changes nothing and returns the one in
  // force.
  constexpr auto kNobody = static_cast<uid_t>(-1);
  if (static_cast<uid_t>(::setfsuid(kNobody)) != owner.uid ||
      static_cast<gid_t>(::setfsgid(kNobody)) != owner.gid)
    return fail(Reason::cannot_enforce, "cannot act as uid " + std::to_string(owner.uid) +
                                            ", gid " + std::to_string(owner.gid) +
                                            ", the owner of the host directory");
  return rights;
}

OwnerRights::OwnerRights(OwnerRights&& other) noexcept
    : owner_(other.owner_),
      active_(std::exchange(other.active_, false)),
      groups_(std::move(other.groups_)) {}

OwnerRights::~OwnerRights() {
  if (active_) (void)::setgroups(groups_.size(), groups_.data());
}

OwnerRights::Scope::Scope(const OwnerRights& rights)
    : active_(rights.active_),
      before_(!active_ ? Owner{}
                       : Owner{.uid = static_cast<uid_t>(::setfsuid(rights.owner_.uid)),
                               .gid = static_cast<gid_t>(::setfsgid(rights.owner_.gid))}) {}

OwnerRights::Scope::~Scope() {
  if (!active_) return;
  ::setfsuid(before_.uid);
  ::setfsgid(before_.gid);
}

PendingEntry::PendingEntry(int directory) : directory_(directory), temporary_(temporary_name()) {}

PendingEntry::PendingEntry(PendingEntry&& other) noexcept
    : directory_(other.directory_), temporary_(std::exchange(other.temporary_, {})) {}

PendingEntry::~PendingEntry() {
  if (!temporary_.empty()) ::unlinkat(directory_, temporary_.c_str(), 0);
}

Sys<PendingEntry> PendingEntry::file(int directory, int source, std::uint64_t size,
                                     const FileAttributes& attributes) {
  PendingEntry entry(directory);
  const Fd file(::openat(directory, entry.temporary_.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return sys_fail("openat");
  if (auto copied = copy_content(source, file.get(), static_cast<off_t>(size)); !copied)
    return std::unexpected(copied.error());
  if (::fchmod(file.get(), attributes.mode & 0777) != 0) return sys_fail("fchmod");
  if (attributes.modified) {
    const timespec times[] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, *attributes.modified};
    if (::futimens(file.get(), times) != 0) return sys_fail("futimens");
  }
  return entry;
}

Sys<PendingEntry> PendingEntry::symlink(int directory, const char* target) {
  PendingEntry entry(directory);
  if (::symlinkat(target, directory, entry.temporary_.c_str()) != 0) return sys_fail("symlinkat");
  return entry;
}

Sys<void> PendingEntry::commit(const char* name) {
  if (::renameat(directory_, temporary_.c_str(), directory_, name) != 0)
    return sys_fail("renameat");
  temporary_.clear();
  return {};
}

std::string temporary_name() {
  unsigned char random[12];
  // Fewer than 256 bytes cannot be cut short. Were they predictable, O_EXCL would still hold.
  (void)!::getrandom(random, sizeof(random), 0);
  std::string name = ".sallyport-";
  for (const unsigned char byte : random) {
    name.push_back("0123456789abcdef"[byte >> 4]);
    name.push_back("0123456789abcdef"[byte & 15]);
  }
  return name;
}

bool is_host_exhausted(int err) {
  constexpr int kErrors[] = {ENOSPC, EDQUOT, EROFS, EIO, ENOMEM, EMFILE, ENFILE};
  return std::ranges::find(kErrors, err) != std::end(kErrors);
}

std::string_view kind_of_file(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "a regular file";
    case S_IFDIR:
      return "a directory";
    case S_IFLNK:
      return "a symbolic link";
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    default:
      return "a device";
  }
}

void FindingLog::add(std::string_view path, std::string why) {
  constexpr std::size_t kLongest = 1000;
  if (count_++ >= kMost) return;
  std::string shown = escape_for_terminal(path.substr(0, kLongest));
  if (path.size() > kLongest) shown.append("...");
  findings_.push_back({kind_, std::move(shown), std::move(why)});
}

FindingLog::~FindingLog() {
  if (count_ > kMost)
    findings_.push_back({kind_, ".", "and " + std::to_string(count_ - kMost) + " more"});
}

}  // namespace sallyport
