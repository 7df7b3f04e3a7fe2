#include "warm/image_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace sallyport {
namespace {

constexpr std::uint64_t kPage = 4096;

std::uint64_t first_page(const ImageHeader& header) {
  return (header.bytes + kPage - 1) / kPage * kPage;
}

// Each table of the file in its order, behind the header.
template <class With>
void each_table(Image& image, With with) {
  with(image.files);
  with(image.segments);
  with(image.ranges);
}

Result<void> write_all(int file, std::string_view rest) {
  while (!rest.empty()) {
    const ssize_t size = ::write(file, rest.data(), rest.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return no_image_after("write");
    rest.remove_prefix(static_cast<std::size_t>(size));
  }
  return {};
}

// In large pieces of memory, which the kernel maps and unmaps many pages at a time: every copy does
// both. Where there is none, or before Linux 6.1, it stays as it is.
void gather(int file, std::size_t size) {
  constexpr int kCollapse = 25;  // MADV_COLLAPSE
  constexpr std::size_t kLarge = std::size_t{2} << 20;
  const std::size_t whole = (size + kLarge - 1) / kLarge * kLarge;
  // One piece more, because it has to begin at a multiple of one.
  void* const room = ::mmap(nullptr, whole + kLarge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return;
  const auto begin = (reinterpret_cast<std::uintptr_t>(room) + kLarge - 1) / kLarge * kLarge;
  void* const place = reinterpret_cast<void*>(begin);
  if (::mmap(place, whole, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) == place)
    (void)::madvise(place, whole, kCollapse);
  ::munmap(room, whole + kLarge);
}

}  // namespace

std::unexpected<Error> no_image(std::string message) {
  return fail(Reason::unavailable, "the interpreter has no image: " + std::move(message));
}

std::unexpected<Error> no_image_after(const char* call) {
  return no_image(std::string(call) + ": " + std::strerror(errno));
}

ImageFile identify(const struct stat& status) {
  ImageFile known{};
  known.device = (std::uint64_t{gnu_dev_major(status.st_dev)} << 32) | gnu_dev_minor(status.st_dev);
  known.inode = status.st_ino;
  known.size = static_cast<std::uint64_t>(status.st_size);
  known.changed_ns = static_cast<std::uint64_t>(status.st_ctim.tv_sec) * 1'000'000'000 +
                     static_cast<std::uint64_t>(status.st_ctim.tv_nsec);
  return known;
}

bool read_whole(int file, std::uint64_t from, void* to, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t got =
        ::pread(file, static_cast<char*>(to) + done, size - done, static_cast<off_t>(from + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

Result<Fd> write_image(Image image) {
  ImageHeader& header = image.header;
  header.files = image.files.size();
  header.segments = image.segments.size();
  header.ranges = image.ranges.size();
  header.bytes = sizeof(header);
  each_table(image,
             [&](const auto& table) { header.bytes += table.size() * sizeof(*table.data()); });
  if (header.bytes > SALLYPORT_RESTORE_END - SALLYPORT_RESTORE_HEADER)
    return no_image("it has too many areas of memory");
  for (ImageSegment& segment : image.segments)
    if (segment.file == -2) segment.offset += first_page(header);
  std::string head(first_page(header), '\0');
  char* at = head.data();
  const auto put = [&](const void* from, std::size_t size) {
    if (size != 0) std::memcpy(at, from, size);
    at += size;
  };
  put(&header, sizeof(header));
  each_table(image,
             [&](const auto& table) { put(table.data(), table.size() * sizeof(*table.data())); });

  Fd file(::memfd_create("sallyport-image", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  for (const std::string* part : {&head, &image.pages})
    if (auto done = write_all(file.get(), *part); !done)
      return std::unexpected(std::move(done.error()));
  gather(file.get(), head.size() + image.pages.size());
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) return no_image_after("fcntl");
  return file;
}

Result<Image> read_image(int file) {
  Image image;
  ImageHeader& header = image.header;
  struct stat status{};
  if (::fstat(file, &status) != 0 || !read_whole(file, 0, &header, sizeof(header)))
    return no_image_after("read");
  image.files.resize(header.files);
  image.segments.resize(header.segments);
  image.ranges.resize(header.ranges);
  std::uint64_t at = sizeof(header);
  bool whole = true;
  each_table(image, [&](auto& table) {
    const std::size_t size = table.size() * sizeof(*table.data());
    whole = whole && read_whole(file, at, table.data(), size);
    at += size;
  });
  image.pages.resize(static_cast<std::size_t>(status.st_size) - first_page(header));
  if (!whole || !read_whole(file, first_page(header), image.pages.data(), image.pages.size()))
    return no_image_after("read");
  for (ImageSegment& segment : image.segments)
    if (segment.file == -2) segment.offset -= first_page(header);
  return image;
}

}  // namespace sallyport
