#include "egress/host_trust.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <climits>

namespace sallyport {
namespace {

// How many roots the store got. One that cannot be read is not trusted; the others still are.
std::size_t add_roots(X509_STORE* store, const std::string& text) {
  std::size_t count = 0;
  const BioHandle bio(
      BIO_new_mem_buf(text.data(), static_cast<int>(std::min<std::size_t>(text.size(), INT_MAX))));
  while (bio) {
    const CertificateHandle root(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (!root) {
      if (ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE) break;
      ERR_clear_error();
      continue;
    }
    if (X509_STORE_add_cert(store, root.get()) == 1) ++count;
  }
  ERR_clear_error();
  return count;
}

}  // namespace

Result<void> HostTrust::begin() {
  ERR_clear_error();
  TlsContextHandle context(SSL_CTX_new(TLS_client_method()));
  if (!context) return fail(Reason::internal, "TLS cannot be had: " + openssl_fault());
  SSL_CTX* const raw = context.get();
  static constexpr unsigned char kHttp11[] = "\x08http/1.1";
  if (SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION) != 1 ||
      SSL_CTX_set_alpn_protos(raw, kHttp11, sizeof kHttp11 - 1) != 0)
    return fail(Reason::internal, "TLS cannot be had: " + openssl_fault());
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // A resumed session would be one whose certificate was not looked at.
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  if (add_roots(SSL_CTX_get_cert_store(raw), roots_) == 0)
    return fail(Reason::unavailable, "this machine trusts no certificate authority",
                "install the package ca-certificates");
  roots_.clear();
  context_ = std::move(context);
  return {};
}

Result<TlsHandle> HostTrust::session_for(const HostName& name) {
  if (!context_)
    if (auto begun = begin(); !begun) return std::unexpected(std::move(begun.error()));
  ERR_clear_error();
  TlsHandle session(SSL_new(context_.get()));
  const char* const text = name.to_text().c_str();
  if (!session || SSL_set_tlsext_host_name(session.get(), text) != 1 ||
      SSL_set1_host(session.get(), text) != 1)
    return fail(Reason::internal, "TLS cannot be had: " + openssl_fault());
  SSL_set_hostflags(session.get(),
                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  SSL_set_connect_state(session.get());
  return session;
}

}  // namespace sallyport
