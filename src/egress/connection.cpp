#include "egress/connection.h"

#include <array>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "base/text.h"
#include "egress/dial.h"
#include "egress/splice.h"
#include "egress/tls_hello.h"
#include "egress/tls_link.h"
#include "egress/watchdog.h"

namespace sallyport {
namespace {

constexpr auto kHelloPatience = std::chrono::seconds(10);
constexpr auto kPartPatience = std::chrono::seconds(2);
constexpr std::size_t kMostDropped = std::size_t{16} << 20;
constexpr std::size_t kPiece = std::size_t{64} << 10;

Task<void> refuse_tls(ServedCell& cell, BufferedLink& client, NetworkEvent event, std::string why) {
  event.verdict = "refused";
  event.why = std::move(why);
  cell.note(event);
  co_await part(cell, client, kTlsRefusal);
}

// What one direction of a connection may carry, and has carried.
struct Meter {
  ServedCell& cell;
  bool (ServedCell::*count)(std::size_t);
  std::uint64_t& total;
  std::string& why;

  // False: that was too much, and must not go on.
  [[nodiscard]] bool take(std::size_t bytes) const {
    if (!(cell.*count)(bytes)) {
      why = "the call has used up its bytes";
      return false;
    }
    total += bytes;
    return true;
  }
};

// The first bytes as any other; whoever sends more than that gets a pipe.
Task<Carried> carry_bytes(BufferedLink& from, Link& to, const Meter& meter, const Veil* veil) {
  constexpr std::uint64_t kWorthAPipe = 256 << 10;
  std::unique_ptr<std::array<char, kPiece>> room;  // none while nothing comes
  std::uint64_t carried = 0;
  std::optional<Veil::Stream> cover;
  if (veil != nullptr) cover.emplace(*veil);
  std::string shown;
  for (;;) {
    std::string_view piece = from.pending;
    if (piece.empty()) {
      if (!room) {
        co_await from.link.wait();
        room = std::make_unique_for_overwrite<std::array<char, kPiece>>();
      }
      piece = {room->data(), co_await from.link.read(*room)};
    }
    if (piece.empty()) {
      if (from.link.failed()) co_return Carried::failed;
      shown.clear();
      if (cover) cover->finish(shown);
      if (!shown.empty() && !co_await to.write(shown)) co_return Carried::failed;
      co_return Carried::to_the_end;
    }
    if (!meter.take(piece.size())) co_return Carried::too_much;
    if (cover) {
      shown.clear();
      cover->feed(piece, shown);
    }
    if (!co_await to.write(cover ? std::string_view(shown) : piece)) co_return Carried::failed;
    carried += piece.size();
    if (from.pending.empty() && piece.size() < kPiece) room.reset();
    from.pending.clear();
    if (cover || carried < kWorthAPipe || from.link.socket() < 0 || to.socket() < 0) continue;
    if (const auto pipe = Pipe::make()) {
      room.reset();
      co_return co_await splice_rest(from.link, to, *pipe,
                                     [&meter](std::size_t bytes) { return meter.take(bytes); });
    }
  }
}

// One direction, to its end.
Task<void> carry(BufferedLink& from, Link& to, Meter meter, const Veil* veil) {
  if (co_await carry_bytes(from, to, meter, veil) == Carried::to_the_end) {
    co_await to.finish();
  } else {
    from.link.reset();
    to.reset();
  }
}

// The cell's side of TLS ends here, in a certificate of the cell's own authority, and what comes
// out of it is served like http.
Task<void> serve_inspected(ServedCell& cell, BufferedLink& client, const TlsHelloParser& hello,
                           std::uint16_t port, NetworkEvent event) {
  const auto& offered = hello.protocols();
  if (!offered.empty() && std::ranges::find(offered, "http/1.1") == offered.end())
    co_return co_await refuse_tls(cell, client, std::move(event),
                                  "the host is inspected, and the client does not offer HTTP/1.1");
  if (!cell.take_handshake())
    co_return co_await refuse_tls(cell, client, std::move(event),
                                  "the call has made all the connections that it may");
  auto session = cell.authority() != nullptr
                     ? cell.authority()->session_for(hello.name())
                     : Result<TlsHandle>(fail(Reason::internal, "the cell has no authority"));
  if (!session)
    co_return co_await refuse_tls(cell, client, std::move(event), session.error().message);
  TlsLink secure(client.link, std::move(*session), client.pending);
  client.pending.clear();
  Result<void> greeted;
  {
    const Watchdog watchdog(cell.io(), client.link, kHelloPatience);
    greeted = co_await secure.greet();
  }
  if (!greeted) {
    event.verdict = "failed";
    event.why = "the host is inspected, and the client did not agree: " + greeted.error().message;
    cell.note(event);
    co_await client.link.finish();
    co_return;
  }
  BufferedLink inner(secure);
  // Requests are for the name that the certificate was shown for, and for no other.
  const Meeting meeting{
      .port = port, .scheme = EgressScheme::https, .name = hello.name(), .address = 0};
  co_await serve_http(cell, inner, &meeting);
}

// Bytes both ways, with a host that was reached; one that was not is a reset.
Task<void> pass_on(ServedCell& cell, BufferedLink& client, Result<Dialled> dialled,
                   NetworkEvent event) {
  if (!dialled) {
    event.verdict = dialled.error().reason == Reason::permission ? "refused" : "failed";
    event.why = dialled.error().message;
    cell.note(event);
    client.link.reset();
    co_return;
  }
  event.address = dialled->address.to_text();
  BufferedLink host(*dialled->link);
  const ServedCell::Open open(cell, host.link);
  co_await tunnel(cell, client, host, event);
  cell.note(event);
}

Task<void> serve_tls(ServedCell& cell, BufferedLink& client, const Meeting& meeting,
                     NetworkEvent event) {
  TlsHelloParser hello;
  {
    const Watchdog watchdog(cell.io(), client.link, kHelloPatience);
    auto state = hello.parse(client.pending);
    while (state == TlsHelloParser::State::incomplete) {
      if (!co_await client.read_more()) {
        event.verdict = "refused";
        event.why = "The connection ended before its TLS hello.";
        cell.note(event);
        co_return;
      }
      state = hello.parse(client.pending);
    }
    if (state == TlsHelloParser::State::refused)
      co_return co_await refuse_tls(cell, client, std::move(event), std::string(hello.fault()));
  }
  event.host = hello.name().to_text();
  if (!meeting.fits(cell.map(), hello.name()))
    co_return co_await refuse_tls(cell, client, std::move(event),
                                  "the TLS hello names another server than the one connected to");
  const auto rules = cell.map().rules_for(hello.name(), meeting.port);
  if (rules.empty())
    co_return co_await refuse_tls(cell, client, std::move(event), "no rule allows this host");
  event.rule = rules.front()->id;
  if (std::ranges::any_of(rules, &EgressRule::inspect))
    co_return co_await serve_inspected(cell, client, hello, meeting.port, std::move(event));
  if (!cell.take_request())
    co_return co_await refuse_tls(cell, client, std::move(event),
                                  "the call has made all the requests that it may");
  auto dialled = co_await dial(cell, hello.name(), *rules.front());
  if (!dialled && dialled.error().reason == Reason::permission)
    co_return co_await refuse_tls(cell, client, std::move(event), dialled.error().message);
  co_await pass_on(cell, client, std::move(dialled), std::move(event));
}

// Known by the address alone: nothing of it is looked at.
Task<void> serve_opaque(ServedCell& cell, BufferedLink& client, const Meeting& meeting,
                        NetworkEvent event) {
  const auto rules = meeting.name ? cell.map().rules_for(*meeting.name, meeting.port)
                                  : std::vector<const EgressRule*>();
  if (rules.empty() || !cell.take_request()) {
    event.verdict = "refused";
    event.why = rules.empty() ? "no rule allows this host"
                              : "the call has made all the requests that it may";
    cell.note(event);
    client.link.reset();
    co_return;
  }
  event.rule = rules.front()->id;
  auto dialled = co_await dial(cell, *meeting.name, *rules.front());
  co_await pass_on(cell, client, std::move(dialled), std::move(event));
}

}  // namespace

Task<void> tunnel(ServedCell& cell, BufferedLink& client, BufferedLink& host, NetworkEvent& event,
                  const Veil* veil) {
  using namespace boost::asio::experimental::awaitable_operators;
  event.verdict = "allowed";
  co_await (
      carry(client, host.link, {cell, &ServedCell::count_sent, event.sent, event.why}, nullptr) &&
      carry(host, client.link, {cell, &ServedCell::count_received, event.received, event.why},
            veil));
}

Task<void> part(ServedCell& cell, BufferedLink& client, std::string_view last_words) {
  const Watchdog watchdog(cell.io(), client.link, kPartPatience);
  if (!co_await client.link.write(last_words)) co_return;
  co_await client.link.finish();
  for (std::size_t dropped = 0; dropped < kMostDropped; dropped += client.pending.size()) {
    client.pending.clear();
    if (!co_await client.read_more()) co_return;
  }
}

std::string allowed_hosts_text(const NetworkMap& map) {
  std::string text;
  std::size_t left = 20;
  for (const EgressRule& rule : map.rules().allow) {
    if (left-- == 0) {
      text += ", …";
      break;
    }
    if (!text.empty()) text += ", ";
    text.append(name_of(rule.scheme)).append("://").append(rule.host);
    text.append(":").append(std::to_string(rule.port));
  }
  return text;
}

Task<void> serve_connection(ServedCell& cell, BufferedLink& client, Meeting meeting) {
  NetworkEvent event{.kind = "connection",
                     .host = meeting.name ? meeting.name->to_text() : "",
                     .port = meeting.port};
  switch (meeting.scheme) {
    case EgressScheme::https:
      co_return co_await serve_tls(cell, client, meeting, std::move(event));
    case EgressScheme::http:
      co_return co_await serve_http(cell, client, &meeting);
    case EgressScheme::postgres:
      if (meeting.name &&
          cell.grants().has_password(
              {.name = *meeting.name, .port = meeting.port, .scheme = meeting.scheme}))
        co_return co_await serve_postgres(cell, client, *meeting.name, meeting.port,
                                          std::move(event));
      [[fallthrough]];
    case EgressScheme::tcp:
      co_return co_await serve_opaque(cell, client, meeting, std::move(event));
  }
}

}  // namespace sallyport
