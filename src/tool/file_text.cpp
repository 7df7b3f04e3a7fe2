#include "tool/file_text.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace sallyport {

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

}  // namespace sallyport
