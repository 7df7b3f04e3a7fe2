// One connection of a cell to PostgreSQL, with a client and a server that say what they like.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/hmac.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>

#include "base/base64.h"
#include "credential/scram.h"
#include "egress/connection.h"
#include "egress/postgres_message.h"
#include "egress/tls_link.h"

namespace sallyport {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char* kSecret = "correct-horse-battery";
constexpr const char* kPlaceholder = "PLACEHOLDER0123456789";
constexpr const char* kOther = "ANOTHERHOSTS0123456789";
const std::string kOk = pg_message('R', pg_number(0));
const std::string kReady = pg_message('Z', "I");
const std::string kKey = "ABCDEFGH";

std::string text(std::string_view words) {
  return std::string(words).append(1, '\0');
}
std::string sasl(std::uint32_t step, std::string_view words) {
  return pg_message('R', pg_number(step) + std::string(words));
}
const std::string kOffer = sasl(10, text("SCRAM-SHA-256") + text(""));

std::string start_up() {
  return pg_start({{"user", "ann"}, {"database", "shop"}});
}
std::string password(std::string_view words) {
  return pg_message('p', text(words));
}
std::string query(std::string_view words) {
  return pg_message('Q', text(words));
}

std::string hmac(std::string_view key, std::string_view words) {
  std::string digest(32, '\0');
  ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<const unsigned char*>(words.data()), words.size(),
         reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  return digest;
}
std::string between(std::string_view whole, std::string_view from, std::string_view to) {
  const std::size_t begin = whole.find(from) + from.size();
  return std::string(whole.substr(begin, whole.find(to, begin) - begin));
}

// A server with a voice.
class Server {
 public:
  explicit Server(std::unique_ptr<Link> link) : owned_(std::move(link)), link_(*owned_) {}

  // Everything that was said to it, and what it has answered.
  std::string heard;

  Task<void> say(std::string bytes) { co_await link_.link.write(bytes); }
  Task<std::string> hear(std::size_t size) {
    while (link_.pending.size() < size)
      if (!co_await link_.read_more()) break;
    std::string taken = link_.pending.substr(0, size);
    link_.drop(size);
    heard += taken;
    co_return taken;
  }
  Task<std::string> hear_message() {
    const std::string head = co_await hear(5);
    if (head.size() < 5) co_return "";
    const auto rest = static_cast<std::size_t>(static_cast<unsigned char>(head[3])) << 8 |
                      static_cast<unsigned char>(head[4]);
    co_return co_await hear(rest - 4);
  }
  Task<void> hear_all() {
    do {
      heard += link_.pending;
      link_.pending.clear();
    } while (co_await link_.read_more());
  }
  // Until it has the start-up; it has no TLS.
  Task<void> begin() {
    co_await hear(8);
    co_await say("N");
    const std::string length = co_await hear(4);
    if (length.size() == 4) co_await hear(static_cast<unsigned char>(length[3]) - std::size_t{4});
  }
  // As a server that knows the password. False: the client does not.
  Task<bool> log_in() {
    co_await begin();
    co_await say(kOffer);
    const std::string first = co_await hear_message();
    const std::string bare = first.substr(first.find("n=,r="));
    const std::string challenge =
        "r=" + bare.substr(5) + "SERVER,s=" + to_base64("0123456789abcdef") + ",i=4096";
    co_await say(sasl(11, challenge));
    const std::string last = co_await hear_message();
    const std::string exchange = bare + "," + challenge + "," + last.substr(0, last.find(",p="));
    const std::string verifier = scram_verifier(kSecret, "0123456789abcdef") + "$";
    const std::string stored = *from_base64(between(verifier, "==$", ":"));
    const std::string server_key = *from_base64(between(verifier, stored_end(verifier), "$"));
    std::string client_key = *from_base64(last.substr(last.find(",p=") + 3));
    const std::string signature = hmac(stored, exchange);
    for (std::size_t i = 0; i < client_key.size(); ++i)
      client_key[i] = static_cast<char>(client_key[i] ^ signature[i]);
    std::string digest(32, '\0');
    ::EVP_Digest(client_key.data(), client_key.size(),
                 reinterpret_cast<unsigned char*>(digest.data()), nullptr, ::EVP_sha256(), nullptr);
    co_await say(sasl(12, "v=" + to_base64(hmac(server_key, exchange))));
    co_return digest == stored;
  }
  Task<void> end() { co_await link_.link.finish(); }

