#include "reader/vault_answer.h"

#include <algorithm>

#include "base/json.h"
#include "base/parse.h"
#include "base/text.h"
#include "reader/reading.h"

namespace sallyport {
namespace {

std::expected<json::object, std::string> parse_object(std::string_view body) {
  auto value = parse_json(body, {.max_depth = 32, .max_bytes = kLargestVaultAnswer});
  // The sentence of the parser would show where, and what stands there may be secret.
  if (!value || !value->is_object()) return std::unexpected("the answer of Vault is not an object");
  return std::move(value->as_object());
}

const json::object* object_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr ? value->if_object() : nullptr;
}

std::expected<VaultLease, std::string> lease_of(const json::object& answer) {
  VaultLease lease;
  if (const json::value* id = answer.if_contains("lease_id"); id != nullptr && id->is_string())
    lease.id = id->as_string();
  if (lease.id.empty()) return lease;
  const json::value* duration = answer.if_contains("lease_duration");
  if (lease.id.size() > 1024 || duration == nullptr || !duration->is_int64() ||
      duration->as_int64() <= 0)
    return std::unexpected("Vault gives a lease that has no end");
  lease.duration =
      std::chrono::seconds(std::min<std::int64_t>(duration->as_int64(), kLongestLease.count()));
  const json::value* renewable = answer.if_contains("renewable");
  lease.renewable = renewable != nullptr && renewable->is_bool() && renewable->as_bool();
  return lease;
}

}  // namespace

VaultSecret parse_vault_secret(std::string_view body, std::string_view fields) {
  VaultSecret secret;
  const auto fault = [&](std::string why) {
    wipe(secret.value);
    secret.why = std::move(why);
    return std::move(secret);
  };
  const auto answer = parse_object(body);
  if (!answer) return fault(answer.error());
  auto lease = lease_of(*answer);
  if (!lease) return fault(lease.error());
  secret.lease = std::move(*lease);
  const json::object* data = object_in(*answer, "data");
  if (data == nullptr) return fault("the answer of Vault has no data");
  if (object_in(*data, "metadata") != nullptr) {
    data = object_in(*data, "data");
    if (data == nullptr) return fault("the secret is deleted in Vault");
  }
  for (std::string_view rest = fields; !rest.empty();) {
    const std::string_view field = take(rest, ':');
    const json::value* value = data->if_contains(field);
    if (value == nullptr || !value->is_string())
      return fault("the secret in Vault has no text called " + quoted(field));
    secret.value.append(value->as_string());
    if (!rest.empty()) secret.value.push_back(':');
  }
  if (secret.value.empty()) secret.why = "its value in Vault is empty";
  return secret;
}

std::expected<VaultLease, std::string> parse_vault_lease(std::string_view body) {
  const auto answer = parse_object(body);
  if (!answer) return std::unexpected(answer.error());
  auto lease = lease_of(*answer);
  if (lease && lease->id.empty()) return std::unexpected("Vault renews a lease without a name");
  return lease;
}

std::string vault_complaint(std::string_view body) {
  const auto answer = parse_object(body);
  if (!answer) return {};
  const json::value* errors = answer->if_contains("errors");
  const json::array* list = errors != nullptr ? errors->if_array() : nullptr;
  if (list == nullptr || list->empty() || !list->front().is_string()) return {};
  return plain_words(std::string_view(list->front().as_string()));
}

}  // namespace sallyport
