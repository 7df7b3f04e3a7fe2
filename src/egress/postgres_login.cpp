#include "egress/postgres_login.h"

#include <openssl/rand.h>

#include <array>

#include "base/base64.h"
#include "credential/scram.h"
#include "egress/byte_reader.h"
#include "egress/dial.h"
#include "egress/tls_link.h"
#include "egress/watchdog.h"

namespace sallyport {
namespace {

constexpr auto kTlsPatience = std::chrono::seconds(10);
constexpr std::size_t kLongestAnswer = 16'000;
constexpr std::size_t kLongestGreeting = std::size_t{64} << 10;
constexpr int kMostNotices = 16;
// The proof is worked out while all cells wait: 25 times what is usual is enough.
constexpr int kMostIterations = 100'000;

constexpr std::string_view kScram = "SCRAM-SHA-256", kScramPlus = "SCRAM-SHA-256-PLUS";
enum Authentication : std::uint32_t { kOk = 0, kSasl = 10, kSaslContinue = 11, kSaslFinal = 12 };

PgRefusal refusal(std::string why, std::string_view hint = {}) {
  std::string answer = pg_error("08004", "Sallyport refused this server: " + why, hint);
  return {.why = std::move(why), .answer = std::move(answer)};
}

PgRefusal not_understood() {
  return refusal("it does not log in as a PostgreSQL server does");
}

struct Said {
  char kind;
  std::string body;

