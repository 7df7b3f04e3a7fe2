#include "postgres/role.h"

#include "base/sha256.h"

namespace sallyport {

std::string postgres_role(const PostgresAddress& address, std::string_view tool,
                          std::string_view role) {
  constexpr std::size_t kLongest = 63, kDigits = 16;
  std::string name =
      address.user.empty() ? "sallyport_" + std::string(tool) : std::string(address.user);
  if (!role.empty()) name += "__" + std::string(role);
  if (name.size() <= kLongest) return name;
  // The server would cut it, and two of them might become one.
  const std::string digest = sha256_hex(name).substr(0, kDigits);
  return name.substr(0, kLongest - kDigits - 1) + "_" + digest;
}

std::string postgres_password(std::string_view secret, const PostgresAddress& address,
                              const std::string& role) {
  return hmac_sha256_hex(
      secret, "postgres\n" + address.host + "\n" + std::to_string(address.port) + "\n" + role);
}

}  // namespace sallyport
