#include "kernel/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

namespace sallyport {
namespace {

constexpr int kSealed = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;

}  // namespace

Sys<Fd> make_memory_file(std::string_view content) {
  Fd file(::memfd_create("sallyport", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return sys_fail("memfd_create");
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t size = ::pwrite(file.get(), content.data() + done, content.size() - done,
                                  static_cast<off_t>(done));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return sys_fail("pwrite", "memory file");
    done += static_cast<std::size_t>(size);
  }
  if (::fcntl(file.get(), F_ADD_SEALS, kSealed | F_SEAL_SEAL) != 0)
    return sys_fail("fcntl", "seals");
  return file;
}

Sys<std::string> read_memory_file(int file, std::size_t most) {
  // Only files in memory have seals, so this cannot wait for a device or a remote disk either.
  const int seals = ::fcntl(file, F_GET_SEALS);
  if (seals < 0 || (seals & kSealed) != kSealed) return sys_fail("fcntl", "seals", EPERM);
  struct stat status{};
  if (::fstat(file, &status) != 0) return sys_fail("fstat", "memory file");
  if (static_cast<std::uint64_t>(status.st_size) > most)
    return sys_fail("fstat", "memory file", EFBIG);
  std::string content(static_cast<std::size_t>(status.st_size), '\0');
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t size =
        ::pread(file, content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return sys_fail("pread", "memory file");
    if (size == 0) return sys_fail("pread", "memory file", EIO);
    done += static_cast<std::size_t>(size);
  }
  return content;
}

}  // namespace sallyport
