#include <openssl/crypto.h>

#include <algorithm>

#include "egress/connection.h"
#include "egress/postgres_login.h"
#include "egress/postgres_message.h"
#include "egress/tls_link.h"
#include "egress/watchdog.h"

namespace sallyport {
namespace {

constexpr auto kStartPatience = std::chrono::seconds(10);
constexpr auto kLoginPatience = std::chrono::seconds(20);
constexpr std::size_t kLongestPassword = 1'000;

// The cell's side, with TLS once it has been asked for.
struct CellSide {
  explicit CellSide(BufferedLink& client) : plain(client) {}
  BufferedLink& plain;
  std::optional<TlsLink> secure;
  std::optional<BufferedLink> inner;

  BufferedLink& now() { return inner ? *inner : plain; }
};

Task<void> turn_away(ServedCell& cell, CellSide& side, NetworkEvent event, std::string why,
                     std::string_view last_words) {
  if (event.verdict.empty()) event.verdict = "refused";
  event.why = std::move(why);
  cell.note(event);
  co_await part(cell, side.now(), last_words);
}

Task<void> refuse(ServedCell& cell, CellSide& side, NetworkEvent event, std::string_view state,
                  std::string why, std::string_view hint = {}) {
  const std::string answer = pg_error(state, "Sallyport refused this connection: " + why, hint);
  co_await turn_away(cell, side, std::move(event), std::move(why), answer);
}

PgStart cannot_start(std::string why) {
  PgStart start;
  start.kind = PgStart::Kind::refused;
  start.fault = std::move(why);
  return start;
}

Task<PgStart> hear_start(BufferedLink& client) {
  for (;;) {
    PgStart start = read_pg_start(client.pending);
    if (start.kind != PgStart::Kind::incomplete || !co_await client.read_more()) {
      client.drop(start.size);
      co_return start;
    }
  }
}

Task<Result<void>> begin_tls(ServedCell& cell, CellSide& side, const HostName& name) {
  // What came before could have been slipped in by somebody else, and would count as the client's.
  if (!side.plain.pending.empty())
    co_return fail(Reason::permission, "the client said more before TLS than that it wants it");
  if (!cell.take_handshake())
    co_return fail(Reason::permission, "the call has made all the connections that it may");
  if (cell.authority() == nullptr) co_return fail(Reason::internal, "the cell has no authority");
  auto session = cell.authority()->session_for(name);
  if (!session) co_return std::unexpected(std::move(session.error()));
  if (!co_await side.plain.link.write("S"))
    co_return fail(Reason::unavailable, "the connection ended");
  side.secure.emplace(side.plain.link, std::move(*session));
  side.inner.emplace(*side.secure);
  auto greeted = co_await side.secure->greet();
  if (!greeted)
    co_return fail(Reason::unavailable, "the client did not agree: " + greeted.error().message);
  co_return Result<void>();
}

// Up to the words that say what the client wants: a session, or that a statement is cancelled.
// `incomplete`: it has ended.
Task<PgStart> open_up(ServedCell& cell, CellSide& side, const HostName& name) {
  const Watchdog watchdog(cell.io(), side.plain.link, kStartPatience);
  bool asked_for_gss = false;
  for (;;) {
    PgStart start = co_await hear_start(side.now());
    if (start.kind == PgStart::Kind::gss && !asked_for_gss && !side.secure) {
      asked_for_gss = true;
      if (!co_await side.now().link.write("N")) co_return PgStart();
    } else if (start.kind == PgStart::Kind::tls && !side.secure) {
      if (auto begun = co_await begin_tls(cell, side, name); !begun)
        co_return cannot_start(begun.error().message);
    } else if (start.kind == PgStart::Kind::tls || start.kind == PgStart::Kind::gss) {
      co_return cannot_start("the client asks twice for what it has been answered");
    } else {
      co_return start;
    }
  }
}

// Nothing: it ended, or said something else.
Task<std::optional<std::string>> ask_password(ServedCell& cell, CellSide& side) {
  constexpr std::uint32_t kInTheClear = 3;
  const Watchdog watchdog(cell.io(), side.plain.link, kStartPatience);
  BufferedLink& client = side.now();
  if (!co_await client.link.write(pg_message('R', pg_number(kInTheClear)))) co_return std::nullopt;
  for (;;) {
    const PgMessage message = read_pg_message(client.pending, kLongestPassword);
    if (message.state == PgMessage::State::incomplete) {
      if (!co_await client.read_more()) co_return std::nullopt;
      continue;
    }
    const bool readable = message.state == PgMessage::State::complete && message.kind == 'p' &&
                          !message.body.empty() &&
                          message.body.find('\0') == message.body.size() - 1;
    if (!readable) co_return std::nullopt;
    std::string password(message.body.substr(0, message.body.size() - 1));
    client.drop(message.size);
    co_return password;
  }
}

bool is_same(std::string_view given, std::string_view placeholder) {
  return !placeholder.empty() && given.size() == placeholder.size() &&
         CRYPTO_memcmp(given.data(), placeholder.data(), given.size()) == 0;
}

std::string& user_of(PgParameters& parameters) {
  return std::ranges::find(parameters, "user", &PgParameters::value_type::first)->second;
}

// Whose password it is to be; or a refusal in words, with the credential that it is about.
struct Choice {
  std::optional<Grants::Password> password;
  std::string credential, why, hint;
};

// Where a password is asked for, it must be a placeholder of this very host.
Choice choose(Grants& grants, std::vector<Grants::Password> held,
              const std::optional<std::string>& given, std::string_view user) {
  const auto chosen = std::ranges::find_if(held, [&](const Grants::Password& one) {
    return given ? is_same(*given, one.placeholder) : one.user == user;
  });
  if (given && chosen == held.end()) {
    std::string tail;
    if (std::string other = grants.placeholder_in(*given, tail); !other.empty())
      return {.credential = other, .why = "the credential " + other + " is not for this host"};
    const auto& asked = *std::ranges::find_if(held, &Grants::Password::needs_placeholder);
    return {.credential = asked.credential,
            .why = "the password is not the placeholder of a credential for this host",
            .hint = "The password is what the variable " + asked.variable + " holds."};
  }
  Grants::Password& password = chosen == held.end() ? held.front() : *chosen;
  if (!password.fault.empty())
    return {.credential = password.credential, .why = std::move(password.fault)};
  return {.password = std::move(password), .credential = {}, .why = {}, .hint = {}};
}

// Statements can be cancelled while their connection lasts.
class CancelKey {
 public:
  CancelKey(ServedCell& cell, std::string text) : cell_(cell), text_(std::move(text)) {
    if (!text_.empty()) cell_.cancel_keys.insert(text_);
  }
  ~CancelKey() {
    if (const auto kept = cell_.cancel_keys.find(text_); kept != cell_.cancel_keys.end())
      cell_.cancel_keys.erase(kept);
  }
  CancelKey(const CancelKey&) = delete;
  CancelKey& operator=(const CancelKey&) = delete;

