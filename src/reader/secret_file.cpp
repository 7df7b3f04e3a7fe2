#include "reader/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>

#include "base/fd.h"
#include "credential/source.h"

namespace sallyport {

Reading read_secret_file(const std::string& path) {
  const auto refuse = [](std::string why) { return no_secret("its file " + std::move(why), true); };
  // A pipe or a device could keep the reader waiting.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0)
    return refuse(std::string("cannot be read: ") + std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return refuse("is not a regular file");
  if ((status.st_mode & S_IRWXO) != 0)
    return refuse("is open to everybody on the machine; chmod o-rwx makes it a secret");
  if ((status.st_mode & S_IWGRP) != 0)
    return refuse("can be written by its group; chmod g-w keeps it as it is");
  std::string text(kLargestSecret + 3, '\0');  // one byte too many, and a line break
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(file.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      wipe(text);
      return refuse(std::string("cannot be read: ") + std::strerror(error));
    }
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return check_secret(std::move(text), "its file");
}

}  // namespace sallyport
