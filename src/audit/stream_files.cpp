#include "audit/stream_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "audit/record_line.h"
#include "base/parse.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::string_view kSegmentEnd = ".jsonl";
constexpr std::size_t kDigits = 6, kLongestName = 64;
constexpr std::size_t kChunk = std::size_t{256} << 10;

std::string numbered(unsigned number, std::string_view end) {
  char digits[16];
  std::snprintf(digits, sizeof(digits), "%06u", number);
  return std::string(digits).append(end);
}

template <class Take>
Result<void> for_each_name(int directory, Take take) {
  // An open directory of our own: reading moves its place.
  Fd again(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again) return fail(Reason::unavailable, SysError{"open", "audit", errno});
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(again.get()), ::closedir);
  if (list == nullptr) return fail(Reason::unavailable, SysError{"fdopendir", "audit", errno});
  (void)again.release();
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(list.get());  // NOLINT(concurrency-mt-unsafe)
    if (entry == nullptr && errno != 0)
      return fail(Reason::unavailable, SysError{"readdir", "audit", errno});
    if (entry == nullptr) return {};
    take(std::string_view(entry->d_name), *entry);
  }
}

}  // namespace

std::string segment_name(unsigned number) {
  return numbered(number, kSegmentEnd);
}

std::string index_name(unsigned number) {
  return numbered(number, ".index");
}

bool is_stream_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

Result<Fd> open_directory(int parent, const std::string& name, bool make) {
  bool made = false;
  if (make) {
    made = ::mkdirat(parent, name.c_str(), 0700) == 0;
    if (!made && errno != EEXIST)
      return fail(Reason::unavailable, SysError{"mkdir", name.c_str(), errno});
    // The name must last as long as the records do.
    if (made && ::fsync(parent) != 0)
      return fail(Reason::unavailable, SysError{"fsync", name.c_str(), errno});
  }
  Fd directory(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory && errno == ENOENT && !make) return Fd();
  if (!directory) return fail(Reason::unavailable, SysError{"open", name.c_str(), errno});
  struct stat status{};
  if (::fstat(directory.get(), &status) != 0)
    return fail(Reason::unavailable, SysError{"fstat", name.c_str(), errno});
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(Reason::unavailable,
                "the directory " + quoted(name) +
                    " of the records belongs to another user, or others may write to it",
                "chown it, and chmod go-w");
  return directory;
}

Result<std::vector<std::string>> list_streams(int audit) {
  std::vector<std::string> names;
  auto listed = for_each_name(audit, [&](std::string_view name, const dirent& entry) {
    struct stat status{};
    const bool directory = entry.d_type == DT_DIR ||
                           (entry.d_type == DT_UNKNOWN &&
                            ::fstatat(audit, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                            S_ISDIR(status.st_mode));
    if (directory && is_stream_name(name)) names.emplace_back(name);
  });
  if (!listed) return std::unexpected(std::move(listed.error()));
  std::ranges::sort(names);
  return names;
}

Result<std::vector<unsigned>> list_segments(int stream) {
  std::vector<unsigned> numbers;
  auto listed = for_each_name(stream, [&](std::string_view name, const dirent&) {
    if (!name.ends_with(kSegmentEnd)) return;
    name.remove_suffix(kSegmentEnd.size());
    const auto number = whole_number<unsigned>(name);
    if (number && *number > 0 && name.size() >= kDigits && segment_name(*number).starts_with(name))
      numbers.push_back(*number);
  });
  if (!listed) return std::unexpected(std::move(listed.error()));
  std::ranges::sort(numbers);
  return numbers;
}

LineReader::Step LineReader::next(std::string_view& line) {
  std::size_t looked = used_;
  while (true) {
    const void* found =
        size_ > looked ? std::memchr(buffer_.data() + looked, '\n', size_ - looked) : nullptr;
    if (found != nullptr) {
      const auto end = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
      line = std::string_view(buffer_).substr(used_, end - used_);
      offset_ = at_ - (size_ - used_);
      used_ = end + 1;
      return line.size() > kLongestRecord ? Step::too_long : Step::line;
    }
    looked = size_;
    if (size_ - used_ > kLongestRecord) return offset_ = at_ - (size_ - used_), Step::too_long;
    if (at_ >= end_) {
      offset_ = at_ - (size_ - used_);
      line = std::string_view(buffer_).substr(used_, size_ - used_);
      return used_ == size_ ? Step::end : Step::torn;
    }
    if (used_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + used_, size_ - used_);
      size_ -= used_;
      looked -= used_;
      used_ = 0;
    }
    if (buffer_.size() - size_ < kChunk / 2) buffer_.resize(std::max(kChunk, 2 * buffer_.size()));
    const std::size_t most = std::min<std::uint64_t>(buffer_.size() - size_, end_ - at_);
    const ssize_t got = ::pread(file_, buffer_.data() + size_, most, static_cast<off_t>(at_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Step::failed;
    if (got == 0) end_ = at_;  // it was cut back while we read
    size_ += static_cast<std::size_t>(got);
    at_ += static_cast<std::uint64_t>(got);
  }
}

Result<std::uint64_t> size_of(int file) {
  struct stat status{};
  if (::fstat(file, &status) != 0) return fail(Reason::unavailable, SysError{"fstat", "", errno});
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace sallyport
