#include "tool/file_work.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/base64.h"
#include "base/fd.h"
#include "base/text.h"
#include "cell/export.h"
#include "tool/file_list.h"
#include "tool/file_target.h"

namespace sallyport {
namespace {

// ---- Reading

// The longest prefix of `bytes` that ends between two characters; nothing when it is not text.
std::optional<std::string_view> as_text(std::string_view bytes, bool at_end) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const Utf8Char next = first_utf8_char(rest);
    if (!next.valid) {
      if (!next.cut_off || at_end) return std::nullopt;
      return bytes.substr(0, bytes.size() - rest.size());
    }
    if (next.code == 0) return std::nullopt;
    rest.remove_prefix(next.length);
  }
  return bytes;
}

Result<std::string> read_range(int fd, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count =
        ::pread(fd, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return fail(Reason::unavailable,
                  std::string("the file cannot be read: ") + std::strerror(errno));
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  bytes.resize(done);
  return bytes;
}

Result<json::object> read_a_file(const FileOrder& order) {
  auto target = find_file(FileAction::read, order);
  if (!target) return std::unexpected(std::move(target.error()));
  auto path = open_confined(target->rules(true), target->relative, PathAccess::read);
  if (!path) return std::unexpected(explain(*target, std::move(path.error())));
  struct stat status{};
  if (::fstat(path->fd.get(), &status) != 0)
    return fail(Reason::unavailable, SysError{"fstat", "", errno});
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const std::uint64_t left = size > order.offset ? size - order.offset : 0;
  const std::uint64_t most =
      std::min({left, order.length.value_or(left), std::uint64_t{order.max_answer}});
  auto bytes = read_range(path->fd.get(), order.offset, static_cast<std::size_t>(most));
  if (!bytes) return std::unexpected(std::move(bytes.error()));

  // As much as the answer has room for: what is escaped, or in base64, takes more than it is.
  for (std::string_view part = *bytes;;) {
    json::object answer{{"path", target->shown()},
                        {"size", static_cast<std::int64_t>(size)},
                        {"offset", static_cast<std::int64_t>(order.offset)}};
    const bool at_end = order.offset + part.size() >= size;
    // Half a character and nothing more is not text: the caller would never get past it.
    if (const auto text = as_text(part, at_end); text && text->empty() == part.empty()) {
      part = *text;
      answer["content"] = *text;
    } else {
      answer["base64"] = to_base64(part);
    }
    const std::uint64_t next = order.offset + part.size();
    answer["truncated"] = next < size;
    if (next < size) answer["next_offset"] = static_cast<std::int64_t>(next);
    const std::size_t needed = canonical_json(answer).size();
    if (needed <= order.max_answer) return answer;
    if (part.empty())
      return fail(Reason::result_too_large, "not even an empty answer fits into max_result");
    part = part.substr(0, std::min(part.size() - 1, part.size() * order.max_answer / needed));
  }
}

// ---- Writing

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

// At the end of a file that is there; all of it or nothing.
Result<void> append(int fd, off_t end, std::string_view content, const std::string& shown) {
  if (::lseek(fd, end, SEEK_SET) != end)
    return fail(Reason::unavailable, SysError{"lseek", "", errno});
  auto written = write_all(fd, content, shown);
  if (!written) (void)!::ftruncate(fd, end);
  return written;
}

Result<void> replace(const SafePath& path, const struct stat* before, std::string_view content,
                     const std::string& shown) {
  NewFile file(path.parent.get(), before == nullptr ? 0666 : 0600);
  struct stat now{};
  if (file.fd() < 0 || ::fstat(file.fd(), &now) != 0)
    return fail(errno == EACCES || errno == EROFS ? Reason::argument : Reason::unavailable,
                quoted(shown) + " cannot be written: " + std::strerror(errno));
  // To write into a file of somebody else's is one thing, to take its place another.
  if (before != nullptr && before->st_uid != now.st_uid)
    return fail(Reason::argument, quoted(shown) + " belongs to another user");
  if (auto written = write_all(file.fd(), content, shown); !written) return written;
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
                        : replace(*path, created ? nullptr : &before, order.content, shown);
  if (!written) return std::unexpected(std::move(written.error()));
  const auto size = static_cast<std::int64_t>(order.content.size());
  return json::object{
      {"path", shown}, {"size", at_end ? before.st_size + size : size}, {"created", created}};
}

}  // namespace

Result<json::object> do_file_work(FileAction action, const FileOrder& order) {
  switch (action) {
    case FileAction::read:
      return read_a_file(order);
    case FileAction::write:
      return write_a_file(order);
    case FileAction::list:
      return list_a_directory(order);
  }
  return fail(Reason::internal, "there is no such work");
}

}  // namespace sallyport
