#include "egress/authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace sallyport {
namespace {

using testing::HasSubstr;
using testing::Not;

HostName host(std::string_view text) {
  return *HostName::parse(text);
}

std::unique_ptr<Authority> authority_for(std::initializer_list<const char*> hosts) {
  std::vector<HostPattern> patterns;
  for (const char* text : hosts)
    patterns.push_back(*HostPattern::parse(text));
  auto made = Authority::make(patterns);
  EXPECT_TRUE(made);
  return std::move(*made);
}

CertificateHandle from_pem(const std::string& text) {
  const BioHandle bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  return CertificateHandle(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

// What a strict client that trusts only `root` says about the certificate of a server.
std::string verified(const Authority& root, X509* leaf, const char* name) {
  const auto trusted = from_pem(root.certificate());
  const std::unique_ptr<X509_STORE, OpensslFree<X509_STORE, X509_STORE_free>> store(
      X509_STORE_new());
  X509_STORE_add_cert(store.get(), trusted.get());
  const std::unique_ptr<X509_STORE_CTX, OpensslFree<X509_STORE_CTX, X509_STORE_CTX_free>> check(
      X509_STORE_CTX_new());
  X509_STORE_CTX_init(check.get(), store.get(), leaf, nullptr);
  X509_STORE_CTX_set_default(check.get(), "ssl_server");
  X509_VERIFY_PARAM* rules = X509_STORE_CTX_get0_param(check.get());
  X509_VERIFY_PARAM_set1_host(rules, name, 0);
  X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_X509_STRICT);
  X509_verify_cert(check.get());
  return X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get()));
}

std::string shown(X509* certificate) {
  const BioHandle bio(BIO_new(BIO_s_mem()));
  X509_print(bio.get(), certificate);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

TEST(Authority, VouchesForTheInspectedHosts) {
  const auto authority = authority_for({"api.example.com", "*.below.example.org"});
  for (const char* name : {"api.example.com", "a.below.example.org", "a.b.below.example.org"}) {
    const auto leaf = authority->leaf_for(host(name));
    ASSERT_TRUE(leaf);
    EXPECT_EQ(verified(*authority, *leaf, name), "ok") << name;
  }
}

TEST(Authority, ItsWordIsWorthNothingForOtherNames) {
  const auto authority = authority_for({"api.example.com"});
  const auto other = authority->leaf_for(host("bank.example.org"));
  ASSERT_TRUE(other);
  EXPECT_EQ(verified(*authority, *other, "bank.example.org"), "permitted subtree violation");
  const auto parent = authority->leaf_for(host("example.com"));
  ASSERT_TRUE(parent);
  EXPECT_EQ(verified(*authority, *parent, "example.com"), "permitted subtree violation");
  const auto leaf = authority->leaf_for(host("api.example.com"));
  ASSERT_TRUE(leaf);
  EXPECT_EQ(verified(*authority, *leaf, "deep.api.example.com"), "hostname mismatch");
}

TEST(Authority, EachIsAnother) {
  const auto one = authority_for({"api.example.com"}), two = authority_for({"api.example.com"});
  EXPECT_NE(one->certificate(), two->certificate());
  const auto leaf = one->leaf_for(host("api.example.com"));
  ASSERT_TRUE(leaf);
  EXPECT_NE(verified(*two, *leaf, "api.example.com"), "ok");
  const auto root_of_one = from_pem(one->certificate()), root_of_two = from_pem(two->certificate());
  EXPECT_NE(X509_NAME_cmp(X509_get_subject_name(root_of_one.get()),
                          X509_get_subject_name(root_of_two.get())),
            0);
  EXPECT_NE(ASN1_INTEGER_cmp(X509_get0_serialNumber(root_of_one.get()),
                             X509_get0_serialNumber(root_of_two.get())),
            0);
}

TEST(Authority, MayNotMakeAuthoritiesAndLastsADay) {
  const auto authority = authority_for({"api.example.com"});
  const auto root = from_pem(authority->certificate());
  EXPECT_EQ(X509_get_pathlen(root.get()), 0);
  EXPECT_EQ(X509_get_key_usage(root.get()), KU_KEY_CERT_SIGN | KU_CRL_SIGN);
  EXPECT_THAT(shown(root.get()), HasSubstr("X509v3 Name Constraints: critical"));
  for (X509* certificate : {root.get(), *authority->leaf_for(host("api.example.com"))}) {
    int days = 0, seconds = 0;
    ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(certificate),
                   X509_get0_notAfter(certificate));
    EXPECT_EQ(days * 86400 + seconds, 25 * 3600);
    EXPECT_LT(X509_cmp_current_time(X509_get0_notBefore(certificate)), 0);
  }
}

TEST(Authority, ShowsNothingButACertificate) {
  const auto authority = authority_for({"api.example.com"});
  EXPECT_TRUE(authority->certificate().starts_with("-----BEGIN CERTIFICATE-----\n"));
  EXPECT_TRUE(authority->certificate().ends_with("-----END CERTIFICATE-----\n"));
  EXPECT_THAT(authority->certificate(), Not(HasSubstr("PRIVATE")));
}

TEST(Authority, RemembersACertificateAndABoundedNumberOfThem) {
  const auto authority = authority_for({"*.example.com"});
  X509* const first = *authority->leaf_for(host("a.example.com"));
  EXPECT_EQ(*authority->leaf_for(host("a.example.com")), first);
  for (std::size_t i = 0; i < 2 * Authority::kMostLeaves; ++i) {
    const std::string name = "n" + std::to_string(i) + ".example.com";
    const auto leaf = authority->leaf_for(host(name));
    ASSERT_TRUE(leaf);
    if (i % 50 == 0) EXPECT_EQ(verified(*authority, *leaf, name.c_str()), "ok");
  }
}

TEST(Authority, CanBeHadForTheLongestNameAndForManyHosts) {
  std::string name;
  while (name.size() + 61 + 11 <= 253)
    name += std::string(60, 'a') + ".";
  name += "example.com";
  std::vector<HostPattern> hosts;
  for (int i = 0; i < 199; ++i)
    hosts.push_back(*HostPattern::parse("h" + std::to_string(i) + "." + name.substr(122)));
  hosts.push_back(*HostPattern::parse(name));
  const auto authority = Authority::make(hosts);
  ASSERT_TRUE(authority);
  const auto leaf = (*authority)->leaf_for(host(name));
  ASSERT_TRUE(leaf);
  EXPECT_EQ(verified(**authority, *leaf, name.c_str()), "ok");
}

}  // namespace
}  // namespace sallyport
