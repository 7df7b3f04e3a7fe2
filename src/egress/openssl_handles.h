// What OpenSSL makes, freed by whoever holds it.
#pragma once

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace sallyport {

template <class T, void (*free)(T*)>
struct OpensslFree {
  void operator()(T* pointer) const { free(pointer); }
};
inline void free_bio_chain(BIO* bio) {
  BIO_free_all(bio);
}

using BioHandle = std::unique_ptr<BIO, OpensslFree<BIO, free_bio_chain>>;
using CertificateHandle = std::unique_ptr<X509, OpensslFree<X509, X509_free>>;
using KeyHandle = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY, EVP_PKEY_free>>;
using TlsContextHandle = std::unique_ptr<SSL_CTX, OpensslFree<SSL_CTX, SSL_CTX_free>>;
using TlsHandle = std::unique_ptr<SSL, OpensslFree<SSL, SSL_free>>;

// The last thing that went wrong, in OpenSSL's words, which is forgotten by this.
[[nodiscard]] inline std::string openssl_fault() {
  const unsigned long code = ERR_peek_last_error();
  const char* text = code != 0 ? ERR_reason_error_string(code) : nullptr;
  ERR_clear_error();
  return text != nullptr ? text : "for no known reason";
}

}  // namespace sallyport
