#include "http/client.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/text.h"
#include "http/characters.h"
#include "http/chunked.h"
#include "input/url.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostHead = std::size_t{64} << 10;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

template <class Address>
SocketAddress wrap(const Address& address, std::size_t size = sizeof(Address)) {
  SocketAddress wrapped;
  std::memcpy(&wrapped.storage, &address, size);
  wrapped.size = static_cast<socklen_t>(size);
  return wrapped;
}

SocketAddress of_ip(const IpAddress& ip, std::uint16_t port) {
  if (ip.is_v4()) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    std::memcpy(&address.sin_addr, ip.bytes().data(), 4);
    return wrap(address);
  }
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  std::memcpy(&address.sin6_addr, ip.bytes().data(), 16);
  return wrap(address);
}

Result<Url> parse_url(std::string_view text) {
  auto url = Url::parse(text, {.schemes = {"http"}, .allow_ip = true, .allow_internal = true});
  if (!url)
    return fail(Reason::argument,
                "the URL " + quoted(text) + " cannot be fetched: " + url.error().message,
                "write http://ADDRESS:PORT; TLS needs a proxy beside it");
  return url;
}

// Both addresses that localhost may mean, or the one that the URL names.
Result<std::vector<SocketAddress>> addresses_of(const Url& url) {
  if (const auto* ip = std::get_if<IpAddress>(&url.host()))
    return std::vector{of_ip(*ip, url.port())};
  if (!std::get<HostName>(url.host()).is_localhost())
    return fail(Reason::argument, "the host " + quoted(url.host_text()) + " is not an address",
                "write its address: names other than localhost are not looked up");
  std::array<std::uint8_t, 16> loopback{};
  loopback.back() = 1;
  return std::vector{of_ip(IpAddress::v4({127, 0, 0, 1}), url.port()),
                     of_ip(IpAddress::v6(loopback), url.port())};
}

Result<std::vector<SocketAddress>> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path) || path.find('\0') != std::string::npos)
    return fail(Reason::argument, "the path of the socket " + quoted(path) + " is too long");
  std::memcpy(address.sun_path, path.data(), path.size());
  return std::vector{wrap(address)};
}

std::unexpected<Error> broken(std::string message) {
  return fail(Reason::unavailable, std::move(message));
}

// A socket that gives up at a point in time.
class Conversation {
 public:
  explicit Conversation(const HttpFetch& request)
      : deadline_ns_(monotonic_ns() + std::chrono::nanoseconds(request.deadline).count()),
        stop_(request.stop),
        on_stop_(request.on_stop) {}

  Result<void> dial(const std::vector<SocketAddress>& addresses) {
    int error = 0;
    for (const SocketAddress& address : addresses) {
      socket_ =
          Fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!socket_) return broken(std::string("socket: ") + std::strerror(errno));
      if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address.storage),
                    address.size) == 0)
        return {};
      error = errno;
      if (error == EINPROGRESS) {
        if (auto waited = wait(POLLOUT); !waited) return waited;
        socklen_t size = sizeof(error);
        ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
        if (error == 0) return {};
      }
    }
    return broken(std::string("nobody answers: ") + std::strerror(error));
  }

  // Who listens, as the kernel tells it.
  Result<void> check_peer() const {
    ucred peer{};
    socklen_t size = sizeof(peer);
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
        (peer.uid == 0 || peer.uid == ::geteuid()))
      return {};
    return fail(Reason::permission, "who listens there is neither root nor yourself",
                "only a service of root's or of your own is asked for this");
  }

  Result<void> send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
        continue;
      }
      if (sent < 0 && errno == EAGAIN) {
        if (auto waited = wait(POLLOUT); !waited) return waited;
      } else if (errno != EINTR) {
        // Whoever closes early may have said why.
        return {};
      }
    }
    return {};
  }

  // The next bytes are appended; false: the other side has closed.
  Result<bool> receive(std::string& into) {
    char piece[16384];
    for (;;) {
      const ssize_t size = ::recv(socket_.get(), piece, sizeof(piece), 0);
      if (size > 0) {
        into.append(piece, static_cast<std::size_t>(size));
        return true;
      }
      if (size == 0) return false;
      if (errno == EAGAIN) {
        if (auto waited = wait(POLLIN); !waited) return std::unexpected(waited.error());
      } else if (errno != EINTR) {
        return broken(std::string("the connection broke: ") + std::strerror(errno));
      }
    }
  }

 private:
  Result<void> wait(short events) {
    for (;;) {
      const std::int64_t left = deadline_ns_ - monotonic_ns();
      if (left <= 0) return broken("there was no answer in time");
      pollfd waiting[] = {{socket_.get(), events, 0}, {stop_, POLLIN, 0}};
      const int ready = ::poll(waiting, 2, static_cast<int>(left / 1'000'000 + 1));
      if (ready < 0 && errno != EINTR) return broken(std::string("poll: ") + std::strerror(errno));
      if (ready <= 0) continue;
      if (waiting[1].revents != 0) {
        stop_ = -1;
        if (on_stop_) on_stop_();
      }
      if (waiting[0].revents != 0) return {};
    }
  }

  std::int64_t deadline_ns_;
  int stop_;  // negative: not looked at, by poll() either
  std::function<void()> on_stop_;
  Fd socket_;
};

