// Certificates for tests, made as they are needed.
#pragma once

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <vector>

namespace sallyport {

struct TestIdentity {
  X509* certificate = nullptr;
  EVP_PKEY* key = nullptr;
  TestIdentity() = default;
  TestIdentity(const TestIdentity&) = delete;
  TestIdentity& operator=(const TestIdentity&) = delete;
  ~TestIdentity() {
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
};

// A certificate of `names`, by `issuer` or by itself.
inline std::unique_ptr<TestIdentity> make_identity(const std::vector<std::string>& names,
                                                   const TestIdentity* issuer = nullptr,
                                                   long from = -3600, long to = 3600) {
  auto made = std::make_unique<TestIdentity>();
  made->key = EVP_EC_gen("P-256");
  X509* x = made->certificate = X509_new();
  X509_set_version(x, 2);
  static long serial = 1;
  ASN1_INTEGER_set(X509_get_serialNumber(x), serial++);
  X509_gmtime_adj(X509_getm_notBefore(x), from);
  X509_gmtime_adj(X509_getm_notAfter(x), to);
  X509_set_pubkey(x, made->key);
  for (const std::string& name : names)
    X509_NAME_add_entry_by_NID(X509_get_subject_name(x), NID_commonName, MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(name.data()),
                               static_cast<int>(name.size()), -1, 0);
  const TestIdentity& by = issuer != nullptr ? *issuer : *made;
  X509_set_issuer_name(x, X509_get_subject_name(by.certificate));
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, by.certificate, x, nullptr, nullptr, 0);
  if (issuer == nullptr) {
    X509_EXTENSION* extension =
        X509V3_EXT_conf_nid(nullptr, &context, NID_basic_constraints, "critical,CA:TRUE");
    X509_add_ext(x, extension, -1);
    X509_EXTENSION_free(extension);
  }
  EXPECT_GT(X509_sign(x, by.key, EVP_sha256()), 0);
  return made;
}

template <class Write>
std::string pem(Write write) {
  BIO* bio = BIO_new(BIO_s_mem());
  write(bio);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}
inline std::string certificate_pem(const TestIdentity& identity) {
  return pem([&](BIO* bio) { PEM_write_bio_X509(bio, identity.certificate); });
}
inline std::string key_pem(const TestIdentity& identity) {
  return pem([&](BIO* bio) {
    PEM_write_bio_PrivateKey(bio, identity.key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

}  // namespace sallyport
