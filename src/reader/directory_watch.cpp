#include "reader/directory_watch.h"

#include <sys/inotify.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>

namespace sallyport {
namespace {

namespace asio = boost::asio;

// Not IN_MODIFY: a file that is being written is not read before it is whole.
constexpr std::uint32_t kChanges = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM |
                                   IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF |
                                   IN_ONLYDIR;

}  // namespace

DirectoryWatch::DirectoryWatch(asio::io_context& io) : events_(io) {
  if (const int fd = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK); fd >= 0) events_.assign(fd);
}

int DirectoryWatch::add(const std::string& directory) {
  if (!events_.is_open()) return -1;
  return ::inotify_add_watch(events_.native_handle(), directory.c_str(), kChanges);
}

Task<std::vector<int>> DirectoryWatch::changes() {
  std::vector<int> numbers;
  while (events_.is_open() && numbers.empty()) {
    const auto [error] = co_await events_.async_wait(asio::posix::stream_descriptor::wait_read,
                                                     asio::as_tuple(asio::use_awaitable));
    if (error) break;
    alignas(inotify_event) std::array<char, 8192> bytes;  // NOLINT(*-member-init): read into
    ssize_t size = 0;
    while ((size = ::read(events_.native_handle(), bytes.data(), bytes.size())) > 0 &&
           numbers.size() < 4096)
      for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(size);) {
        inotify_event event{};
        std::memcpy(&event, bytes.data() + at, sizeof(event));
        numbers.push_back(event.wd);  // -1 where the kernel's list overflowed
        at += sizeof(event) + event.len;
      }
  }
  co_return numbers;
}

}  // namespace sallyport
