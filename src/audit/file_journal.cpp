#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "audit/journal.h"
#include "base/private_file.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr const char* kFile = "audit.jsonl";
constexpr std::chrono::seconds kPatience{30};  // a slow disk with many writers

// RFC 3339 in UTC, to the microsecond.
std::string time_stamp() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm utc{};
  ::gmtime_r(&now.tv_sec, &utc);
  std::array<char, 64> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text.data() + length, text.size() - length, ".%06ldZ", now.tv_nsec / 1000);
  return text.data();
}

// The record as one line. Bytes that are not UTF-8 are replaced: they would make the line no JSON.
std::string line_of(const json::object& record) {
  json::object stamped{{"time", time_stamp()}};
  for (const auto& [key, value] : record)
    if (key != "time") stamped.emplace(key, value);
  return to_utf8(json::serialize(stamped)) + "\n";
}

// Cuts off what was written by half, so that the next reader sees whole lines only. Where even that
// fails, the next writer closes the line off.
std::unexpected<Error> undo(int file, off_t size, const char* call, int err) {
  (void)!::ftruncate(file, size);
  return fail(Reason::unavailable,
              "the record of the call could not be written: " + describe({call, kFile, err}),
              err == ENOSPC || err == EDQUOT ? "make room on the disk of the state directory" : "");
}

Result<void> append(int file, std::string line) {
  struct stat status{};
  if (::fstat(file, &status) != 0)
    return fail(Reason::unavailable, SysError{"fstat", kFile, errno});
  const off_t size = status.st_size;
  if (size > 0) {
    char last = '\n';
    if (::pread(file, &last, 1, size - 1) != 1)
      return fail(Reason::unavailable, SysError{"pread", kFile, errno});
    // A writer died within its line.
    if (last != '\n') line.insert(line.begin(), '\n');
  }
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t wrote = ::write(file, line.data() + done, line.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return undo(file, size, "write", errno);
    done += static_cast<std::size_t>(wrote);
  }
  if (::fdatasync(file) != 0) return undo(file, size, "fdatasync", errno);
  return {};
}

class FileJournal final : public Journal {
 public:
  explicit FileJournal(Fd directory) : directory_(std::move(directory)) {}

  Result<void> write(json::object record) override {
    const std::string line = line_of(record);
    const auto file =
        lock_private_file(directory_.get(), kFile, O_RDWR | O_APPEND | O_CREAT, kPatience);
    if (!file) return std::unexpected(file.error());
    return append(file->get(), line);
  }

 private:
  Fd directory_;
};

}  // namespace

Result<std::unique_ptr<Journal>> file_journal(int directory) {
  Fd own(::fcntl(directory, F_DUPFD_CLOEXEC, 3));
  if (!own) return fail(Reason::unavailable, SysError{"fcntl", "state directory", errno});
  // Refused now rather than at the first call.
  const auto file = open_private_file(own.get(), kFile, O_RDWR | O_APPEND | O_CREAT);
  if (!file) return std::unexpected(file.error());
  // The name must last as long as the records do.
  if (::fsync(own.get()) != 0)
    return fail(Reason::unavailable, SysError{"fsync", "state directory", errno});
  return std::make_unique<FileJournal>(std::move(own));
}

}  // namespace sallyport