Result<std::string> request_bytes(const HttpFetch& request, const Url& url) {
  const auto is_token = [](std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, is_token_char);
  };
  if (!is_token(request.method)) return fail(Reason::argument, "the method is not a word");
  if (!std::ranges::all_of(request.type, is_value_char))
    return fail(Reason::argument, "the type of the body is not one line");
  std::string text = request.method + " " + url.path();
  if (url.query()) text.append("?").append(*url.query());
  text.append(" HTTP/1.1\r\nHost: ").append(url.host_text());
  if (url.port() != 80) text.append(":").append(std::to_string(url.port()));
  text.append("\r\nConnection: close\r\n");
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT")
    text.append("Content-Type: " + request.type +
                "\r\nContent-Length: " + std::to_string(request.body.size()) + "\r\n");
  for (const auto& [name, value] : request.headers) {
    // A value with a line break in it would be a header of its own.
    if (!is_token(name) || !std::ranges::all_of(value, is_value_char))
      return fail(Reason::argument, "the header " + quoted(name) + " cannot be sent",
                  "its value has to be one line of ASCII");
    text.append(name).append(": ").append(value).append("\r\n");
  }
  return text.append("\r\n").append(request.body);
}

// The head of an answer, without the empty line behind it.
bool parse_head(std::string_view head, HttpReply& reply) {
  bool first = true;
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 2);
    if (first) {
      const auto status = whole_number<unsigned>(line.size() >= 12 ? line.substr(9, 3) : "");
      if (!line.starts_with("HTTP/1.") || line[8] != ' ' || !status || *status < 100 ||
          (line.size() > 12 && line[12] != ' '))
        return false;
      reply.status = *status;
      first = false;
      continue;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) return false;
    std::string name(line.substr(0, colon));
    if (!std::ranges::all_of(name, is_token_char)) return false;
    std::ranges::transform(name, name.begin(), lower_char);
    reply.headers.emplace_back(std::move(name), without_spaces(line.substr(colon + 1)));
  }
  return !first;
}

// Takes the head off `bytes`, and what is said before it (100 Continue).
Result<HttpReply> receive_head(Conversation& peer, std::string& bytes) {
  for (;;) {
    const std::size_t end = bytes.find("\r\n\r\n");
    if (end == std::string::npos) {
      if (bytes.size() > kMostHead) return broken("the head of the answer is too long");
      const auto more = peer.receive(bytes);
      if (!more) return std::unexpected(more.error());
      if (!*more)
        return broken(bytes.empty() ? "the connection was closed without an answer"
                                    : "the answer ends in its head");
      continue;
    }
    HttpReply reply;
    if (!parse_head(std::string_view(bytes).substr(0, end), reply))
      return broken("the answer is not HTTP");
    bytes.erase(0, end + 4);
    if (reply.status >= 200) return reply;
  }
}

Result<void> receive_chunks(Conversation& peer, std::string bytes, const HttpFetch& request,
                            std::string& body) {
  ChunkedDecoder decoder(request.most_bytes, ChunkedDecoder::Trailers::drop);
  for (;;) {
    decoder.feed(bytes, body);
    if (request.on_piece && !body.empty()) {
      request.on_piece(body);
      body.clear();
    }
    if (decoder.done()) return {};
    if (decoder.refusal().status != 0)
      return broken("the body of the answer is broken or too long");
    bytes.clear();
    const auto more = peer.receive(bytes);
    if (!more) return std::unexpected(more.error());
    if (!*more) return broken("the answer ends in its body");
  }
}

Result<void> receive_body(Conversation& peer, std::string bytes, const HttpFetch& request,
                          HttpReply& reply) {
  if (request.method == "HEAD" || reply.status == 204 || reply.status == 304) return {};
  const std::string_view coding = reply.header("transfer-encoding");
  const std::string_view length_text = reply.header("content-length");
  if (!coding.empty()) {
    if (!equal_ignoring_case(coding, "chunked") || !length_text.empty())
      return broken("the answer has a body of an unknown form");
    return receive_chunks(peer, std::move(bytes), request, reply.body);
  }
  std::optional<std::uint64_t> length;
  if (!length_text.empty()) {
    length = whole_number<std::uint64_t>(length_text);
    if (!length) return broken("the length of the answer is not a number");
    if (*length > request.most_bytes) return broken("the answer is too long");
  }
  reply.body = std::move(bytes);
  while (!length || reply.body.size() < *length) {
    if (reply.body.size() > request.most_bytes) return broken("the answer is too long");
    const auto more = peer.receive(reply.body);
    if (!more) return std::unexpected(more.error());
    if (*more) continue;
    if (length) return broken("the answer ends in its body");
    break;
  }
  if (length) reply.body.resize(*length);
  if (reply.body.size() > request.most_bytes) return broken("the answer is too long");
  return {};
}

}  // namespace

std::string_view HttpReply::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &HttpHeaders::value_type::first);
  return found != headers.end() ? std::string_view(found->second) : std::string_view();
}

Result<void> check_fetch_url(std::string_view url) {
  const auto parsed = parse_url(url);
  if (!parsed) return std::unexpected(parsed.error());
  if (auto addresses = addresses_of(*parsed); !addresses) return std::unexpected(addresses.error());
  return {};
}

Result<HttpReply> fetch(const HttpFetch& request) {
  const auto url = parse_url(request.url);
  if (!url) return std::unexpected(url.error());
  const auto addresses = request.socket.empty() ? addresses_of(*url) : unix_address(request.socket);
  if (!addresses) return std::unexpected(addresses.error());
  const auto bytes = request_bytes(request, *url);
  if (!bytes) return std::unexpected(bytes.error());

  Conversation peer(request);
  if (auto dialled = peer.dial(*addresses); !dialled) return std::unexpected(dialled.error());
  if (request.root_or_self)
    if (auto known = peer.check_peer(); !known) return std::unexpected(known.error());
  if (auto sent = peer.send(*bytes); !sent) return std::unexpected(sent.error());
  std::string received;
  auto reply = receive_head(peer, received);
  if (!reply) return reply;
  if (auto body = receive_body(peer, std::move(received), request, *reply); !body)
    return std::unexpected(body.error());
  return reply;
}

}  // namespace sallyport
