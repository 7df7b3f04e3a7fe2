#include "credential/scram.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <array>
#include <optional>

#include "base/base64.h"
#include "base/parse.h"

namespace sallyport {
namespace {

constexpr int kIterations = 4096;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string hmac(std::string_view key, std::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(text), text.size(),
         reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  return digest;
}

std::string hash(std::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  ::SHA256(bytes_of(text), text.size(), reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

std::string salted(std::string_view password, std::string_view salt, int iterations) {
  std::string key(SHA256_DIGEST_LENGTH, '\0');
  ::PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()), bytes_of(salt),
                      static_cast<int>(salt.size()), iterations, ::EVP_sha256(),
                      static_cast<int>(key.size()), reinterpret_cast<unsigned char*>(key.data()));
  return key;
}

// The value of the next attribute, "x=VALUE".
std::optional<std::string_view> take_attribute(std::string_view& message, char name) {
  const std::string_view part = take(message, ',');
  if (part.size() < 2 || part[0] != name || part[1] != '=') return std::nullopt;
  return part.substr(2);
}

std::unexpected<Error> not_understood() {
  return fail(Reason::unavailable, "the server's proof of the password is not understood");
}

}  // namespace

ScramClient::ScramClient(std::string password, std::string nonce, Binding binding,
                         int most_iterations)
    : password_(std::move(password)),
      nonce_(std::move(nonce)),
      binding_(std::move(binding)),
      most_iterations_(most_iterations) {}

// The name is empty: the server takes the one that the connection began with.
std::string ScramClient::first_message() const {
  return binding_.header + "n=,r=" + nonce_;
}

Result<std::string> ScramClient::final_message(std::string_view server_first) {
  std::string_view rest = server_first;
  const auto nonce = take_attribute(rest, 'r');
  const auto salt_text = take_attribute(rest, 's');
  const auto count_text = take_attribute(rest, 'i');
  if (!nonce || !salt_text || !count_text) return not_understood();
  const auto salt = from_base64(*salt_text);
  const auto count = whole_number<int>(*count_text);
  if (!salt || !count || *count < 1 || *count > most_iterations_ || !nonce->starts_with(nonce_) ||
      nonce->size() == nonce_.size())
    return not_understood();

  const std::string key = salted(password_, *salt, *count);
  const std::string client_key = hmac(key, "Client Key");
  const std::string without_proof =
      "c=" + to_base64(binding_.header + binding_.channel) + ",r=" + std::string(*nonce);
  const std::string exchange = first_message().substr(binding_.header.size()) + "," +
                               std::string(server_first) + "," + without_proof;
  const std::string signature = hmac(hash(client_key), exchange);
  std::string proof = client_key;
  for (std::size_t i = 0; i < proof.size(); ++i)
    proof[i] = static_cast<char>(proof[i] ^ signature[i]);
  server_signature_ = hmac(hmac(key, "Server Key"), exchange);
  return without_proof + ",p=" + to_base64(proof);
}

Result<void> ScramClient::check_server(std::string_view server_final) const {
  std::string_view rest = server_final;
  const auto text = take_attribute(rest, 'v');
  const auto signature = text ? from_base64(*text) : std::nullopt;
  if (!signature || server_signature_.empty() || signature->size() != server_signature_.size() ||
      ::CRYPTO_memcmp(signature->data(), server_signature_.data(), signature->size()) != 0)
    return fail(Reason::unavailable,
                "the server does not know the password, and so it is not the one that is meant");
  return {};
}

std::string scram_verifier(std::string_view password, std::string_view salt) {
  const std::string key = salted(password, salt, kIterations);
  return "SCRAM-SHA-256$" + std::to_string(kIterations) + ":" + to_base64(salt) + "$" +
         to_base64(hash(hmac(key, "Client Key"))) + ":" + to_base64(hmac(key, "Server Key"));
}

}  // namespace sallyport
