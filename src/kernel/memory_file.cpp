#include "kernel/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sallyport {

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
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) !=
      0)
    return sys_fail("fcntl", "seals");
  return file;
}

}  // namespace sallyport