 private:
  static std::string stored_end(const std::string& verifier) {
    const std::string stored = between(verifier, "==$", ":");
    return stored + ":";
  }
  std::unique_ptr<Link> owned_;
  BufferedLink link_;
};

using Script = std::function<Task<void>(Server&)>;

class PostgresConnection : public testing::Test {
  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  const std::uint16_t port_ = acceptor_.local_endpoint().port();
  Fd events_;

 protected:
  PostgresConnection() {
    outside_.secrets.take({.name = "db", .value = kSecret, .why = {}});
    outside_.secrets.take({.name = "other", .value = "another-secret", .why = {}});
    begin(GrantPlace::placeholder);
  }

  void begin(GrantPlace place, std::string user = "", bool internal = true) {
    EgressRules rules;
    rules.requests = 100;
    for (const char* host : {"db.corp", "other.corp"})
      rules.allow.push_back({.host = host,
                             .port = port_,
                             .scheme = EgressScheme::postgres,
                             .internal = internal,
                             .address = "127.0.0.1",
                             .id = "rule"});
    const auto grant = [&](const char* name, const char* host) {
      rules.grants.push_back(
          {.credential = name,
           .to = {{.host = host, .port = port_, .scheme = EgressScheme::postgres}},
           .place = place,
           .field = user,
           .variable = "PGPASSWORD"});
    };
    grant("db", "db.corp");
    grant("other", "other.corp");
    auto map = NetworkMap::make(std::move(rules));
    auto authority = Authority::make(map->inspected());
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    events_ = Fd(ends[0]);
    cell_ = std::make_unique<ServedCell>(io_, outside_, std::move(*map),
                                         std::vector<std::string>{kPlaceholder, kOther},
                                         std::move(*authority), Fd(ends[1]));
  }

  // A client that says all of it at once, or a byte at a time; then it listens to the end.
  std::string says(const std::string& bytes, bool slowly = false) {
    std::string answer;
    run_all({[&, slowly]() -> Task<void> { return speak(bytes, slowly, answer); }});
    return answer;
  }

  // One event; with all that matters of it.
  std::string event() {
    std::string bytes(70'000, '\0');
    const ssize_t size = ::recv(events_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size <= 0) return "none";
    bytes.resize(static_cast<std::size_t>(size));
    const auto read = read_wire<NetworkEvent>(bytes, 70'000, "an event");
    if (!read) return "unreadable";
    return read->verdict + " " + read->host + " " + read->credential + ": " + read->why;
  }

  Script server_;
  std::string server_heard_;
  int server_met_ = 0;

  Outside outside_{
      .lookups = std::make_shared<const LookupSettings>(), .trust = HostTrust(""), .secrets = {}};
  std::unique_ptr<ServedCell> cell_;

  void run_all(std::vector<std::function<Task<void>()>> clients) {
    acceptor_.close();
    acceptor_ = tcp::acceptor(io_, tcp::endpoint(asio::ip::address_v4::loopback(), port_));
    std::size_t left = clients.size();
    const auto client = [&](std::size_t i) -> Task<void> {
      co_await clients[i]();
      if (--left == 0) acceptor_.close();
    };
    io_.restart();
    asio::co_spawn(io_, serve_all(), rethrow);
    for (std::size_t i = 0; i < clients.size(); ++i)
      asio::co_spawn(io_, client(i), rethrow);
    io_.run_for(std::chrono::seconds(60));
    EXPECT_TRUE(io_.stopped()) << "something waits for ever";
  }

  // The client's end of a connection that is served.
  Task<tcp::socket> connect() {
    tcp::acceptor between(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    tcp::socket client(io_);
    client.connect(between.local_endpoint());
    asio::co_spawn(io_, serve(plain_link(between.accept())), rethrow);
    co_return client;
  }

 private:
  static void rethrow(std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);
  }
  Task<void> serve(std::unique_ptr<Link> link) {
    BufferedLink client(*link);
    const ServedCell::Open open(*cell_, *link);
    co_await serve_connection(*cell_, client,
                              {.port = cell_->map().rules().allow.front().port,
                               .scheme = EgressScheme::postgres,
                               .name = *HostName::parse("db.corp"),
                               .address = 0});
  }

  Task<void> serve_all() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(asio::as_tuple(asio::use_awaitable));
      if (error) co_return;
      ++server_met_;
      asio::co_spawn(io_, meet(plain_link(std::move(socket))), rethrow);
    }
  }
  Task<void> meet(std::unique_ptr<Link> link) {
    Server server(std::move(link));
    co_await server_(server);
    server_heard_ += server.heard;
  }

