#include "http/byte_stream.h"

#include <sys/socket.h>

#include <cerrno>

namespace sallyport {
namespace {

class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(int socket) : socket_(socket) {}

  Greeting greet() override { return {.done = true}; }

  Progress read(std::span<char> room) override {
    return progress([&] { return ::recv(socket_, room.data(), room.size(), 0); }, Want::read);
  }

  Progress write(std::string_view bytes) override {
    return progress([&] { return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL); },
                    Want::write);
  }

  void finish() override { ::shutdown(socket_, SHUT_WR); }
  bool may_hold_bytes() const override { return false; }
  std::string client_certificate() const override { return {}; }

 private:
  template <class Call>
  static Progress progress(Call call, Want otherwise) {
    for (;;) {
      const ssize_t count = call();
      if (count >= 0) return {.bytes = static_cast<std::size_t>(count)};
      if (errno == EAGAIN) return {.want = otherwise};
      if (errno != EINTR) return {};
    }
  }

  int socket_;
};

}  // namespace

std::unique_ptr<ByteStream> plain_stream(int socket) {
  return std::make_unique<PlainStream>(socket);
}

}  // namespace sallyport
