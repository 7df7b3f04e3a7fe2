#include "audit/signing_key.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/parse.h"
#include "base/private_file.h"
#include "base/sha256.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::size_t kKeyBytes = 32, kSignatureBytes = 64, kHashBytes = 4;
constexpr std::string_view kName = "sallyport-audit", kPrivate = "PRIVATE+KEY+";
constexpr char kEd25519 = 1;
constexpr std::string_view kDash = "\xE2\x80\x94 ";  // an em dash and a blank
constexpr const char *kKeyFile = "audit-key", *kNewKeyFile = "audit-key.new";
constexpr const char* kPublicFile = "audit-key.pub";
constexpr std::size_t kLongestKeyText = 512;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string as_text(const unsigned char* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// What a note and a key are matched by.
std::string hash_of(std::string_view name, std::string_view key) {
  const Sha256 digest = sha256(std::string(name).append("\n").append(1, kEd25519).append(key));
  return as_text(digest.data(), kHashBytes);
}

std::string hex_of(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back("0123456789abcdef"[byte >> 4]);
    text.push_back("0123456789abcdef"[byte & 0xF]);
  }
  return text;
}

std::string encode(std::string_view name, std::string_view verifying, std::string_view key) {
  return std::string(name) + "+" + hex_of(hash_of(name, verifying)) + "+" +
         to_base64(std::string(1, kEd25519).append(key));
}

struct KeyText {
  std::string name, hash, key;
};

std::optional<KeyText> decode(std::string_view text) {
  KeyText parts;
  parts.name = take(text, '+');
  parts.hash = take(text, '+');
  const auto bytes = from_base64(text);
  if (parts.name.empty() || !bytes || bytes->size() != 1 + kKeyBytes || (*bytes)[0] != kEd25519)
    return std::nullopt;
  parts.key = bytes->substr(1);
  return parts;
}

std::optional<std::string> public_half(std::string_view seed) {
  const Key key(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes_of(seed), seed.size()),
      EVP_PKEY_free);
  unsigned char bytes[kKeyBytes];
  std::size_t size = sizeof(bytes);
  if (key == nullptr || EVP_PKEY_get_raw_public_key(key.get(), bytes, &size) != 1 ||
      size != kKeyBytes)
    return std::nullopt;
  return as_text(bytes, size);
}

std::string_view one_line(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

// A small file of the state directory; nothing: it is not there.
Result<std::optional<std::string>> read_small(int directory, const char* name) {
  const auto file = open_private_file(directory, name, O_RDONLY);
  if (!file) return std::unexpected(file.error());
  if (!file->valid()) return std::nullopt;
  std::string text(kLongestKeyText, '\0');
  const ssize_t size = ::pread(file->get(), text.data(), text.size(), 0);
  if (size < 0) return fail(Reason::unavailable, SysError{"read", name, errno});
  text.resize(static_cast<std::size_t>(size));
  return text;
}

// Whole or not at all, and there after a loss of power.
Result<void> write_small(int directory, const char* name, const std::string& text, mode_t mode) {
  const auto file = open_private_file(directory, kNewKeyFile, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file) return std::unexpected(file.error());
  if (::write(file->get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fchmod(file->get(), mode) != 0 || ::fsync(file->get()) != 0 ||
      ::renameat(directory, kNewKeyFile, directory, name) != 0 || ::fsync(directory) != 0) {
    const int err = errno;
    (void)::unlinkat(directory, kNewKeyFile, 0);
    return fail(Reason::unavailable, SysError{"write", name, err});
  }
  return {};
}

}  // namespace

Result<VerifyingKey> VerifyingKey::parse(std::string_view text) {
  const auto parts = decode(one_line(text));
  if (!parts || parts->hash != hex_of(hash_of(parts->name, parts->key)))
    return fail(Reason::argument, "this is not the public key of an audit log",
                "give the line of audit-key.pub: NAME+HASH+KEY");
  VerifyingKey key;
  key.name_ = parts->name;
  key.bytes_ = parts->key;
  return key;
}

std::string VerifyingKey::text() const {
  return encode(name_, bytes_, bytes_);
}

bool VerifyingKey::verifies(std::string_view text, std::string_view line) const {
  if (!line.starts_with(kDash) || !line.ends_with('\n')) return false;
  line.remove_prefix(kDash.size());
  line.remove_suffix(1);
  if (take(line, ' ') != name_) return false;
  const auto signature = from_base64(line);
  if (!signature || signature->size() != kHashBytes + kSignatureBytes ||
      signature->substr(0, kHashBytes) != hash_of(name_, bytes_))
    return false;
  const Key key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(bytes_), bytes_.size()),
      EVP_PKEY_free);
  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  return key != nullptr && context != nullptr &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes_of(*signature) + kHashBytes, kSignatureBytes,
                          bytes_of(text), text.size()) == 1;
}

