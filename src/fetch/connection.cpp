#include "fetch/connection.h"

#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/text.h"
#include "egress/dns_message.h"

namespace sallyport {
namespace {

constexpr std::size_t kPiece = 65536;
constexpr std::int64_t kNamePatienceNs = 2'000'000'000;
constexpr int kNameAttempts = 3;

std::string hint_of(const std::vector<std::string>& allowed) {
  if (allowed.empty()) return {};
  std::string text = "it may reach: ";
  for (std::size_t i = 0; i < allowed.size(); ++i)
    text.append(i == 0 ? "" : ", ").append(allowed[i]);
  return text;
}

std::unexpected<Error> not_in_time(const std::string& host) {
  return fail(Reason::unavailable, "there was no whole answer from " + quoted(host) + " in time",
              "try again later, or ask for less");
}

sockaddr_in v4_address(const IpAddress& ip, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  std::memcpy(&address.sin_addr, ip.bytes().data(), 4);
  return address;
}

// False: the time is over.
bool wait_for(int socket, short events, std::int64_t deadline_ns) {
  for (;;) {
    const std::int64_t left = deadline_ns - monotonic_ns();
    if (left <= 0) return false;
    pollfd waiting{socket, events, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(left / 1'000'000 + 1));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// One question, one answer; nothing: there was none. The addresses that stand for names in a cell
// are of IPv4.
std::optional<DnsAnswer> ask(const NameServer& server, const HostName& name,
                             std::int64_t deadline_ns) {
  std::uint16_t id = 0;
  if (::getrandom(&id, sizeof(id), 0) != sizeof(id)) return std::nullopt;
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_in address = v4_address(server.address, server.port);
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return std::nullopt;
  const std::string query = make_dns_query(id, name, DnsType::a);
  if (::send(socket.get(), query.data(), query.size(), MSG_NOSIGNAL) < 0) return std::nullopt;
  std::array<char, 4096> datagram{};
  while (wait_for(socket.get(), POLLIN, deadline_ns)) {
    const ssize_t size = ::recv(socket.get(), datagram.data(), datagram.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (size < 0) return std::nullopt;
    const auto answer =
        parse_dns_answer({datagram.data(), static_cast<std::size_t>(size)}, id, name, DnsType::a);
    if (answer && !answer->truncated) return *answer;
  }
  return std::nullopt;
}

Result<IpAddress> find_address(const HostName& name, const NameServer& server,
                               std::int64_t deadline_ns, const std::vector<std::string>& allowed) {
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    const auto answer = ask(server, name, std::min(deadline_ns, monotonic_ns() + kNamePatienceNs));
    if (!answer) continue;
    if (!answer->addresses.empty()) return answer->addresses.front();
    // The cell's name server knows the names that the tool may reach, and no others.
    return fail(Reason::permission, "this tool may not reach " + quoted(name.to_text()),
                hint_of(allowed));
  }
  return fail(Reason::unavailable,
              "the name " + quoted(name.to_text()) + " could not be looked up: nobody answers",
              "the tool may have no network");
}

bool trust(SSL_CTX* context, const std::string& file) {
  const bool trusted = ::SSL_CTX_load_verify_file(context, file.c_str()) == 1;
  ::ERR_clear_error();
  return trusted;
}

}  // namespace

void FetchConnection::Free::operator()(SSL* ssl) const {
  ::SSL_free(ssl);
}
void FetchConnection::Free::operator()(SSL_CTX* context) const {
  ::SSL_CTX_free(context);
}

Result<FetchConnection> FetchConnection::open(const Url& url, std::int64_t deadline_ns,
                                              const FetchPlaces& places,
                                              const std::vector<std::string>& allowed) {
  const auto* name = std::get_if<HostName>(&url.host());
  if (name == nullptr)
    return fail(Reason::argument, "the URL names an IP address", "use the name of the host");
  const auto address = find_address(*name, places.names, deadline_ns, allowed);
  if (!address) return std::unexpected(address.error());
  FetchConnection connection(name->to_text(), deadline_ns);
  if (auto dialled = connection.dial(*address, url.port(), allowed); !dialled)
    return std::unexpected(std::move(dialled.error()));
  if (url.scheme() == "https")
    if (auto started = connection.start_tls(name->to_text(), places.certificates, allowed);
        !started)
      return std::unexpected(std::move(started.error()));
  return connection;
}

Result<void> FetchConnection::wait(short events) const {
  if (!wait_for(socket_.get(), events, deadline_ns_)) return not_in_time(host_);
  return {};
}

Result<void> FetchConnection::dial(const IpAddress& ip, std::uint16_t port,
                                   const std::vector<std::string>& allowed) {
  socket_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_)
    return fail(Reason::unavailable, std::string("there is no socket: ") + std::strerror(errno));
  const sockaddr_in address = v4_address(ip, port);
  int error = 0;
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    error = errno;
  if (error == EINPROGRESS) {
    if (auto waited = wait(POLLOUT); !waited) return waited;
    socklen_t size = sizeof(error);
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error == 0) return {};
  // Ports that no rule names are not served.
  if (error == ECONNREFUSED)
    return fail(Reason::permission,
                "this tool may not reach port " + std::to_string(port) + " of " + quoted(host_),
                hint_of(allowed));
  return fail(Reason::unavailable,
              quoted(host_) + " cannot be connected to: " + std::strerror(error));
}

Result<void> FetchConnection::start_tls(const std::string& name, const std::string& certificates,
                                        const std::vector<std::string>& allowed) {
  const auto broken = [](std::string what) {
    ::ERR_clear_error();
    return fail(Reason::unavailable, "TLS cannot be used: " + std::move(what));
  };
  // What the machine's OpenSSL is configured for is not ours: it may name modules to load.
  ::OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  context_.reset(::SSL_CTX_new(::TLS_client_method()));
  if (!context_ || ::SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION) != 1)
    return broken("there is no memory");
  if (!trust(context_.get(), certificates))
    return broken("the machine has no list of certificate authorities in " + quoted(certificates));
  ::SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  ::SSL_CTX_set_options(context_.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  ::SSL_CTX_set_mode(context_.get(),
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  ssl_.reset(::SSL_new(context_.get()));
  constexpr std::array<unsigned char, 9> kProtocols = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  if (!ssl_ || ::SSL_set_fd(ssl_.get(), socket_.get()) != 1 ||
      ::SSL_set1_host(ssl_.get(), name.c_str()) != 1 ||
      ::SSL_set_tlsext_host_name(ssl_.get(), name.c_str()) != 1 ||
      ::SSL_set_alpn_protos(ssl_.get(), kProtocols.data(), kProtocols.size()) != 0)
    return broken("there is no memory");
  ::SSL_set_hostflags(ssl_.get(),
                      X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);

  for (;;) {
    ::ERR_clear_error();
    errno = 0;
    const int done = ::SSL_connect(ssl_.get());
    if (done == 1) return {};
    const int why = ::SSL_get_error(ssl_.get(), done);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
      if (auto waited = wait(why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT); !waited) return waited;
      continue;
    }
    const unsigned long code = ::ERR_peek_error();
    if (const long verdict = ::SSL_get_verify_result(ssl_.get()); verdict != X509_V_OK) {
      ::ERR_clear_error();
      return fail(Reason::unavailable,
                  quoted(host_) + " does not prove by its certificate that it is this host: " +
                      ::X509_verify_cert_error_string(verdict),
                  "nothing was sent to it; there is no way to leave the check out");
    }
    if (ERR_GET_REASON(code) == SSL_R_TLSV1_ALERT_ACCESS_DENIED) {
      ::ERR_clear_error();
      return fail(Reason::permission,
                  "Sallyport refused the connection to " + quoted(host_) +
                      ": no rule allows it, it leads to an address that this tool may not reach, "
                      "or the call "
                      "has made all the requests that it may",
                  hint_of(allowed));
    }
    if (why == SSL_ERROR_SYSCALL || ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
      ::ERR_clear_error();
      return fail(Reason::unavailable,
                  quoted(host_) +
                      " cannot be reached: it does not answer, its name leads nowhere, or to an "
                      "address that this tool may not reach",
                  hint_of(allowed));
    }
    const char* text = code != 0 ? ::ERR_reason_error_string(code) : nullptr;
    std::string reason = text != nullptr ? text : "not understood";
    ::ERR_clear_error();
    return fail(Reason::unavailable, "no TLS connection to " + quoted(host_) +
                                         " came about: " + escape_for_terminal(reason));
  }
}

Result<bool> FetchConnection::after_tls(int result) {
  const int why = ::SSL_get_error(ssl_.get(), result);
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
    if (auto waited = wait(why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT); !waited)
      return std::unexpected(waited.error());
    return true;
  }
  ::ERR_clear_error();
  if (why == SSL_ERROR_ZERO_RETURN) return false;
  // Without the farewell of TLS, anybody on the way may have cut the answer off.
  return fail(Reason::unavailable, "the connection to " + quoted(host_) + " broke off");
}

Result<void> FetchConnection::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), kPiece);
    ssize_t sent = 0;
    if (ssl_) {
      ::ERR_clear_error();
      sent = ::SSL_write(ssl_.get(), bytes.data(), static_cast<int>(size));
      if (sent <= 0) {
        const auto again = after_tls(static_cast<int>(sent));
        if (!again || !*again) return {};
        continue;
      }
    } else {
      sent = ::send(socket_.get(), bytes.data(), size, MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) {
        if (auto waited = wait(POLLOUT); !waited) return waited;
        continue;
      }
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return {};  // whoever closes early may have said why
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<bool> FetchConnection::read(std::string& into) {
  std::array<char, kPiece> piece;  // NOLINT(*-member-init): written by the next call
  for (;;) {
    // A server that never pauses must not outlast the deadline.
    if (monotonic_ns() >= deadline_ns_) return not_in_time(host_);
    if (ssl_) {
      ::ERR_clear_error();
      const int size = ::SSL_read(ssl_.get(), piece.data(), static_cast<int>(piece.size()));
      if (size > 0) {
        into.append(piece.data(), static_cast<std::size_t>(size));
        return true;
      }
      const auto again = after_tls(size);
      if (!again || !*again) return again;
      continue;
    }
    const ssize_t size = ::recv(socket_.get(), piece.data(), piece.size(), 0);
    if (size > 0) {
      into.append(piece.data(), static_cast<std::size_t>(size));
      return true;
    }
    if (size == 0) return false;
    if (errno == EAGAIN) {
      if (auto waited = wait(POLLIN); !waited) return std::unexpected(waited.error());
    } else if (errno != EINTR) {
      return fail(Reason::unavailable, "the connection to " + quoted(host_) + " broke off");
    }
  }
}

}  // namespace sallyport