  // Of an answer about authentication; nothing: it is none.
  [[nodiscard]] std::optional<std::uint32_t> authentication() const {
    return kind == 'R' ? ByteReader(body).number(4) : std::nullopt;
  }
};

// The next message, which stays pending.
Task<std::optional<Said>> peek(BufferedLink& server, std::size_t& size) {
  for (;;) {
    const PgMessage message = read_pg_message(server.pending, kLongestAnswer);
    if (message.state == PgMessage::State::refused) co_return std::nullopt;
    if (message.state == PgMessage::State::complete) {
      size = message.size;
      co_return Said{.kind = message.kind, .body = std::string(message.body)};
    }
    if (!co_await server.read_more()) co_return std::nullopt;
  }
}

// The next message that is not a notice.
Task<std::optional<Said>> hear(BufferedLink& server) {
  for (int notices = 0; notices <= kMostNotices; ++notices) {
    std::size_t size = 0;
    auto said = co_await peek(server, size);
    if (!said) co_return std::nullopt;
    server.drop(size);
    if (said->kind != 'N') co_return said;
  }
  co_return std::nullopt;
}

// About an answer that is not the one that was to come.
PgRefusal refusal_of(const std::optional<Said>& said) {
  if (!said || said->kind != 'E') return not_understood();
  return {.why = "the server refuses the login (" + pg_error_state(said->body) + ")",
          .answer = pg_message('E', said->body)};
}

// What RFC 5929 calls tls-server-end-point; empty: its certificate has none.
std::string end_point_of(const SSL* tls) {
  X509* const certificate = SSL_get0_peer_certificate(tls);
  int kind = NID_undef;
  if (certificate == nullptr ||
      X509_get_signature_info(certificate, &kind, nullptr, nullptr, nullptr) != 1)
    return {};
  const EVP_MD* const digest =
      kind == NID_md5 || kind == NID_sha1 ? EVP_sha256() : EVP_get_digestbynid(kind);
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned size = 0;
  if (digest == nullptr || X509_digest(certificate, digest, bytes.data(), &size) != 1) return {};
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

struct Offer {
  bool scram = false, plus = false;
};

Offer read_offer(std::string_view names) {
  Offer offer;
  for (std::size_t end; (end = names.find('\0')) != std::string_view::npos && end > 0;) {
    offer.scram = offer.scram || names.substr(0, end) == kScram;
    offer.plus = offer.plus || names.substr(0, end) == kScramPlus;
    names.remove_prefix(end + 1);
  }
  return offer;
}

std::string make_nonce() {
  std::array<unsigned char, 18> bytes;
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return {};
  return to_base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Task<std::optional<PgRefusal>> prove(BufferedLink& server, const SSL* tls, const Offer& offer,
                                     std::string password) {
  const std::string end_point = tls != nullptr && offer.plus ? end_point_of(tls) : "";
  if (end_point.empty() && !offer.scram)
    co_return refusal("it asks for a proof of the password that is not known here",
                      "set password_encryption and pg_hba.conf to scram-sha-256");
  ScramClient::Binding binding;
  if (!end_point.empty())
    binding = {.header = "p=tls-server-end-point,,", .channel = end_point};
  else if (tls != nullptr && !offer.plus)
    binding.header = "y,,";  // a server that did offer it knows by this that somebody is between
  std::string nonce = make_nonce();
  if (nonce.empty()) co_return refusal("there are no random bytes");
  ScramClient scram(std::move(password), std::move(nonce), std::move(binding), kMostIterations);

  std::string first(end_point.empty() ? kScram : kScramPlus);
  const std::string opening = scram.first_message();
  first.append(1, '\0')
      .append(pg_number(static_cast<std::uint32_t>(opening.size())))
      .append(opening);
  if (!co_await server.link.write(pg_message('p', first))) co_return not_understood();
  auto said = co_await hear(server);
  if (!said || said->authentication() != kSaslContinue) co_return refusal_of(said);
  const auto proof = scram.final_message(std::string_view(said->body).substr(4));
  if (!proof) co_return refusal(proof.error().message);
  if (!co_await server.link.write(pg_message('p', *proof))) co_return not_understood();
  said = co_await hear(server);
  if (!said || said->authentication() != kSaslFinal) co_return refusal_of(said);
  if (auto known = scram.check_server(std::string_view(said->body).substr(4)); !known)
    co_return refusal(known.error().message);
  co_return std::nullopt;
}

}  // namespace

Task<Result<PgServer>> reach_pg_server(ServedCell& cell, HostName name, const EgressRule& rule) {
  auto dialled = co_await dial(cell, name, rule);
  if (!dialled) co_return std::unexpected(std::move(dialled.error()));
  Link& plain = *dialled->link;
  const ServedCell::Open open(cell, plain);
  const Watchdog watchdog(cell.io(), plain, kTlsPatience);
  // One byte and no more: what somebody on the way has added to it is read as TLS.
  std::array<char, 1> answer{};
  if (!co_await plain.write(pg_tls_request()) || co_await plain.read(answer) != 1)
    co_return fail(Reason::unavailable, "the server does not answer as one of PostgreSQL");
  if (answer[0] == 'N' && rule.internal)
    co_return PgServer{.link = std::move(dialled->link), .address = dialled->address};
  if (answer[0] == 'N')
    co_return fail(Reason::permission, "the server has no TLS, in which it could prove its name",
                   "only a rule with internal: true may lead to such a server");
  if (answer[0] != 'S')
    co_return fail(Reason::unavailable, "the server does not answer as one of PostgreSQL");
  auto session = cell.trust().session_for(name);
  if (!session) co_return std::unexpected(std::move(session.error()));
  static constexpr unsigned char kPostgres[] = "\x0Apostgresql";
  if (SSL_set_alpn_protos(session->get(), kPostgres, sizeof kPostgres - 1) != 0)
    co_return fail(Reason::internal, "TLS cannot be had: " + openssl_fault());
  auto secure = std::make_unique<TlsLink>(std::move(dialled->link), std::move(*session));
  if (auto greeted = co_await secure->greet(); !greeted)
    co_return std::unexpected(std::move(greeted.error()));
  const SSL* const tls = secure->session();
  co_return PgServer{.link = std::move(secure), .address = dialled->address, .tls = tls};
}

Task<std::optional<PgRefusal>> log_in(BufferedLink& server, const SSL* tls, PgParameters parameters,
                                      std::string password) {
  if (!co_await server.link.write(pg_start(parameters))) co_return not_understood();
  const auto asked = co_await hear(server);
  const auto way = asked ? asked->authentication() : std::nullopt;
  if (!way) co_return refusal_of(asked);
  constexpr std::string_view kHint = "set password_encryption and pg_hba.conf to scram-sha-256";
  if (*way == kOk) co_return refusal("it asks for no password, and so it may be any server", kHint);
  if (*way != kSasl)
    co_return refusal("it asks for the password in a way that gives it away", kHint);
  if (auto refused = co_await prove(
          server, tls, read_offer(std::string_view(asked->body).substr(4)), std::move(password)))
    co_return refused;
  std::size_t size = 0;
  const auto consent = co_await peek(server, size);
  if (!consent || consent->authentication() != kOk || consent->body.size() != 4)
    co_return refusal_of(consent);
  co_return std::nullopt;
}

Task<std::string> find_cancel_key(BufferedLink& server) {
  constexpr std::size_t kKey = 8;
  std::string key;
  for (std::size_t at = 0; at < kLongestGreeting;) {
    const PgMessage message =
        read_pg_message(std::string_view(server.pending).substr(at), kLongestAnswer);
    if (message.state == PgMessage::State::refused) break;
    if (message.state == PgMessage::State::incomplete) {
      if (!co_await server.read_more()) break;
      continue;
    }
    if (message.kind == 'K' && message.body.size() == kKey) key = message.body;
    if (message.kind == 'Z' || message.kind == 'E') break;
    at += message.size;
  }
  co_return key;
}

}  // namespace sallyport
