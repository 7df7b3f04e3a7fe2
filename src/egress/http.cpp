#include <boost/asio/experimental/awaitable_operators.hpp>

#include "base/parse.h"
#include "base/text.h"
#include "egress/connection.h"
#include "egress/dial.h"
#include "egress/http_head.h"
#include "egress/tls_link.h"
#include "egress/watchdog.h"
#include "http/characters.h"
#include "http/chunked.h"
#include "http/target.h"

namespace sallyport {
namespace {

constexpr auto kHeadPatience = std::chrono::seconds(30);
constexpr auto kTlsPatience = std::chrono::seconds(10);

// What one request is for.
struct Wanted {
  HostName name;
  EgressScheme scheme = EgressScheme::http;
  std::uint16_t port = 80;
  std::string target;  // in the form that a server gets
};

struct HttpFault {
  unsigned status = 0;
  std::string why;
};

// "name" or "name:port".
std::optional<std::pair<HostName, std::uint16_t>> split_authority(std::string_view text,
                                                                  std::uint16_t default_port) {
  const std::size_t colon = text.rfind(':');
  std::uint16_t port = default_port;
  if (colon != std::string_view::npos) {
    const auto read = parse_port(text.substr(colon + 1));
    if (!read) return std::nullopt;
    port = *read;
    text = text.substr(0, colon);
  }
  auto name = HostName::parse(text);
  if (!name) return std::nullopt;
  return std::pair(std::move(*name), port);
}

std::expected<Wanted, HttpFault> read_wanted(const NetworkMap& map, const RequestHead& request,
                                             const Meeting* meeting) {
  std::string_view target = request.target;
  std::string_view authority = request.host;
  const EgressScheme scheme = meeting != nullptr ? meeting->scheme : EgressScheme::http;
  const std::string beginning = std::string(name_of(scheme)) + "://";
  const bool absolute = target.size() > beginning.size() &&
                        equal_ignoring_case(target.substr(0, beginning.size()), beginning);
  if (absolute) {
    target.remove_prefix(beginning.size());
    const std::size_t path = std::min(target.find_first_of("/?"), target.size());
    authority = target.substr(0, path);
    target.remove_prefix(path);
    if (!request.host.empty() && !equal_ignoring_case(authority, request.host))
      return std::unexpected(
          HttpFault{400, "The host of the target is not that of the Host header."});
  } else if (meeting == nullptr) {
    return std::unexpected(
        HttpFault{400, "A proxy is asked with a whole http:// URL, or CONNECT."});
  }
  if (authority.empty()) return std::unexpected(HttpFault{400, "There is no Host header."});
  const auto place = split_authority(authority, meeting != nullptr ? meeting->port : 80);
  if (!place)
    return std::unexpected(HttpFault{400, "The host is not a name, or its port no port."});
  if (meeting != nullptr && (place->second != meeting->port || !meeting->fits(map, place->first)))
    return std::unexpected(
        HttpFault{421, "the request names another host than the one connected to"});
  std::string wanted(target);
  if (wanted.empty() || wanted.front() == '?') wanted.insert(0, "/");
  if (wanted.front() != '/' && wanted != "*")
    return std::unexpected(HttpFault{400, "The target is not a path."});
  return Wanted{
      .name = place->first, .scheme = scheme, .port = place->second, .target = std::move(wanted)};
}

struct Judged {
  const EgressRule* rule = nullptr;
  HttpFault fault;
};

Judged judge(ServedCell& cell, const RequestHead& request, const Wanted& wanted) {
  const auto rules = cell.map().rules_for(wanted.name, wanted.port);
  const EgressRule* some = nullptr;
  for (const EgressRule* rule : rules) {
    if (rule->scheme != wanted.scheme) continue;
    some = rule;
    if (!is_one_of(rule->methods, rule->paths, request, wanted.target)) continue;
    if (!cell.take_request())
      return {rule, {429, "the call has made all the requests that it may"}};
    return {rule, {}};
  }
  if (some == nullptr)
    return {nullptr,
            {403, "no rule allows " + std::string(name_of(wanted.scheme)) + " to " +
                      wanted.name.to_text() + ":" + std::to_string(wanted.port)}};
  return {some, {403, "no rule allows " + request.method + " of this path"}};
}

std::string refusal_text(const ServedCell& cell, const HttpFault& fault) {
  const bool failed = fault.status == 502;
  const std::string body =
      (failed ? "Sallyport allowed this request, and it failed: " + fault.why + "\n"
              : "Sallyport refused this request: " + fault.why +
                    "\nAllowed here: " + allowed_hosts_text(cell.map()) + "\n");
  std::string text = "HTTP/1.1 " + std::to_string(fault.status) +
                     (failed ? " Host not reached\r\n" : " Refused by Sallyport\r\n");
  text += "Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: ";
  return text + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// Whether any of several headers names a coding.
bool is_coded(const HeadFields& fields) {
  return std::ranges::any_of(fields, [](const auto& field) {
    return equal_ignoring_case(field.first, "Content-Encoding") && !field.second.empty() &&
           !equal_ignoring_case(field.second, "identity");
  });
}

// One exchange: a request on its way to the host, and the answer on its way back.
struct Exchange {
  ServedCell& cell;
  BufferedLink& client;
  BufferedLink& host;
  NetworkEvent& event;
  bool request_done = false;
  bool keep = true;            // another request may follow on both connections
  bool tunnel = false;         // the connection has been handed to another protocol
  bool must_be_plain = false;  // the answer, or the veil could not look into it
  std::shared_ptr<const Veil> veil = cell.grants().veil();  // over the answer; null: there is none
  std::optional<Veil::Stream> cover = veil ? std::optional<Veil::Stream>(*veil) : std::nullopt;
  std::string shown{}, body_tail{};

  Task<bool> send(Link& to, std::string_view bytes, bool upward) {
    std::uint64_t& total = upward ? event.sent : event.received;
    if (!(upward ? cell.count_sent(bytes.size()) : cell.count_received(bytes.size()))) {
      event.why = "the call has used up its bytes";
      client.link.reset();
      host.link.reset();
      co_return false;
    }
    total += bytes.size();
    co_return co_await to.write(bytes);
  }

  // A piece of a body. False: it must not go on, or cannot.
  Task<bool> pass(Link& to, std::string_view piece, bool last, Framing::Kind kind, bool upward) {
    if (upward) {
      if (const auto credential = cell.grants().placeholder_in(piece, body_tail);
          !credential.empty()) {
        event.verdict = "refused";
        event.why = "the credential " + credential + " is not sent in a body";
        event.credential = credential;
        client.link.reset();
        host.link.reset();
        co_return false;
      }
    } else if (cover) {
      shown.clear();
      cover->feed(piece, shown);
      if (last) cover->finish(shown);
      piece = shown;
    }
    if (kind != Framing::Kind::chunked) co_return piece.empty() || co_await send(to, piece, upward);
    std::string chunks = piece.empty() ? "" : as_chunk(piece);
    if (last) chunks.append("0\r\n\r\n");
    co_return chunks.empty() || co_await send(to, chunks, upward);
  }

  // False: it did not come to its end.
  Task<bool> carry_body(BufferedLink& from, Link& to, Framing framing, bool upward) {
    using Kind = Framing::Kind;
    if (framing.kind == Kind::none || (framing.kind == Kind::length && framing.length == 0))
      co_return true;
    ChunkedDecoder chunks(
        SIZE_MAX, upward ? ChunkedDecoder::Trailers::refuse : ChunkedDecoder::Trailers::drop);
    std::string decoded;
    std::uint64_t left = framing.length;
    for (;;) {
      if (from.pending.empty() && !co_await from.read_more()) {
        if (framing.kind != Kind::until_end || from.link.failed()) co_return false;
        co_return co_await pass(to, {}, true, framing.kind, upward);
      }
      std::string_view piece = from.pending;
      std::size_t used = piece.size();
      bool last = false;
      if (framing.kind == Kind::length) {
        used = std::min<std::uint64_t>(left, used);
        piece = piece.substr(0, used);
        left -= used;
        last = left == 0;
      } else if (framing.kind == Kind::chunked) {
        decoded.clear();
        used = chunks.feed(from.pending, decoded);
        if (chunks.refusal().status != 0) {
          event.verdict = upward ? "refused" : "failed";
          event.why = chunks.refusal().sentence;
          co_return false;
        }
        piece = decoded;
        last = chunks.done();
      }
      if (!co_await pass(to, piece, last, framing.kind, upward)) co_return false;
      from.drop(used);
      if (last) co_return true;
    }
  }

  Task<void> carry_request(Framing framing) {
    request_done = co_await carry_body(client, host.link, framing, true);
    // Without its end the host would wait for the rest of it.
    if (!request_done) host.link.close();
  }

  Task<void> carry_response(bool to_head_request, bool may_upgrade) {
    if (!co_await carry_answer(to_head_request, may_upgrade)) {
      keep = false;
      if (event.received == 0)
        client.link.reset();
      else
        client.link.close();
    }
    // An answer that does not wait for its request is the last one.
    if (!request_done && !tunnel) {
      keep = false;
      co_await client.link.finish();
      host.link.close();
      client.link.close();
    }
  }

  Task<bool> carry_answer(bool to_head_request, bool may_upgrade) {
    for (;;) {
      std::size_t searched = 0;
      auto end = head_end(host.pending, searched);
      while (!end) {
        if (host.pending.size() > kLongestHead || !co_await host.read_more()) co_return false;
        end = head_end(host.pending, searched);
      }
      ResponseHead response;
      const auto fault = parse_response_head(std::string_view(host.pending).substr(0, *end),
                                             to_head_request, response);
      if (!fault.empty()) {
        event.why = "the host's answer cannot be read: " + std::string(fault);
        co_return false;
      }
      host.drop(*end);
      if (response.status == 101 && !may_upgrade) co_return false;
      if (must_be_plain && is_coded(response.fields)) {
        event.why =
            "the answer of a host that has a credential is coded, and cannot be looked into";
        keep = false;
        static_cast<void>(co_await send(client.link, refusal_text(cell, {502, event.why}), false));
        co_return false;
      }
      std::string head = write_response_head(response);
      if (veil) veil->cover(head);
      if (!co_await send(client.link, head, false)) co_return false;
      if (response.status == 101) {
        tunnel = true;
        co_return true;
      }
      if (response.status < 200) continue;
      if (!response.keep_alive) keep = false;
      co_return co_await carry_body(host, client.link, response.framing, false);
    }
  }

  static std::string as_chunk(std::string_view piece) {
    char size[20];
    const auto end = std::to_chars(size, size + sizeof(size), piece.size(), 16).ptr;
    std::string chunk(size, end);
    return chunk.append("\r\n").append(piece).append("\r\n");
  }
};

// The connection to the host of the last request, which the next one uses if it is for the same.
struct Upstream {
  HostName name;
  const EgressRule* rule;
  std::string address;
  std::unique_ptr<Link> link;
  BufferedLink buffered;
  ServedCell::Open open;

  Upstream(ServedCell& cell, HostName host, const EgressRule* by, Dialled dialled)
      : name(std::move(host)),
        rule(by),
        address(dialled.address.to_text()),
        link(std::move(dialled.link)),
        buffered(*link),
        open(cell, *link) {}

  // Two rules for one host may lead to different places.
  [[nodiscard]] bool serves(const HostName& host, const EgressRule& other) const {
    return name == host && rule->port == other.port && rule->address == other.address &&
           rule->internal == other.internal;
  }
};

// A connection with the host, and TLS over it if that is what is spoken. The host has to be what
// the name says, whatever the cell would have made of its certificate.
Task<Result<Dialled>> reach(ServedCell& cell, const Wanted& wanted, const EgressRule& rule) {
  auto dialled = co_await dial(cell, wanted.name, rule);
  if (!dialled || wanted.scheme != EgressScheme::https) co_return dialled;
  auto session = cell.trust().session_for(wanted.name);
  if (!session) co_return std::unexpected(std::move(session.error()));
  auto secure = std::make_unique<TlsLink>(std::move(dialled->link), std::move(*session));
  const ServedCell::Open open(cell, *secure);
  const Watchdog watchdog(cell.io(), *secure, kTlsPatience);
  if (auto greeted = co_await secure->greet(); !greeted)
    co_return fail(Reason::unavailable,
                   "TLS with " + wanted.name.to_text() + " failed: " + greeted.error().message);
  dialled->link = std::move(secure);
  co_return dialled;
}

// The next head; nothing: the client has ended, or what came is none.
Task<std::optional<std::size_t>> read_head(ServedCell& cell, BufferedLink& client) {
  const Watchdog watchdog(cell.io(), client.link, kHeadPatience);
  std::size_t searched = 0;
  for (;;) {
    if (const auto end = head_end(client.pending, searched)) co_return end;
    if (client.pending.size() > kLongestHead) co_return std::nullopt;
    if (!co_await client.read_more()) co_return std::nullopt;
  }
}

}  // namespace

Task<void> serve_http(ServedCell& cell, BufferedLink& client, const Meeting* meeting) {
  using namespace boost::asio::experimental::awaitable_operators;
  std::unique_ptr<Upstream> upstream;
  for (;;) {
    const auto end = co_await read_head(cell, client);
    NetworkEvent event{.kind = "request"};
    const auto refuse = [&](HttpFault fault) -> Task<void> {
      event.verdict = "refused";
      event.why = fault.why;
      cell.note(event);
      co_await part(cell, client, refusal_text(cell, fault));
    };
    if (!end) {
      if (client.pending.size() > kLongestHead)
        co_await refuse({431, "The head of the request is too long."});
      co_return;
    }
    RequestHead request;
    const auto fault =
        parse_request_head(std::string_view(client.pending).substr(0, *end), request);
    client.drop(*end);
    if (!fault.empty()) co_return co_await refuse({400, std::string(fault)});
    auto wanted = read_wanted(cell.map(), request, meeting);
    if (!wanted) {
      event.host = to_utf8(request.host.substr(0, 253));
      if (meeting != nullptr) event.port = meeting->port;
      co_return co_await refuse(wanted.error());
    }
    event.host = wanted->name.to_text();
    event.port = wanted->port;
    const Judged judged = judge(cell, request, *wanted);
    if (judged.rule != nullptr) event.rule = judged.rule->id;
    if (judged.fault.status != 0) co_return co_await refuse(judged.fault);
    auto applied =
        cell.grants().apply({wanted->name, wanted->port, wanted->scheme}, request, wanted->target);
    event.credential = std::move(applied.credential);
    if (!applied.fault.empty()) co_return co_await refuse({403, std::move(applied.fault)});

    if (!upstream || !upstream->serves(wanted->name, *judged.rule)) {
      upstream.reset();
      auto dialled = co_await reach(cell, *wanted, *judged.rule);
      if (!dialled) {
        if (dialled.error().reason == Reason::permission)
          co_return co_await refuse({403, dialled.error().message});
        event.verdict = "failed";
        event.why = dialled.error().message;
        cell.note(event);
        co_return co_await part(cell, client, refusal_text(cell, {502, dialled.error().message}));
      }
      upstream = std::make_unique<Upstream>(cell, wanted->name, judged.rule, std::move(*dialled));
    }
    event.address = upstream->address;
    event.verdict = "allowed";
    const std::uint16_t usual_port = wanted->scheme == EgressScheme::https ? 443 : 80;
    const std::string host = wanted->port == usual_port
                                 ? wanted->name.to_text()
                                 : wanted->name.to_text() + ":" + std::to_string(wanted->port);
    Exchange exchange{cell, client, upstream->buffered, event};
    exchange.must_be_plain = applied.must_be_plain;
    // A credential that is taken back is taken back from what goes on with it, too.
    const Secrets::Watch watch(cell.secrets(), event.credential, *upstream->link);
    if (!co_await exchange.send(*upstream->link, write_request_head(request, wanted->target, host),
                                true)) {
      event.verdict = "failed";
      if (event.why.empty()) event.why = "the host closed the connection";
      cell.note(event);
      client.link.reset();
      co_return;
    }
    co_await (exchange.carry_request(request.framing) &&
              exchange.carry_response(request.method == "HEAD", request.upgrade));
    if (exchange.tunnel)
      co_await tunnel(cell, client, upstream->buffered, event, exchange.veil.get());
    if (!exchange.keep && event.received == 0 && event.why.empty()) {
      event.verdict = "failed";
      event.why = "the host closed the connection without an answer";
    }
    cell.note(event);
    if (exchange.tunnel || !exchange.keep || !request.keep_alive || cell.ended()) break;
  }
  co_await client.link.finish();
}

}  // namespace sallyport
