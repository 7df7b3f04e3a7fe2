#include "warm/hot_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "warm/hot_files.h"
#include "warm/image_file.h"

namespace sallyport {
namespace {

constexpr std::uint64_t kPage = 4096;
// More would be no help: each is a system call.
constexpr std::size_t kMostRanges = 4096;
// When a page of a file is read, the kernel maps those around it that it has, in blocks of this
// size.
constexpr std::uint64_t kAround = 16 * kPage;

// Bits of an entry of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst).
constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
constexpr std::uint64_t kOfAFile = std::uint64_t{1} << 61;

// Pages of the image are mapped privately: one that is not the file's any more was written.
bool was_written(std::uint64_t entry) {
  return (entry & (kPresent | kOfAFile)) == kPresent;
}
bool was_read(std::uint64_t entry) {
  return (entry & (kPresent | kOfAFile)) == (kPresent | kOfAFile);
}

struct HotPages {
  std::vector<ImageRange> written, read;

  void add(const ImageSegment& segment, const std::vector<std::uint64_t>& entries) {
    for (std::size_t page = 0; page < entries.size(); ++page) {
      const std::uint64_t place = segment.start + page * kPage;
      if (was_written(entries[page]))
        add_written(place);
      else if (was_read(entries[page]))
        add_read(segment, place);
    }
  }

 private:
  void add_written(std::uint64_t place) {
    if (!written.empty() && written.back().start + written.back().size == place)
      written.back().size += kPage;
    else
      written.push_back({.start = place, .size = kPage, .advice = MADV_POPULATE_WRITE});
  }
  // One of a block is enough; but it ends with its segment.
  void add_read(const ImageSegment& segment, std::uint64_t place) {
    if (read.empty() || read.back().start < segment.start ||
        read.back().start / kAround != place / kAround)
      read.push_back({.start = place, .size = kPage, .advice = MADV_POPULATE_READ});
  }
};

}  // namespace

Result<Fd> note_hot_pages(int image, pid_t copy) {
  auto parts = read_image(image);
  if (!parts) return std::unexpected(std::move(parts.error()));
  const std::string path = "/proc/" + std::to_string(copy) + "/pagemap";
  const Fd pagemap(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!pagemap) return no_image_after("open");
  HotPages hot;
  for (const ImageSegment& segment : parts->segments) {
    if (segment.protection == PROT_NONE) continue;
    std::vector<std::uint64_t> entries(segment.size / kPage);
    const auto bytes = static_cast<ssize_t>(entries.size() * sizeof(entries[0]));
    const auto from = static_cast<off_t>(segment.start / kPage * sizeof(entries[0]));
    if (::pread(pagemap.get(), entries.data(), static_cast<std::size_t>(bytes), from) != bytes)
      return no_image_after("pread");
    hot.add(segment, entries);
  }
  take_in_files(*parts, hot.read, copy);
  // What is written comes first: it would be mapped for reading with what is around it, and then
  // have to be copied all the same.
  parts->ranges = std::move(hot.written);
  parts->ranges.insert(parts->ranges.end(), hot.read.begin(), hot.read.end());
  if (parts->ranges.size() > kMostRanges) parts->ranges.resize(kMostRanges);
  return write_image(std::move(*parts));
}

bool has_hot_pages(int image) {
  ImageHeader header{};
  return ::pread(image, &header, sizeof(header), 0) == sizeof(header) && header.ranges != 0;
}

}  // namespace sallyport
