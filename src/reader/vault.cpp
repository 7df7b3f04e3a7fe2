#include "reader/vault.h"

#include <cstdlib>

#include "base/file.h"
#include "base/json.h"
#include "egress/dial.h"
#include "egress/host_trust.h"
#include "egress/system_roots.h"
#include "egress/tls_link.h"
#include "egress/watchdog.h"
#include "fetch/body.h"
#include "fetch/exchange.h"
#include "reader/secret_file.h"

namespace sallyport {
namespace {

namespace asio = boost::asio;
constexpr std::chrono::seconds kPatience{10};  // from the connection on

std::string text_of(const char* path) {
  return read_file(path).value_or(std::string());
}

}  // namespace

Vault::Vault(asio::io_context& io, VaultSettings settings)
    : io_(io),
      settings_(std::move(settings)),
      lookups_(read_lookup_settings(text_of("/etc/resolv.conf"), text_of("/etc/hosts"))) {
  if (!settings_.token.starts_with("env:")) return;
  if (const char* value = ::getenv(settings_.token.c_str() + 4)) token_ = value;
}

Reading Vault::token() const {
  // Whoever renews the token of a file writes a new one: it is read each time.
  if (settings_.token.starts_with("file:")) return read_secret_file(settings_.token.substr(5));
  return check_secret(token_, "its variable");
}

Task<Vault::Reply> Vault::exchange(Link& link, std::string text) {
  const bool written = co_await link.write(text);
  wipe(text);
  if (!written) co_return Reply{0, "the connection broke off"};
  BufferedLink buffered(link);
  std::size_t searched = 0;
  auto end = head_end(buffered.pending, searched);
  while (!end) {
    if (buffered.pending.size() > kLongestHead || !co_await buffered.read_more())
      co_return Reply{0, "there is no whole answer"};
    end = head_end(buffered.pending, searched);
  }
  ResponseHead head;
  if (const auto fault =
          parse_response_head(std::string_view(buffered.pending).substr(0, *end), false, head);
      !fault.empty())
    co_return Reply{0, "the answer cannot be read: " + std::string(fault)};
  buffered.drop(*end);
  FetchBody body(head.framing, kLargestVaultAnswer);
  for (;;) {
    if (!body.add(buffered.pending)) co_return Reply{0, "the chunks of the answer cannot be read"};
    wipe(buffered.pending);
    if (body.is_enough()) co_return Reply{0, "the answer is too long"};
    if (body.is_whole()) break;
    if (co_await buffered.read_more()) continue;
    if (body.ends_with_connection() && !link.failed()) break;
    co_return Reply{0, "the answer is not whole"};
  }
  co_return Reply{head.status, body.take()};
}

Task<Vault::Reply> Vault::ask_at(const Url& url, std::string text) {
  std::vector<IpAddress> addresses;
  const auto* name = std::get_if<HostName>(&url.host());
  if (name == nullptr) {
    addresses.push_back(std::get<IpAddress>(url.host()));  // of the loopback, as the policy has it
  } else {
    auto found = co_await look_up(*name, lookups_);
    if (!found) co_return Reply{0, found.error().message};
    addresses = std::move(*found);
    if (auto why = refuse_addresses(addresses, {.internal = settings_.internal}))
      co_return Reply{0, *why + "; only with internal: true may it lead there"};
  }
  auto dialled = co_await dial_any(io_, addresses, url.port(), [] { return false; });
  if (!dialled) co_return Reply{0, dialled.error().message};
  const Watchdog watchdog(io_, *dialled->link, kPatience);
  if (name == nullptr) co_return co_await exchange(*dialled->link, std::move(text));

  HostTrust trust(settings_.ca.empty() ? system_roots() : text_of(settings_.ca.c_str()));
  auto session = trust.session_for(*name);
  if (!session) co_return Reply{0, session.error().message};
  TlsLink link(*dialled->link, std::move(*session));
  if (auto trusted = co_await link.greet(); !trusted) co_return Reply{0, trusted.error().message};
  co_return co_await exchange(link, std::move(text));
}

Task<Vault::Reply> Vault::ask(std::string method, std::string path, std::string body) {
  const auto url =
      Url::parse(settings_.address + "/v1/" + path, {.allow_ip = true, .allow_internal = true});
  if (!url) co_return Reply{0, url.error().message};
  Reading token = this->token();
  if (token.value.empty()) co_return Reply{0, "of the token, " + token.why};
  FetchRequest request{.method = std::move(method),
                       .url = *url,
                       .headers = {{"X-Vault-Token", token.value}, {"X-Vault-Request", "true"}},
                       .body = {}};
  if (!settings_.name_space.empty())
    request.headers.emplace_back("X-Vault-Namespace", settings_.name_space);
  if (!body.empty()) request.body = std::move(body);
  std::string text = request_text(request);
  wipe(token.value);
  wipe(request.headers.front().second);
  co_return co_await ask_at(*url, std::move(text));
}

Task<Reading> Vault::read(std::string from, VaultLease& lease) {
  const std::size_t hash = from.find('#');
  Reply reply = co_await ask("GET", from.substr(0, hash), "");
  if (reply.status == 0) co_return no_secret("Vault cannot be asked: " + reply.body, false);
  if (reply.status != 200) {
    const std::string complaint = vault_complaint(reply.body);
    // That it is not there, or not for us, is an answer; anything else is a fault.
    const bool gone = reply.status == 403 || reply.status == 404;
    co_return no_secret("Vault answers " + std::to_string(reply.status) +
                            (complaint.empty() ? "" : ": " + complaint),
                        gone);
  }
  auto secret = parse_vault_secret(reply.body, std::string_view(from).substr(hash + 1));
  wipe(reply.body);
  lease = std::move(secret.lease);
  if (secret.value.empty()) co_return no_secret(std::move(secret.why), true);
  co_return check_secret(std::move(secret.value), "its value in Vault");
}

Task<std::chrono::seconds> Vault::renew(VaultLease lease) {
  const std::string body =
      json::serialize(json::object{{"lease_id", lease.id}, {"increment", lease.duration.count()}});
  const Reply reply = co_await ask("PUT", "sys/leases/renew", body);
  if (reply.status != 200) co_return std::chrono::seconds{};
  const auto renewed = parse_vault_lease(reply.body);
  // Near the greatest time that Vault allows, what it still gives is hardly worth having.
  if (!renewed || renewed->id != lease.id || renewed->duration * 2 < lease.duration)
    co_return std::chrono::seconds{};
  co_return renewed->duration;
}

Task<void> Vault::revoke(std::string lease_id) {
  const std::string body = json::serialize(json::object{{"lease_id", lease_id}});
  co_await ask("PUT", "sys/leases/revoke", body);
}

}  // namespace sallyport