Result<SigningKey> SigningKey::make() {
  std::string seed(kKeyBytes, '\0');
  if (::getrandom(seed.data(), seed.size(), 0) != static_cast<ssize_t>(seed.size()))
    return fail(Reason::unavailable, SysError{"getrandom", "", errno});
  const auto half = public_half(seed);
  if (!half) return fail(Reason::internal, "no Ed25519 key can be made");
  SigningKey key;
  key.seed_ = std::move(seed);
  key.verifying_.name_ = kName;
  key.verifying_.bytes_ = *half;
  return key;
}

Result<SigningKey> SigningKey::parse(std::string_view text) {
  constexpr std::string_view kHint = "put back a copy of it";
  text = one_line(text);
  const bool marked = text.starts_with(kPrivate);
  const auto parts = decode(marked ? text.substr(kPrivate.size()) : "");
  const auto half = parts ? public_half(parts->key) : std::nullopt;
  if (!half || parts->hash != hex_of(hash_of(parts->name, *half)))
    return fail(Reason::unavailable, "the key of the audit log is damaged", std::string(kHint));
  SigningKey key;
  key.seed_ = parts->key;
  key.verifying_.name_ = parts->name;
  key.verifying_.bytes_ = *half;
  return key;
}

std::string SigningKey::text() const {
  return std::string(kPrivate) + encode(verifying_.name_, verifying_.bytes_, seed_);
}

Result<std::string> SigningKey::sign(std::string_view text) const {
  const Key key(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes_of(seed_), seed_.size()),
      EVP_PKEY_free);
  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  unsigned char signature[kSignatureBytes];
  std::size_t size = sizeof(signature);
  if (key == nullptr || context == nullptr ||
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), signature, &size, bytes_of(text), text.size()) != 1 ||
      size != kSignatureBytes)
    return fail(Reason::internal, "a checkpoint cannot be signed");
  return std::string(kDash) + verifying_.name_ + " " +
         to_base64(hash_of(verifying_.name_, verifying_.bytes_) + as_text(signature, size)) + "\n";
}

Result<SigningKey> open_signing_key(int directory) {
  const auto own = read_small(directory, kKeyFile);
  if (!own) return std::unexpected(own.error());
  const auto shown = read_small(directory, kPublicFile);
  if (!shown) return std::unexpected(shown.error());
  if (!*own && *shown)
    return fail(Reason::unavailable, "there is an audit-key.pub, but its audit-key is gone",
                "put audit-key back; or move audit-key.pub and the directory audit away, to begin "
                "a new log with a new key");
  auto key = *own ? SigningKey::parse(**own) : SigningKey::make();
  if (!key) return key;
  if (!*own)
    if (auto written = write_small(directory, kKeyFile, key->text() + "\n", 0600); !written)
      return std::unexpected(std::move(written.error()));
  if (!*shown) {
    if (auto written = write_small(directory, kPublicFile, key->verifying().text() + "\n", 0644);
        !written)
      return std::unexpected(std::move(written.error()));
  } else if (one_line(**shown) != key->verifying().text()) {
    return fail(Reason::unavailable, "audit-key and audit-key.pub do not belong together",
                "put back the pair that the log was written with");
  }
  return key;
}

Result<VerifyingKey> read_verifying_key(int directory) {
  const auto text = read_small(directory, kPublicFile);
  if (!text) return std::unexpected(text.error());
  if (!*text)
    return fail(Reason::unavailable, "there is no audit-key.pub in the state directory",
                "name the key with --key");
  return VerifyingKey::parse(**text);
}

}  // namespace sallyport
