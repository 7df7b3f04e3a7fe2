#include "http/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <algorithm>
#include <climits>
#include <string_view>

#include "base/text.h"
#include "http/server.h"

namespace sallyport {
namespace {

template <class T, void (*free)(T*)>
struct Freed {
  void operator()(T* pointer) const { free(pointer); }
};
void free_bio(BIO* bio) {
  BIO_free_all(bio);
}
using Bio = std::unique_ptr<BIO, Freed<BIO, free_bio>>;
using Certificate = std::unique_ptr<X509, Freed<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;
using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX, SSL_CTX_free>>;
using Ssl = std::unique_ptr<SSL, Freed<SSL, SSL_free>>;

std::string last_fault() {
  const unsigned long code = ERR_get_error();
  const char* text = code != 0 ? ERR_reason_error_string(code) : nullptr;
  ERR_clear_error();
  return text != nullptr ? text : "not understood";
}

std::unexpected<Error> not_usable(std::string_view what, std::string_view fault) {
  return fail(Reason::argument,
              "The " + std::string(what) + " cannot be used: " + escape_for_terminal(fault) + ".",
              "Give it as PEM; the key without a password.");
}

int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*context*/) {
  return 0;
}

// Every certificate of a PEM text, in its order. Empty: there is none, or a broken one.
std::vector<Certificate> certificates(const std::string& pem) {
  std::vector<Certificate> found;
  const Bio bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(std::min<std::size_t>(pem.size(), INT_MAX))));
  while (bio) {
    Certificate next(PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr));
    if (!next) break;
    found.push_back(std::move(next));
  }
  // The end of the text is reported as a missing begin; anything else is a broken certificate.
  if (!found.empty() && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE)
    ERR_clear_error();
  else
    found.clear();
  return found;
}

// A client that offers protocols and not this one must not be talked to as if it had: it would be
// another protocol's client that was led here.
int choose_protocol(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* length,
                    const unsigned char* offered, unsigned offered_length, void* /*context*/) {
  static constexpr unsigned char kHttp11[] = "\x08http/1.1";
  unsigned char* out = nullptr;
  if (SSL_select_next_proto(&out, length, kHttp11, sizeof kHttp11 - 1, offered, offered_length) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = out;
  return SSL_TLSEXT_ERR_OK;
}

// Empty unless there is exactly one, of printable characters: "admin\0.example.com" and a second
// name are ways to be read as somebody else.
std::string common_name(X509* certificate) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0) return {};
  unsigned char* bytes = nullptr;
  const int size =
      ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size < 0) return {};
  const std::string name(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return escape_for_terminal(name) == name ? name : std::string();
}

class TlsStream final : public ByteStream {
 public:
  TlsStream(Ssl ssl, int socket) : ssl_(std::move(ssl)), socket_(socket) {}

  Greeting greet() override {
    ERR_clear_error();
    const int result = SSL_accept(ssl_.get());
    if (result == 1) return {.done = true};
    return {.want = want(result)};
  }

  Progress read(std::span<char> room) override {
    ERR_clear_error();
    std::size_t count = 0;
    const int result = SSL_read_ex(ssl_.get(), room.data(), room.size(), &count);
    return result == 1 ? Progress{.bytes = count} : Progress{.want = want(result)};
  }

  Progress write(std::string_view bytes) override {
    ERR_clear_error();
    std::size_t count = 0;
    const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count);
    return result == 1 ? Progress{.bytes = count} : Progress{.want = want(result)};
  }

  void finish() override {
    ERR_clear_error();
    if (!failed_ && SSL_is_init_finished(ssl_.get()) == 1) SSL_shutdown(ssl_.get());
    ::shutdown(socket_, SHUT_WR);
  }

  bool may_hold_bytes() const override { return SSL_has_pending(ssl_.get()) == 1; }

  std::string client_certificate() const override {
    const Certificate certificate(SSL_get1_peer_certificate(ssl_.get()));
    if (!certificate || SSL_get_verify_result(ssl_.get()) != X509_V_OK) return {};
    return common_name(certificate.get());
  }

 private:
  Want want(int result) {
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return Want::read;
      case SSL_ERROR_WANT_WRITE:
        return Want::write;
      case SSL_ERROR_ZERO_RETURN:
        return Want::nothing;
      default:
        failed_ = true;
        return Want::nothing;
    }
  }

  Ssl ssl_;
  int socket_;
  bool failed_ = false;
};

class OpensslContext final : public TlsContext {
 public:
  explicit OpensslContext(Context context) : context_(std::move(context)) {}

  std::unique_ptr<ByteStream> stream(int socket) const override {
    Ssl ssl(SSL_new(context_.get()));
    if (!ssl || SSL_set_fd(ssl.get(), socket) != 1) return nullptr;
    return std::make_unique<TlsStream>(std::move(ssl), socket);
  }

 private:
  Context context_;
};

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::create(const TlsSettings& settings) {
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  ERR_clear_error();
  Context context(SSL_CTX_new(TLS_server_method()));
  if (!context) return not_usable("TLS of OpenSSL", last_fault());
  SSL_CTX* const raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                               SSL_OP_CIPHER_SERVER_PREFERENCE);
  // A resumed session would be taken for one whose certificate was looked at.
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(raw, 0);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(raw, choose_protocol, nullptr);

  const auto chain = certificates(settings.certificate);
  if (chain.empty()) return not_usable("certificate", last_fault());
  if (SSL_CTX_use_certificate(raw, chain.front().get()) != 1)
    return not_usable("certificate", last_fault());
  for (std::size_t i = 1; i < chain.size(); ++i)
    if (SSL_CTX_add1_chain_cert(raw, chain[i].get()) != 1)
      return not_usable("chain of the certificate", last_fault());

  const Bio bio(BIO_new_mem_buf(
      settings.key.data(), static_cast<int>(std::min<std::size_t>(settings.key.size(), INT_MAX))));
  const Key key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr) : nullptr);
  if (!key || SSL_CTX_use_PrivateKey(raw, key.get()) != 1 || SSL_CTX_check_private_key(raw) != 1)
    return not_usable("key of the certificate", last_fault());

  if (settings.client_ca.empty()) {
    if (settings.require_certificate)
      return fail(Reason::argument, "Client certificates are required, but no authority is named.",
                  "Name the authority whose certificates are taken.");
  } else {
    const auto authorities = certificates(settings.client_ca);
    if (authorities.empty()) return not_usable("authority of client certificates", last_fault());
    X509_STORE* const store = SSL_CTX_get_cert_store(raw);
    for (const auto& authority : authorities)
      if (X509_STORE_add_cert(store, authority.get()) != 1 ||
          SSL_CTX_add_client_CA(raw, authority.get()) != 1)
        return not_usable("authority of client certificates", last_fault());
    SSL_CTX_set_verify(
        raw, SSL_VERIFY_PEER | (settings.require_certificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
        nullptr);
  }
  return std::make_shared<const OpensslContext>(std::move(context));
}

}  // namespace sallyport
