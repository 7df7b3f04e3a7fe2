#include "http/tls.h"

#include <gmock/gmock.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "http/http_fixture.h"
#include "http/identity_fixture.h"

namespace sallyport {
namespace {

using namespace std::chrono_literals;

HttpSettings with_tls(const TestIdentity& server, const TestIdentity* authority = nullptr,
                      bool require = false) {
  HttpSettings settings;
  settings.tls = {.certificate = certificate_pem(server),
                  .key = key_pem(server),
                  .client_ca = authority != nullptr ? certificate_pem(*authority) : "",
                  .require_certificate = require};
  return settings;
}

struct TlsClientOptions {
  const TestIdentity* identity = nullptr;
  std::string protocols = {};  // of ALPN
  int highest = 0;             // version
};

// What is answered to these bytes; empty: the handshake or the request failed.
std::string ask(std::uint16_t port, std::string_view bytes, const TlsClientOptions& options = {}) {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  if (options.identity != nullptr) {
    SSL_CTX_use_certificate(context, options.identity->certificate);
    SSL_CTX_use_PrivateKey(context, options.identity->key);
  }
  if (options.highest != 0) {
    SSL_CTX_set_min_proto_version(context, 0);
    SSL_CTX_set_max_proto_version(context, options.highest);
    SSL_CTX_set_security_level(context, 0);
  }
  if (!options.protocols.empty())
    SSL_CTX_set_alpn_protos(context,
                            reinterpret_cast<const unsigned char*>(options.protocols.data()),
                            static_cast<unsigned>(options.protocols.size()));
  SSL* ssl = SSL_new(context);
  const RawClient socket(port);
  SSL_set_fd(ssl, socket.fd());
  std::string answer;
  if (SSL_connect(ssl) == 1) {
    while (!bytes.empty()) {
      const int count = SSL_write(ssl, bytes.data(), static_cast<int>(bytes.size()));
      if (count <= 0) break;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    std::array<char, 20000> buffer{};
    for (int count = 0; (count = SSL_read(ssl, buffer.data(), buffer.size())) > 0;)
      answer.append(buffer.data(), static_cast<std::size_t>(count));
    // The end was said, not only made: nobody cut the answer short.
    EXPECT_TRUE(answer.empty() || SSL_get_shutdown(ssl) == SSL_RECEIVED_SHUTDOWN);
  }
  SSL_free(ssl);
  SSL_CTX_free(context);
  ERR_clear_error();
  return answer;
}

TEST(HttpTls, CarriesRequestsAndAnswersOfEverySize) {
  const auto identity = make_identity({"localhost"});
  TestServer server(echo, with_tls(*identity));
  EXPECT_EQ(body_in(ask(server.port(), kLastGet)), "GET /x?  127.0.0.1 ");
  const std::string large(3'000'000, 'x');
  const std::string request =
      "POST /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " +
      std::to_string(large.size()) + "\r\n\r\n" + large;
  EXPECT_EQ(body_in(ask(server.port(), request)), "POST /x? " + large + " 127.0.0.1 ");
  EXPECT_EQ(status_in(ask(server.port(), "GET / HTTP/1.0\r\n\r\n")), 505);
  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += kGet;
  const std::string answers = ask(server.port(), many + kLastGet);
  std::size_t count = 0;
  for (std::size_t at = 0; (at = answers.find("HTTP/1.1 200", at)) != std::string::npos; ++at)
    ++count;
  EXPECT_EQ(count, 1001);
}

TEST(HttpTls, SpeaksNeitherOldVersionsNorOtherProtocols) {
  const auto identity = make_identity({"localhost"});
  TestServer server(echo, with_tls(*identity));
  EXPECT_NE(ask(server.port(), kLastGet, {.highest = TLS1_2_VERSION}), "");
  EXPECT_EQ(ask(server.port(), kLastGet, {.highest = TLS1_1_VERSION}), "");
  EXPECT_NE(ask(server.port(), kLastGet, {.protocols = "\x02h2\x08http/1.1"}), "");
  EXPECT_EQ(ask(server.port(), kLastGet, {.protocols = "\x02h2"}), "");
  EXPECT_EQ(server.ask(kLastGet).find("HTTP/1.1 200"), std::string::npos);  // without TLS
}

TEST(HttpTls, KnowsClientsByACertificateOfTheirAuthority) {
  const auto identity = make_identity({"localhost"});
  const auto authority = make_identity({"our authority"});
  const auto stranger = make_identity({"their authority"});
  TestServer server(echo, with_tls(*identity, authority.get()));
  const auto name_of_client = [&](const TestIdentity* client) {
    return body_in(ask(server.port(), kLastGet, {.identity = client}));
  };
  EXPECT_EQ(name_of_client(nullptr), "GET /x?  127.0.0.1 ");
  EXPECT_EQ(name_of_client(make_identity({"agent-7"}, authority.get()).get()),
            "GET /x?  127.0.0.1 agent-7");
  EXPECT_EQ(name_of_client(make_identity({"agent-7"}, stranger.get()).get()), "");
  EXPECT_EQ(name_of_client(make_identity({"agent-7"}).get()), "");
  EXPECT_EQ(name_of_client(make_identity({"agent-7"}, authority.get(), -7200, -3600).get()), "");
  EXPECT_EQ(name_of_client(make_identity({"agent-7"}, authority.get(), 3600, 7200).get()), "");
  // Names with a second reading are none.
  using namespace std::string_literals;
  for (const std::vector<std::string>& names :
       {std::vector{"admin"s, "agent-7"s}, {"admin\0x"s}, {"admin\nx"s}, {"\u202Eadmin"s}})
    EXPECT_EQ(name_of_client(make_identity(names, authority.get()).get()), "GET /x?  127.0.0.1 ");
}

TEST(HttpTls, MayRequireACertificate) {
  const auto identity = make_identity({"localhost"});
  const auto authority = make_identity({"our authority"});
  TestServer server(echo, with_tls(*identity, authority.get(), true));
  const auto agent = make_identity({"agent-7"}, authority.get());
  EXPECT_EQ(ask(server.port(), kLastGet), "");
  EXPECT_NE(ask(server.port(), kLastGet, {.identity = agent.get()}), "");
}

TEST(HttpTls, GivesTheHandshakeNoMoreTimeThanAHead) {
  const auto identity = make_identity({"localhost"});
  HttpSettings settings = with_tls(*identity);
  settings.limits.header_time = 200ms;
  TestServer server(echo, std::move(settings));
  EXPECT_EQ(RawClient(server.port()).read_all(), "");
  RawClient client(server.port());
  client.send("\x16\x03\x01\x02");  // the beginning of a hello
  while (!client.readable(10))
    client.send("\x01");
  server.until([](const HttpNumbers& numbers) { return numbers.connections == 0; });
}

TEST(HttpTls, RefusesWhatIsNoIdentity) {
  const auto identity = make_identity({"localhost"});
  const auto other = make_identity({"localhost"});
  const std::string certificate = certificate_pem(*identity);
  const std::string key = key_pem(*identity);
  const std::string locked = pem([&](BIO* bio) {
    PEM_write_bio_PrivateKey(bio, identity->key, EVP_aes_256_cbc(),
                             reinterpret_cast<const unsigned char*>("secret"), 6, nullptr, nullptr);
  });
  const auto usable = [](const TlsSettings& settings) {
    const auto context = TlsContext::create(settings);
    EXPECT_TRUE(context || !context.error().hint.empty());
    return context.has_value();
  };
  EXPECT_TRUE(usable({.certificate = certificate, .key = key}));
  EXPECT_TRUE(usable({.certificate = certificate + certificate_pem(*other), .key = key}));
  EXPECT_FALSE(usable({.certificate = certificate, .key = key_pem(*other)}));
  EXPECT_FALSE(usable({.certificate = certificate, .key = locked}));  // and nobody is asked
  EXPECT_FALSE(usable({.certificate = certificate, .key = ""}));
  EXPECT_FALSE(usable({.certificate = key, .key = key}));
  EXPECT_FALSE(usable({.certificate = certificate.substr(0, 100), .key = key}));
  EXPECT_FALSE(usable({.certificate = certificate, .key = key, .client_ca = "rubbish"}));
  EXPECT_FALSE(usable({.certificate = certificate, .key = key, .require_certificate = true}));
}

}  // namespace
}  // namespace sallyport
