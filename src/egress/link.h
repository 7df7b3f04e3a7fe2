// One side of a connection, as coroutines: the cell's, or that of the host it talks to.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sallyport {

template <class T>
using Task = boost::asio::awaitable<T>;

class Link {
 public:
  virtual ~Link() = default;

  // Until read() has something to say: whoever waits here needs no room for it yet.
  virtual Task<void> wait() { co_return; }
  // How many bytes came; none: the other side has ended, or the connection has failed().
  virtual Task<std::size_t> read(std::span<char> room) = 0;
  // All of it; false: the connection has failed.
  virtual Task<bool> write(std::string_view bytes) = 0;
  // Nothing more will be written.
  virtual Task<void> finish() = 0;
  // Ends whatever waits on it.
  virtual void close() = 0;
  // Ends it so that the other side sees a failure and not an end.
  virtual void reset() = 0;
  [[nodiscard]] virtual bool failed() const = 0;

  // Where the bytes of the connection are those of a socket: it, until it takes more, and what the
  // caller found out who used it directly.
  [[nodiscard]] virtual int socket() { return -1; }
  virtual Task<void> wait_to_write() { co_return; }
  virtual void set_failed() {}
};

[[nodiscard]] std::unique_ptr<Link> plain_link(boost::asio::ip::tcp::socket socket);

// How much room the next read gets: more for one that comes behind much, and little for the others,
// of which there may be very many at a time. The most is what one wake-up of the other side is
// worth and a processor's own cache still holds, a few times over.
inline constexpr std::size_t kLittleRoom = std::size_t{16} << 10, kMuchRoom = std::size_t{64} << 10,
                             kMostRoom = std::size_t{128} << 10;
[[nodiscard]] constexpr std::size_t room_after(std::size_t came) {
  return came < kLittleRoom ? kLittleRoom : came < kMuchRoom ? kMuchRoom : kMostRoom;
}

// What is new in it has no value yet: a read is about to give it one.
inline void resize_for_reading(std::string& bytes, std::size_t size) {
  bytes.resize_and_overwrite(size, [](char*, std::size_t all) { return all; });
}

// A link with what was read from it and not used yet.
struct BufferedLink {
  explicit BufferedLink(Link& to) : link(to) {}
  Link& link;
  std::string pending;

  // More bytes, behind those that are pending; false: none will come.
  Task<bool> read_more();
  void drop(std::size_t count) { pending.erase(0, count); }

 private:
  std::size_t came_last_ = 0;
};

}  // namespace sallyport
