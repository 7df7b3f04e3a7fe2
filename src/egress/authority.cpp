#include "egress/authority.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <array>

namespace sallyport {
namespace {

constexpr long kValidBefore = 60L * 60;         // for clocks that are behind
constexpr long kValidAfter = 24L * 60 * 60;     // no cell lives as long
constexpr std::size_t kLongestCommonName = 64;  // of X.509

std::unexpected<Error> not_made(std::string_view what) {
  return fail(Reason::internal,
              std::string(what) + " cannot be made: OpenSSL failed (" + openssl_fault() + ")");
}

bool set_serial(X509* certificate) {
  std::array<unsigned char, 16> bytes;
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7F) | 0x40);  // positive, and of one length
  const std::unique_ptr<BIGNUM, OpensslFree<BIGNUM, BN_free>> number(
      BN_bin2bn(bytes.data(), bytes.size(), nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_name(X509_NAME* name, std::string_view common_name) {
  const auto add = [name](const char* field, std::string_view text) {
    return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(text.data()),
                                      static_cast<int>(text.size()), -1, 0) == 1;
  };
  return add("O", "Sallyport") && add("CN", common_name);
}

bool set_validity(X509* certificate) {
  return X509_gmtime_adj(X509_getm_notBefore(certificate), -kValidBefore) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), kValidAfter) != nullptr;
}

bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* made = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  const bool added = made != nullptr && X509_add_ext(certificate, made, -1) == 1;
  X509_EXTENSION_free(made);
  return added;
}

// A host's name below the permitted one is permitted too: that is as narrow as a constraint can be.
std::string constraints(std::span<const HostPattern> hosts) {
  std::string text =
      "critical,excluded;IP:0.0.0.0/0.0.0.0,excluded;IP:0:0:0:0:0:0:0:0/0:0:0:0:0:0:0:0";
  for (const HostPattern& host : hosts)
    text.append(",permitted;DNS:").append(host.base().to_text());
  return text;
}

// A name that no other authority has: a client that knows two must not take one for the other.
std::string authority_name() {
  std::array<unsigned char, 8> bytes;
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return {};
  std::string text = "Sallyport cell ";
  for (const unsigned char byte : bytes)
    text.append({"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 0xF]});
  return text;
}

CertificateHandle make_root(EVP_PKEY* key, std::span<const HostPattern> hosts) {
  CertificateHandle made(X509_new());
  X509* const raw = made.get();
  const std::string name = authority_name();
  if (!made || name.empty()) return nullptr;
  const bool done = X509_set_version(raw, X509_VERSION_3) == 1 && set_serial(raw) &&
                    set_validity(raw) && set_name(X509_get_subject_name(raw), name) &&
                    X509_set_issuer_name(raw, X509_get_subject_name(raw)) == 1 &&
                    X509_set_pubkey(raw, key) == 1 &&
                    add_extension(raw, raw, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                    add_extension(raw, raw, NID_key_usage, "critical,keyCertSign,cRLSign") &&
                    add_extension(raw, raw, NID_subject_key_identifier, "hash") &&
                    add_extension(raw, raw, NID_authority_key_identifier, "keyid:always") &&
                    add_extension(raw, raw, NID_name_constraints, constraints(hosts)) &&
                    X509_sign(raw, key, EVP_sha256()) > 0;
  return done ? std::move(made) : nullptr;
}

std::string to_pem(X509* certificate) {
  const BioHandle bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509(bio.get(), certificate) != 1) return {};
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

int choose_protocol(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* length,
                    const unsigned char* offered, unsigned offered_length, void* /*context*/) {
  static constexpr unsigned char kSpoken[] =
      "\x08http/1.1"
      "\x0Apostgresql";
  unsigned char* out = nullptr;
  if (SSL_select_next_proto(&out, length, kSpoken, sizeof kSpoken - 1, offered, offered_length) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = out;
  return SSL_TLSEXT_ERR_OK;
}

TlsContextHandle make_context() {
  TlsContextHandle context(SSL_CTX_new(TLS_server_method()));
  if (!context) return nullptr;
  SSL_CTX* const raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(raw, 0);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(raw, choose_protocol, nullptr);
  return context;
}

}  // namespace

Result<std::unique_ptr<Authority>> Authority::make(std::span<const HostPattern> hosts) {
  ERR_clear_error();
  std::unique_ptr<Authority> made(new Authority);
  made->key_.reset(EVP_EC_gen("P-256"));
  made->leaf_key_.reset(EVP_EC_gen("P-256"));
  if (!made->key_ || !made->leaf_key_) return not_made("the key of the cell's authority");
  made->certificate_ = make_root(made->key_.get(), hosts);
  if (made->certificate_) made->certificate_text_ = to_pem(made->certificate_.get());
  if (made->certificate_text_.empty()) return not_made("the certificate of the cell's authority");
  made->context_ = make_context();
  if (!made->context_) return not_made("the TLS of the cell");
  return made;
}

Result<X509*> Authority::leaf_for(const HostName& name) {
  if (const auto known = leaves_.find(name); known != leaves_.end()) return known->second.get();
  ERR_clear_error();
  CertificateHandle leaf(X509_new());
  X509* const raw = leaf.get();
  X509* const issuer = certificate_.get();
  const std::string& text = name.to_text();
  const bool done =
      raw != nullptr && X509_set_version(raw, X509_VERSION_3) == 1 && set_serial(raw) &&
      set_name(X509_get_subject_name(raw),
               text.size() <= kLongestCommonName ? text : std::string_view("inspected host")) &&
      X509_set_issuer_name(raw, X509_get_subject_name(issuer)) == 1 &&
      X509_set1_notBefore(raw, X509_get0_notBefore(issuer)) == 1 &&
      X509_set1_notAfter(raw, X509_get0_notAfter(issuer)) == 1 &&
      X509_set_pubkey(raw, leaf_key_.get()) == 1 &&
      add_extension(raw, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
      add_extension(raw, issuer, NID_key_usage, "critical,digitalSignature") &&
      add_extension(raw, issuer, NID_ext_key_usage, "serverAuth") &&
      add_extension(raw, issuer, NID_subject_alt_name, "DNS:" + text) &&
      add_extension(raw, issuer, NID_subject_key_identifier, "hash") &&
      add_extension(raw, issuer, NID_authority_key_identifier, "keyid:always") &&
      X509_sign(raw, key_.get(), EVP_sha256()) > 0;
  if (!done) return not_made("a certificate for " + text);
  // Below "*.name" a cell can think of any number of them.
  if (leaves_.size() >= kMostLeaves) leaves_.clear();
  return leaves_.emplace(name, std::move(leaf)).first->second.get();
}

Result<TlsHandle> Authority::session_for(const HostName& name) {
  const auto leaf = leaf_for(name);
  if (!leaf) return std::unexpected(leaf.error());
  ERR_clear_error();
  TlsHandle session(SSL_new(context_.get()));
  if (!session || SSL_use_certificate(session.get(), *leaf) != 1 ||
      SSL_use_PrivateKey(session.get(), leaf_key_.get()) != 1)
    return not_made("the TLS of a connection");
  SSL_set_accept_state(session.get());
  return session;
}

}  // namespace sallyport
