#include "warm/hot_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/fd.h"
#include "kernel/syscalls.h"

namespace sallyport {
namespace {

constexpr std::uint64_t kPage = 4096;
// Of one image. It is memory of the service, which no limit of a cell counts.
constexpr std::uint64_t kMostOfFiles = std::uint64_t{64} << 20;

// A segment that may be written to has its changed pages in the image already.
bool is_of_file(const ImageSegment& segment) {
  return segment.file >= 0 && segment.flags == MAP_PRIVATE &&
         (segment.protection & PROT_WRITE) == 0;
}

bool has_any(const ImageSegment& segment, std::span<const ImageRange> read) {
  return std::ranges::any_of(read, [&](const ImageRange& range) {
    return range.start >= segment.start && range.start - segment.start < segment.size;
  });
}

// There are systems where a memory file may not be executed.
bool may_execute_images() {
  const Fd file(::memfd_create("sallyport-image", MFD_CLOEXEC));
  void* const page = ::mmap(nullptr, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
  return page != MAP_FAILED && ::munmap(page, 1) == 0;
}

// As `process` names it: what that has in memory, it could have changed. Nothing: it is not the
// file that the image means, or too short.
std::optional<std::string> read_part(const ImageFile& file, const ImageSegment& segment,
                                     pid_t process) {
  const std::string place = "/proc/" + std::to_string(process) + "/root";
  const Fd root(::open(place.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  // A symlink in there leads nowhere else: it is no name of the host's.
  const Fd opened(sys::openat2(root.get(), file.path,
                               O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                               RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS));
  struct stat status{};
  if (!opened || ::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return std::nullopt;
  const ImageFile now = identify(status);
  if (now.device != file.device || now.inode != file.inode || now.size != file.size ||
      now.changed_ns != file.changed_ns)
    return std::nullopt;
  // Behind the end of the file, the rest of a page is empty.
  std::string content(segment.size, '\0');
  const std::uint64_t there = file.size > segment.offset ? file.size - segment.offset : 0;
  const std::uint64_t size = std::min(segment.size, there);
  if (segment.size - size >= kPage ||
      !read_whole(opened.get(), segment.offset, content.data(), size))
    return std::nullopt;
  return content;
}

}  // namespace

void take_in_files(Image& image, std::span<const ImageRange> read, pid_t copy) {
  if (!may_execute_images()) return;
  std::uint64_t left = kMostOfFiles;
  for (ImageSegment& segment : image.segments) {
    if (!is_of_file(segment) || !has_any(segment, read) || segment.size > left) continue;
    const auto content =
        read_part(image.files[static_cast<std::size_t>(segment.file)], segment, copy);
    if (!content) continue;
    segment.offset = image.pages.size();
    segment.file = -2;
    image.pages += *content;
    left -= segment.size;
  }
}

}  // namespace sallyport
