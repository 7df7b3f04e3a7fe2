#include "base/text.h"
#include "egress/connection.h"
#include "egress/http_head.h"
#include "egress/watchdog.h"

namespace sallyport {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);
constexpr char kSocks = 5;

NetworkEvent refused(std::string host, std::uint16_t port, std::string why) {
  return {.kind = "connection",
          .verdict = "refused",
          .host = std::move(host),
          .port = port,
          .why = std::move(why)};
}

// Where a proxy's client wants to be connected to, or why it cannot.
Result<Meeting> find_meeting(const NetworkMap& map, std::string_view host, std::uint16_t port) {
  auto name = HostName::parse(host);
  if (!name) return std::unexpected(std::move(name.error()));
  const auto rules = map.rules_for(*name, port);
  if (rules.empty())
    return fail(Reason::permission,
                "no rule allows " + name->to_text() + ":" + std::to_string(port));
  return Meeting{.port = port, .scheme = rules.front()->scheme, .name = *name, .address = 0};
}

Task<bool> has(BufferedLink& client, std::size_t bytes) {
  while (client.pending.size() < bytes)
    if (!co_await client.read_more()) co_return false;
  co_return true;
}

// RFC 1928, without authentication, CONNECT, and names only: an address would be one that nobody
// has looked at.
Task<std::optional<Meeting>> greet_socks(ServedCell& cell, BufferedLink& client) {
  constexpr std::string_view kNoMethod("\x05\xff", 2), kNoPassword("\x05\x00", 2);
  if (!co_await has(client, 2)) co_return std::nullopt;
  const std::size_t methods = static_cast<unsigned char>(client.pending[1]);
  if (!co_await has(client, 2 + methods)) co_return std::nullopt;
  const bool open = client.pending.substr(2, methods).find('\0') != std::string::npos;
  client.drop(2 + methods);
  if (!open) {
    cell.note(refused("", 0, "SOCKS is served without a password only"));
    co_await part(cell, client, kNoMethod);
    co_return std::nullopt;
  }
  if (!co_await client.link.write(kNoPassword)) co_return std::nullopt;

  const auto answer = [](char code) { return std::string{kSocks, code, 0, 1, 0, 0, 0, 0, 0, 0}; };
  enum : char { kGranted = 0, kNotAllowed = 2, kNoCommand = 7, kNoAddressType = 8 };
  if (!co_await has(client, 5)) co_return std::nullopt;
  const char command = client.pending[1], type = client.pending[3];
  if (client.pending[0] != kSocks || command != 1) {
    cell.note(refused("", 0, "SOCKS is served for CONNECT only"));
    co_await part(cell, client, answer(kNoCommand));
    co_return std::nullopt;
  }
  if (type != 3) {
    cell.note(refused("", 0, "an address was asked for in place of a name"));
    co_await part(cell, client, answer(kNoAddressType));
    co_return std::nullopt;
  }
  const std::size_t length = static_cast<unsigned char>(client.pending[4]);
  if (!co_await has(client, 5 + length + 2)) co_return std::nullopt;
  const std::string host = client.pending.substr(5, length);
  const auto port =
      static_cast<std::uint16_t>(static_cast<unsigned char>(client.pending[5 + length]) << 8 |
                                 static_cast<unsigned char>(client.pending[6 + length]));
  client.drop(5 + length + 2);
  auto meeting = find_meeting(cell.map(), host, port);
  if (!meeting) {
    cell.note(refused(to_utf8(host), port, meeting.error().message));
    co_await part(cell, client, answer(kNotAllowed));
    co_return std::nullopt;
  }
  if (!co_await client.link.write(answer(kGranted))) co_return std::nullopt;
  co_return *meeting;
}

// The head of a CONNECT, which stays pending if it is another request.
Task<std::optional<Meeting>> greet_connect(ServedCell& cell, BufferedLink& client) {
  std::uint16_t number = 0;
  const auto refuse = [&](std::string host, unsigned status, std::string why) -> Task<void> {
    cell.note(refused(std::move(host), number, why));
    const std::string body = "Sallyport refused this connection: " + why +
                             "\nAllowed here: " + allowed_hosts_text(cell.map()) + "\n";
    const std::string answer = "HTTP/1.1 " + std::to_string(status) +
                               " Refused by Sallyport\r\nContent-Type: text/plain\r\n"
                               "Connection: close\r\nContent-Length: " +
                               std::to_string(body.size()) + "\r\n\r\n" + body;
    co_await part(cell, client, answer);
  };
  std::size_t searched = 0;
  auto end = head_end(client.pending, searched);
  while (!end) {
    if (client.pending.size() > kLongestHead) {
      co_await refuse("", 431, "the head of the request is too long");
      co_return std::nullopt;
    }
    if (!co_await client.read_more()) co_return std::nullopt;
    end = head_end(client.pending, searched);
  }
  RequestHead request;
  const auto fault = parse_request_head(std::string_view(client.pending).substr(0, *end), request);
  client.drop(*end);
  const std::string shown = to_utf8(request.target.substr(0, 253));
  if (!fault.empty()) {
    co_await refuse(shown, 400, std::string(fault));
    co_return std::nullopt;
  }
  const std::size_t colon = request.target.rfind(':');
  const auto port = colon == std::string::npos
                        ? Result<std::uint16_t>(fail(Reason::argument, "the port is missing"))
                        : parse_port(std::string_view(request.target).substr(colon + 1));
  if (!port || request.framing.kind != Framing::Kind::none) {
    co_await refuse(shown, 400, port ? "a CONNECT has no body" : port.error().message);
    co_return std::nullopt;
  }
  number = *port;
  auto meeting = find_meeting(cell.map(), std::string_view(request.target).substr(0, colon), *port);
  if (!meeting) {
    co_await refuse(shown.substr(0, shown.rfind(':')), 403, meeting.error().message);
    co_return std::nullopt;
  }
  if (!co_await client.link.write("HTTP/1.1 200 Connection established\r\n\r\n"))
    co_return std::nullopt;
  co_return *meeting;
}

}  // namespace

Task<void> serve_proxy(ServedCell& cell, BufferedLink& client) {
  constexpr std::string_view kConnect = "CONNECT ";
  std::optional<Meeting> meeting;
  bool plain = false;
  {
    const Watchdog watchdog(cell.io(), client.link, kPatience);
    if (!co_await has(client, 1)) co_return;
    if (client.pending.front() == kSocks) {
      meeting = co_await greet_socks(cell, client);
    } else {
      if (!co_await has(client, kConnect.size())) co_return;
      plain = !client.pending.starts_with(kConnect);
      if (!plain) meeting = co_await greet_connect(cell, client);
    }
  }
  if (plain) co_return co_await serve_http(cell, client, nullptr);
  if (meeting) co_await serve_connection(cell, client, std::move(*meeting));
}

}  // namespace sallyport
