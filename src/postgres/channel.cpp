#include "postgres/channel.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::size_t kPiece = 65536;

std::unexpected<Error> broken(std::string what) {
  return fail(Reason::unavailable, "the connection to the database server " + std::move(what));
}

std::unexpected<Error> tls_failed(const SSL* ssl) {
  std::string why = "not understood";
  if (const long verdict = ssl != nullptr ? ::SSL_get_verify_result(ssl) : X509_V_OK;
      verdict != X509_V_OK)
    why = ::X509_verify_cert_error_string(verdict);
  else if (const unsigned long code = ::ERR_get_error(); code != 0)
    if (const char* text = ::ERR_reason_error_string(code)) why = text;
  ::ERR_clear_error();
  return fail(Reason::unavailable,
              "the database server does not prove by TLS who it is: " + escape_for_terminal(why),
              "its certificate must be for the host in the address, and be vouched for by one of "
              "sslrootcert");
}

bool trust(SSL_CTX* context, const std::string& pem) {
  BIO* const bio =
      ::BIO_new_mem_buf(pem.data(), static_cast<int>(std::min<std::size_t>(pem.size(), INT_MAX)));
  if (bio == nullptr) return false;
  bool any = false;
  while (X509* const certificate = ::PEM_read_bio_X509(bio, nullptr, nullptr, nullptr)) {
    any = ::X509_STORE_add_cert(::SSL_CTX_get_cert_store(context), certificate) == 1 || any;
    ::X509_free(certificate);
  }
  ::BIO_free(bio);
  ::ERR_clear_error();
  return any;
}

bool is_address(const std::string& name) {
  in6_addr address{};
  return ::inet_pton(AF_INET, name.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), &address) == 1;
}

}  // namespace

void Channel::FreeSsl::operator()(SSL* ssl) const {
  ::SSL_free(ssl);
}
void Channel::FreeSsl::operator()(SSL_CTX* context) const {
  ::SSL_CTX_free(context);
}

Result<void> Channel::start_tls(const std::string& name, const std::string& certificates) {
  // What came before could have been slipped in by somebody on the way.
  if (used_ != buffer_.size()) return broken("had more to say before TLS than it may");
  context_.reset(::SSL_CTX_new(::TLS_client_method()));
  if (!context_ || ::SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION) != 1)
    return tls_failed(nullptr);
  ::SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  if (!trust(context_.get(), certificates))
    return fail(Reason::unavailable, "sslrootcert holds no certificate that could be trusted",
                "name a file of PEM certificates");
  ssl_.reset(::SSL_new(context_.get()));
  if (!ssl_ || ::SSL_set_fd(ssl_.get(), socket_.get()) != 1) return tls_failed(nullptr);
  const bool named =
      is_address(name)
          ? ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl_.get()), name.c_str()) == 1
          : ::SSL_set1_host(ssl_.get(), name.c_str()) == 1 &&
                ::SSL_set_tlsext_host_name(ssl_.get(), name.c_str()) == 1;
  if (!named || ::SSL_connect(ssl_.get()) != 1) return tls_failed(ssl_.get());
  return {};
}

Result<void> Channel::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), 1 << 20);
    const ssize_t sent = ssl_ ? ::SSL_write(ssl_.get(), bytes.data(), static_cast<int>(size))
                              : ::send(socket_.get(), bytes.data(), size, MSG_NOSIGNAL);
    if (sent < 0 && !ssl_ && errno == EINTR) continue;
    if (sent <= 0) return broken("ended while it was asked");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<std::size_t> Channel::read_some(std::span<char> bytes) {
  for (;;) {
    const ssize_t size = ssl_ ? ::SSL_read(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                              : ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (size > 0) return static_cast<std::size_t>(size);
    if (size == 0 || ssl_) return broken("ended before the answer");
    if (errno == EAGAIN) return broken("brought no answer in time");
    if (errno != EINTR) return broken(std::string("failed: ") + std::strerror(errno));
  }
}

Result<void> Channel::read(std::span<char> bytes) {
  while (!bytes.empty()) {
    if (used_ == buffer_.size()) {
      buffer_.resize(kPiece);
      used_ = 0;
      const auto size = read_some(buffer_);
      buffer_.resize(size.value_or(0));
      if (!size) return std::unexpected(size.error());
    }
    const std::size_t size = std::min(bytes.size(), buffer_.size() - used_);
    std::memcpy(bytes.data(), buffer_.data() + used_, size);
    used_ += size;
    bytes = bytes.subspan(size);
  }
  return {};
}

}  // namespace sallyport