  static std::string text_of(const HostName& name, std::uint16_t port, const std::string& key) {
    return key.empty() ? "" : name.to_text() + ":" + std::to_string(port) + " " + key;
  }

 private:
  ServedCell& cell_;
  std::string text_;
};

Task<void> turn_away_unreached(ServedCell& cell, CellSide& side, NetworkEvent event, Error error) {
  event.verdict = error.reason == Reason::permission ? "refused" : "failed";
  const std::string answer =
      pg_error("08001", "Sallyport cannot reach " + event.host + ": " + error.message, error.hint);
  co_await turn_away(cell, side, std::move(event), std::move(error.message), answer);
}

// A statement of this cell, and of no other: whoever knows its key could cancel anybody's.
Task<void> serve_cancel(ServedCell& cell, CellSide& side, const HostName& name,
                        const EgressRule& rule, const std::string& key, NetworkEvent event) {
  if (!cell.cancel_keys.contains(CancelKey::text_of(name, rule.port, key)))
    co_return co_await refuse(cell, side, std::move(event), "28000",
                              "no statement of this cell has that key to cancel it by");
  auto server = co_await reach_pg_server(cell, name, rule);
  if (!server)
    co_return co_await turn_away_unreached(cell, side, std::move(event), std::move(server.error()));
  event.address = server->address.to_text();
  BufferedLink host(*server->link);
  const ServedCell::Open open(cell, host.link);
  const Watchdog watchdog(cell.io(), host.link, kLoginPatience);
  const std::string request = pg_cancel_request(key);
  event.verdict = "allowed";
  event.sent = request.size();
  // The server says that it has done it by ending the connection.
  if (cell.count_sent(request.size()) && co_await host.link.write(request))
    while (co_await host.read_more())
      host.pending.clear();
  cell.note(event);
  co_await side.now().link.finish();
}

Task<void> serve_session(ServedCell& cell, CellSide& side, const HostName& name,
                         const EgressRule& rule, PgParameters parameters, NetworkEvent event) {
  const Grants::Destination to{.name = name, .port = rule.port, .scheme = rule.scheme};
  const auto held = cell.grants().passwords_for(to);
  std::optional<std::string> given;
  if (std::ranges::any_of(held, &Grants::Password::needs_placeholder)) {
    given = co_await ask_password(cell, side);
    // A program without a password ends here, asks for one, and comes again.
    if (!given) {
      event.credential = held.front().credential;
      co_return co_await refuse(cell, side, std::move(event), "28P01",
                                "the client did not answer with a password");
    }
  }
  // Once more: what was lent a moment ago may have been taken back.
  auto choice = choose(cell.grants(), cell.grants().passwords_for(to), given, user_of(parameters));
  if (!choice.password) {
    event.credential = std::move(choice.credential);
    co_return co_await refuse(cell, side, std::move(event), "28P01", std::move(choice.why),
                              choice.hint);
  }
  event.credential = choice.password->credential;
  auto server = co_await reach_pg_server(cell, name, rule);
  if (!server)
    co_return co_await turn_away_unreached(cell, side, std::move(event), std::move(server.error()));
  event.address = server->address.to_text();
  BufferedLink host(*server->link);
  const ServedCell::Open open(cell, host.link);
  if (!choice.password->user.empty()) user_of(parameters) = choice.password->user;
  cell.grants().count_use(event.credential);
  std::optional<PgRefusal> refused;
  std::string key;
  {
    const Watchdog watchdog(cell.io(), host.link, kLoginPatience);
    refused = co_await log_in(host, server->tls, std::move(parameters),
                              std::move(choice.password->value));
    if (!refused) key = co_await find_cancel_key(host);
  }
  const auto veil = cell.grants().veil();
  if (refused) {
    if (veil) veil->cover(refused->answer);
    event.verdict = "failed";
    co_return co_await turn_away(cell, side, std::move(event), std::move(refused->why),
                                 refused->answer);
  }
  const CancelKey kept(cell, CancelKey::text_of(name, rule.port, key));
  const Secrets::Watch watch(cell.secrets(), event.credential, host.link);
  co_await tunnel(cell, side.now(), host, event, veil.get());
  cell.note(event);
}

}  // namespace

Task<void> serve_postgres(ServedCell& cell, BufferedLink& client, HostName name, std::uint16_t port,
                          NetworkEvent event) {
  CellSide side(client);
  const auto rules = cell.map().rules_for(name, port);
  if (rules.empty())
    co_return co_await refuse(cell, side, std::move(event), "08004", "no rule allows this host");
  const EgressRule& rule = *rules.front();
  event.rule = rule.id;
  PgStart start = co_await open_up(cell, side, name);
  switch (start.kind) {
    case PgStart::Kind::start:
    case PgStart::Kind::cancel:
      break;
    case PgStart::Kind::refused:
      if (start.is_tls_hello)
        co_return co_await turn_away(cell, side, std::move(event), std::move(start.fault),
                                     kTlsRefusal);
      co_return co_await refuse(cell, side, std::move(event), "08P01", std::move(start.fault));
    default:
      event.verdict = "refused";
      event.why = "The connection ended before its start-up.";
      cell.note(event);
      co_return;
  }
  if (!cell.take_request())
    co_return co_await refuse(cell, side, std::move(event), "53300",
                              "the call has made all the requests that it may");
  if (start.kind == PgStart::Kind::cancel)
    co_return co_await serve_cancel(cell, side, name, rule, start.cancel_key, std::move(event));
  co_await serve_session(cell, side, name, rule, std::move(start.parameters), std::move(event));
}

}  // namespace sallyport
