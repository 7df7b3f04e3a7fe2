#include "tool/file_write.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "cell/export.h"
#include "tool/file_target.h"

namespace sallyport {
namespace {

Result<void> write_all(int fd, std::string_view bytes, std::string_view path) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(fd, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(size));
      continue;
    }
    if (errno == EFBIG)
      return fail(Reason::argument, quoted(path) + " would be larger than a file may be",
                  "the limit file_size of this tool bounds it");
    return fail(errno == ENOSPC || errno == EDQUOT ? Reason::unavailable : Reason::argument,
                quoted(path) + " cannot be written: " + std::strerror(errno));
  }
  return {};
}

// A file that is complete before it has its name, so that nobody ever sees half of it.
class NewFile {
 public:
  NewFile(int directory, mode_t mode)
      : directory_(directory),
        temporary_(temporary_name()),
        file_(::openat(directory, temporary_.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)) {
    if (!file_) temporary_.clear();
  }
  ~NewFile() {
    if (!temporary_.empty()) ::unlinkat(directory_, temporary_.c_str(), 0);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  [[nodiscard]] int fd() const { return file_.get(); }
  [[nodiscard]] bool commit(const char* name) {
    if (::renameat(directory_, temporary_.c_str(), directory_, name) != 0) return false;
    temporary_.clear();
    return true;
  }

 private:
  const int directory_;
  std::string temporary_;  // empty: there is nothing to remove
  const Fd file_;
};

// Whether the name still stands for the file that was looked at, as it was.
bool is_still(const SafePath& path, const struct stat& before) {
  struct stat now{};
  return ::fstatat(path.parent.get(), path.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 &&
         now.st_dev == before.st_dev && now.st_ino == before.st_ino &&
         now.st_size == before.st_size && now.st_mtim.tv_sec == before.st_mtim.tv_sec &&
         now.st_mtim.tv_nsec == before.st_mtim.tv_nsec;
}

// At the end of a file that is there; all of it or nothing.
Result<void> append(int fd, off_t end, std::string_view content, const std::string& shown) {
  if (::lseek(fd, end, SEEK_SET) != end)
    return fail(Reason::unavailable, SysError{"lseek", "", errno});
  auto written = write_all(fd, content, shown);
  if (!written) (void)!::ftruncate(fd, end);
  return written;
}

}  // namespace

Result<void> replace_file(const SafePath& path, const struct stat* before, Change change,
                          std::string_view content, const std::string& shown) {
  NewFile file(path.parent.get(), before == nullptr ? 0666 : 0600);
  struct stat now{};
  if (file.fd() < 0 || ::fstat(file.fd(), &now) != 0)
    return fail(errno == EACCES || errno == EROFS ? Reason::argument : Reason::unavailable,
                quoted(shown) + " cannot be written: " + std::strerror(errno));
  // To write into a file of somebody else's is one thing, to take its place another.
  if (before != nullptr && before->st_uid != now.st_uid)
    return fail(Reason::argument, quoted(shown) + " belongs to another user");
  if (auto written = write_all(file.fd(), content, shown); !written) return written;
  if (before != nullptr && change == Change::based_on_it && !is_still(path, *before))
    return fail(Reason::argument, quoted(shown) + " was changed by another program meanwhile",
                "read it again, then try again");
  if ((before != nullptr && ::fchmod(file.fd(), before->st_mode & 0777) != 0) ||
      ::fsync(file.fd()) != 0 || !file.commit(path.name.c_str()))
    return fail(Reason::unavailable, quoted(shown) + " cannot be written: " + std::strerror(errno));
  return {};
}

Result<json::object> write_a_file(const FileOrder& order) {
  auto target = find_file(FileAction::write, order);
  if (!target) return std::unexpected(std::move(target.error()));
  const std::string shown = target->shown();
  if (target->file_place && !order.append)
    return fail(Reason::argument, quoted(shown) + " cannot be replaced",
                "it can be appended to; a place to write files in must be a directory");
  auto path = open_confined(target->rules(false), target->relative, PathAccess::write);
  if (const auto missing = path ? std::nullopt : missing_directory(*target))
    return fail(Reason::argument,
                quoted(shown) + " cannot be written: there is no directory " + quoted(*missing),
                "write into a directory that is there; list_files shows them");
  if (!path) return std::unexpected(explain(*target, std::move(path.error())));
  const bool created = !path->fd.valid();
  struct stat before{};
  if (!created && ::fstat(path->fd.get(), &before) != 0)
    return fail(Reason::unavailable, SysError{"fstat", "", errno});

  const bool at_end = order.append && !created;
  auto written = at_end ? append(path->fd.get(), before.st_size, order.content, shown)
                        : replace_file(*path, created ? nullptr : &before, Change::regardless,
                                       order.content, shown);
  if (!written) return std::unexpected(std::move(written.error()));
  const auto size = static_cast<std::int64_t>(order.content.size());
  return json::object{
      {"path", shown}, {"size", at_end ? before.st_size + size : size}, {"created", created}};
}

}  // namespace sallyport