  Task<void> speak(const std::string& bytes, bool slowly, std::string& answer) {
    const auto link = plain_link(co_await connect());
    BufferedLink server(*link);
    for (std::size_t at = 0; at < bytes.size(); at += slowly ? 1 : bytes.size())
      co_await link->write(std::string_view(bytes).substr(at, slowly ? 1 : bytes.size()));
    while (co_await server.read_more()) {
    }
    answer = server.pending;
  }
};

// Logs in, and answers the first statement.
Script good_server(std::string answer = pg_message('C', text("SELECT 1"))) {
  return [answer = std::move(answer)](Server& server) -> Task<void> {
    EXPECT_TRUE(co_await server.log_in());
    co_await server.say(kOk + pg_message('K', kKey) + kReady);
    co_await server.hear_message();
    co_await server.say(answer + kReady);
    co_await server.end();
    co_await server.hear_all();
  };
}

const std::string kAskPassword = pg_message('R', pg_number(3));
const std::string kGreeting = kOk + pg_message('K', kKey) + kReady;

TEST_F(PostgresConnection, SwapsThePlaceholderForThePassword) {
  server_ = good_server();
  const std::string answer = says(start_up() + password(kPlaceholder) + query("SELECT 1"));
  EXPECT_EQ(answer, kAskPassword + kGreeting + pg_message('C', text("SELECT 1")) + kReady);
  EXPECT_EQ(event(), "allowed db.corp db: ");
  EXPECT_THAT(server_heard_, AllOf(HasSubstr(start_up()), HasSubstr("SELECT 1"),
                                   Not(HasSubstr(kSecret)), Not(HasSubstr(kPlaceholder))));
}

TEST_F(PostgresConnection, ReadsAClientThatSpeaksByteByByte) {
  server_ = good_server();
  const std::string gss = pg_number(8) + pg_number(80877104);
  EXPECT_EQ(says(gss + start_up() + password(kPlaceholder) + query("SELECT 1"), true),
            "N" + kAskPassword + kGreeting + pg_message('C', text("SELECT 1")) + kReady);
}

// As libpq does since version 17.
TEST_F(PostgresConnection, SpeaksTlsWithAClientThatNamesItsProtocol) {
  server_ = good_server();
  std::string chosen, answer;
  run_all({[&]() -> Task<void> {
    const auto link = plain_link(co_await connect());
    co_await link->write(pg_tls_request());
    std::array<char, 1> agreed{};
    co_await link->read(agreed);
    EXPECT_EQ(agreed[0], 'S');
    const TlsContextHandle context(SSL_CTX_new(TLS_client_method()));
    TlsHandle session(SSL_new(context.get()));
    static constexpr unsigned char kProtocol[] = "\x0Apostgresql";
    SSL_set_alpn_protos(session.get(), kProtocol, sizeof kProtocol - 1);
    SSL_set_connect_state(session.get());
    TlsLink secure(*link, std::move(session));
    const auto greeted = co_await secure.greet();
    EXPECT_TRUE(greeted) << greeted.error().message;
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(secure.session(), &name, &size);
    chosen.assign(reinterpret_cast<const char*>(name), size);
    co_await secure.write(start_up() + password(kPlaceholder) + query("SELECT 1"));
    BufferedLink server(secure);
    while (co_await server.read_more()) {
    }
    answer = server.pending;
  }});
  EXPECT_EQ(chosen, "postgresql");
  EXPECT_THAT(answer, StartsWith(kAskPassword + kGreeting));
}

TEST_F(PostgresConnection, AsksForNothingWhereThePasswordIsInjected) {
  begin(GrantPlace::password, "owner");
  server_ = good_server();
  EXPECT_THAT(says(start_up() + query("SELECT 1")), StartsWith(kGreeting));
  EXPECT_THAT(server_heard_, HasSubstr(pg_start({{"user", "owner"}, {"database", "shop"}})));
  EXPECT_EQ(event(), "allowed db.corp db: ");
}

TEST_F(PostgresConnection, AnswersAWrongPasswordBeforeAnyServerIsMet) {
  EXPECT_THAT(says(start_up() + password("guess") + query("DROP TABLE orders")),
              AllOf(StartsWith(kAskPassword), HasSubstr("C28P01"), HasSubstr("PGPASSWORD")));
  EXPECT_EQ(event(),
            "refused db.corp db: the password is not the placeholder of a credential for this "
            "host");
  for (const std::string& words : {std::string(), std::string(kPlaceholder) + "x",
                                   std::string(kPlaceholder).substr(1), std::string(kSecret)})
    EXPECT_THAT(says(start_up() + password(words)), HasSubstr("C28P01")) << words;
  EXPECT_EQ(server_met_, 0);
}

TEST_F(PostgresConnection, SaysWhoseAPlaceholderIsThatCameToTheWrongHost) {
  EXPECT_THAT(says(start_up() + password(kOther)), HasSubstr("C28P01"));
  EXPECT_EQ(event(), "refused db.corp other: the credential other is not for this host");
  EXPECT_EQ(server_met_, 0);
}

TEST_F(PostgresConnection, DoesNotLendWhatWasTakenBack) {
  outside_.secrets.take({.name = "db", .value = "", .why = "it was revoked"});
  EXPECT_THAT(says(start_up() + password(kPlaceholder)), HasSubstr("it was revoked"));
  EXPECT_EQ(event(), "refused db.corp db: the credential db cannot be had: it was revoked");
  EXPECT_EQ(server_met_, 0);
}

TEST_F(PostgresConnection, RefusesAStartThatIsNone) {
  const struct {
    std::string bytes;
    const char* why;
  } kCases[] = {
      {pg_number(0xFFFF'FFFF), "impossible length"},
      {pg_number(0x8000'0000), "impossible length"},
      {pg_number(1 << 20), "impossible length"},
      {pg_number(0), "impossible length"},
      {"GET / HTTP/1.1\r\n\r\n", "impossible length"},
      {pg_number(8) + pg_number((3 << 16) + 2), "version 3.0"},
      {pg_start({{"user", "ann"}, {"replication", "true"}}), "replication"},
      {pg_number(8) + pg_number(80877104) + pg_number(8) + pg_number(80877104), "twice"},
      // Bytes before TLS that would count as said within it.
      {pg_tls_request() + start_up(), "more before TLS"},
  };
  for (const auto& [bytes, why] : kCases) {
    EXPECT_THAT(says(bytes), AllOf(HasSubstr("C08P01"), HasSubstr(why)));
    EXPECT_THAT(event(), AllOf(StartsWith("refused db.corp"), HasSubstr(why)));
  }
  EXPECT_EQ(says("\x16\x03\x01\x02"), kTlsRefusal);
  EXPECT_THAT(event(), HasSubstr("TLS has to be asked for"));
  EXPECT_EQ(server_met_, 0);
}

TEST_F(PostgresConnection, RefusesAPasswordThatIsNone) {
  for (const std::string& bytes :
       {"p" + pg_number(0xFFFF'FFFF), "p" + pg_number(0), "p" + pg_number(5000),
        query(kPlaceholder), pg_message('p', kPlaceholder), pg_message('p', ""),
        pg_message('p', text(kPlaceholder) + text(kPlaceholder))}) {
    EXPECT_THAT(says(start_up() + bytes), HasSubstr("did not answer with a password"));
    EXPECT_THAT(event(), StartsWith("refused db.corp db: "));
  }
  EXPECT_EQ(server_met_, 0);
}

// What a server says in place of logging in, and what the cell is told about it.
TEST_F(PostgresConnection, TakesNoServerThatDoesNotProveThatItKnowsThePassword) {
  const struct {
    std::string answer;
    const char* why;
  } kCases[] = {
      {kOk + kReady, "may be any server"},
      {pg_message('R', pg_number(3)), "gives it away"},
      {pg_message('R', pg_number(5) + "salt"), "gives it away"},
      {sasl(10, text("SCRAM-SHA-1") + text("")), "not known here"},
      {sasl(10, text("SCRAM-SHA-256-PLUS") + text("")), "not known here"},
      {sasl(10, "SCRAM-SHA-256"), "not known here"},
      {sasl(11, "r=x,s=AAAA,i=4096"), "gives it away"},
      {kReady, "does not log in"},
      {"R" + pg_number(0xFFFF'FFFF), "does not log in"},
      {"R" + pg_number(0), "does not log in"},
      {"R" + pg_number(1 << 20), "does not log in"},
      {pg_message('R', "ab"), "does not log in"},
      {"", "does not log in"},
      {kOffer + sasl(12, "v=AAAA"), "does not log in"},
      {kOffer + kOk, "does not log in"},
      {kOffer + sasl(11, "r=x,s=AAAA,i=4096"), "not understood"},
      {pg_message('N', text("SNOTICE") + text("")), "does not log in"},
  };
  for (const auto& [answer, why] : kCases) {
    server_ = [&](Server& server) -> Task<void> {
      co_await server.begin();
      co_await server.say(answer);
      co_await server.end();
      co_await server.hear_all();
    };
    const std::string said = says(start_up() + password(kPlaceholder) + query("SELECT 1"));
    EXPECT_THAT(said, AllOf(HasSubstr("C08004"), HasSubstr(why), Not(HasSubstr(kOk))));
    EXPECT_THAT(event(), AllOf(StartsWith("failed db.corp db: "), HasSubstr(why)));
  }
  EXPECT_THAT(server_heard_, AllOf(Not(HasSubstr(kSecret)), Not(HasSubstr("SELECT 1")),
                                   Not(HasSubstr(kPlaceholder))));
}

TEST_F(PostgresConnection, TakesNoServerWithAWrongSignature) {
  for (const char* signature :
       {"v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "v=", "e=x", ""}) {
    server_ = [&](Server& server) -> Task<void> {
      co_await server.begin();
      co_await server.say(kOffer);
      const std::string first = co_await server.hear_message();
      co_await server.say(sasl(11, "r=" + first.substr(first.find("r=") + 2) + "X,s=AAAA,i=4096"));
      co_await server.hear_message();
      co_await server.say(sasl(12, signature) + kOk + kReady);
      co_await server.end();
      co_await server.hear_all();
    };
    EXPECT_THAT(says(start_up() + password(kPlaceholder) + query("SELECT 1")),
                AllOf(HasSubstr("does not know the password"), Not(HasSubstr(kOk))));
    EXPECT_THAT(server_heard_, Not(HasSubstr("SELECT 1")));
  }
}

TEST_F(PostgresConnection, KeepsNobodyBusyWithProofs) {
  server_ = [&](Server& server) -> Task<void> {
    co_await server.begin();
    co_await server.say(kOffer);
    const std::string first = co_await server.hear_message();
    co_await server.say(sasl(11, "r=" + first.substr(first.find("r=") + 2) + "X,s=AAAA,i=100001"));
    co_await server.hear_all();
  };
  EXPECT_THAT(says(start_up() + password(kPlaceholder)), HasSubstr("not understood"));
}

TEST_F(PostgresConnection, PassesOnWhyTheServerRefusesTheLoginUnderTheVeil) {
  server_ = [&](Server& server) -> Task<void> {
    co_await server.begin();
    co_await server.say(pg_error("28000", std::string("no entry for ") + kSecret));
    co_await server.end();
    co_await server.hear_all();
  };
  EXPECT_THAT(says(start_up() + password(kPlaceholder)),
              AllOf(HasSubstr("no entry for *****"), Not(HasSubstr(kSecret))));
  EXPECT_EQ(event(), "failed db.corp db: the server refuses the login (28000)");
}

TEST_F(PostgresConnection, CoversThePasswordInWhatTheServerSaysLater) {
  server_ = good_server(pg_message('D', std::string("row with ") + kSecret));
  EXPECT_THAT(says(start_up() + password(kPlaceholder) + query("SELECT 1")),
              AllOf(HasSubstr("row with *****"), Not(HasSubstr(kSecret))));
}

TEST_F(PostgresConnection, GoesToNoAddressThatTheRuleDoesNotAllow) {
  begin(GrantPlace::placeholder, "", false);
  EXPECT_THAT(says(start_up() + password(kPlaceholder)), HasSubstr("C08001"));
  EXPECT_THAT(event(), AllOf(StartsWith("refused db.corp db: "), HasSubstr("open internet")));
  EXPECT_EQ(server_met_, 0);
}

TEST_F(PostgresConnection, TakesNoTlsFromAServerThatNobodyVouchesFor) {
  server_ = [&](Server& server) -> Task<void> {
    co_await server.hear(8);
    co_await server.say("S");
    co_await server.end();
    co_await server.hear_all();
  };
  EXPECT_THAT(says(start_up() + password(kPlaceholder)), HasSubstr("C08001"));
  EXPECT_THAT(event(), StartsWith("failed db.corp db: "));
  for (const char* answer : {"E", "X", ""}) {
    server_ = [&](Server& server) -> Task<void> {
      co_await server.hear(8);
      co_await server.say(answer);
      co_await server.end();
      co_await server.hear_all();
    };
    EXPECT_THAT(says(start_up() + password(kPlaceholder)), HasSubstr("not answer as one of Post"));
  }
  EXPECT_THAT(server_heard_, Not(HasSubstr("ann")));
}

TEST_F(PostgresConnection, CancelsStatementsOfTheCellAndNoOthers) {
  EXPECT_THAT(says(pg_cancel_request(kKey)), HasSubstr("no statement of this cell has that key"));
  EXPECT_THAT(event(), StartsWith("refused db.corp"));
  EXPECT_EQ(server_met_, 0);

  // The statement runs until it is cancelled.
  std::string cancelled;
  std::optional<asio::steady_timer> running;
  server_ = [&](Server& server) -> Task<void> {
    if (server_met_ == 1) {
      EXPECT_TRUE(co_await server.log_in());
      co_await server.say(kGreeting);
      co_await server.hear_message();
      running.emplace(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
      co_await running->async_wait(asio::as_tuple(asio::use_awaitable));
      co_await server.say(pg_error("57014", "cancelled"));
      co_await server.end();
      co_await server.hear_all();
    } else {
      co_await server.hear(8);
      co_await server.say("N");
      cancelled = co_await server.hear(16);
      co_await server.end();
      running->cancel();
    }
  };
  std::string answer, other;
  run_all({[&]() -> Task<void> {
    const auto link = plain_link(co_await connect());
    BufferedLink server(*link);
    co_await link->write(start_up() + password(kPlaceholder));
    while (!server.pending.ends_with(kReady))
      co_await server.read_more();
    co_await link->write(query("SELECT pg_sleep(1000)"));
    while (!running)
      co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    const auto wrong = plain_link(co_await connect());
    BufferedLink refused(*wrong);
    co_await wrong->write(pg_cancel_request("ABCDEFGX"));
    while (co_await refused.read_more()) {
    }
    other = refused.pending;
    wrong->close();
    const auto right = plain_link(co_await connect());
    BufferedLink done(*right);
    co_await right->write(pg_cancel_request(kKey));
    EXPECT_FALSE(co_await done.read_more());
    while (co_await server.read_more()) {
    }
    answer = server.pending;
  }});
  EXPECT_THAT(other, HasSubstr("no statement of this cell has that key"));
  EXPECT_EQ(cancelled, pg_cancel_request(kKey));
  EXPECT_THAT(answer, HasSubstr("C57014"));
  // With its connection, the key is gone.
  EXPECT_THAT(cell_->cancel_keys, IsEmpty());
}

}  // namespace
}  // namespace sallyport
