#include "egress/tls_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>

#include "egress/authority.h"
#include "egress/host_trust.h"

namespace sallyport {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using testing::HasSubstr;

HostName host(std::string_view text) {
  return *HostName::parse(text);
}

// Two ends of one connection.
struct Ends {
  std::unique_ptr<Link> server, client;
};
Ends connected(asio::io_context& io) {
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  tcp::socket client(io);
  client.connect(acceptor.local_endpoint());
  return {.server = plain_link(acceptor.accept()), .client = plain_link(std::move(client))};
}

template <class Body>
void run_all(asio::io_context& io, Body body) {
  asio::co_spawn(io, body(), [](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);
  });
  io.run_for(std::chrono::seconds(20));
  EXPECT_TRUE(io.stopped()) << "something waits for ever";
}

// A certificate of a server that its own key vouches for.
struct OwnCertificate {
  KeyHandle key{EVP_EC_gen("P-256")};
  CertificateHandle certificate{X509_new()};

  OwnCertificate(const std::string& name, long from, long until) {
    X509* const raw = certificate.get();
    X509_set_version(raw, X509_VERSION_3);
    X509_gmtime_adj(X509_getm_notBefore(raw), from);
    X509_gmtime_adj(X509_getm_notAfter(raw), until);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(raw), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    X509_set_issuer_name(raw, X509_get_subject_name(raw));
    X509_set_pubkey(raw, key.get());
    X509_EXTENSION* names =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, ("DNS:" + name).c_str());
    X509_add_ext(raw, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(raw, key.get(), EVP_sha256());
  }

  [[nodiscard]] std::string pem() const {
    const BioHandle bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(bio.get(), certificate.get());
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &text);
    return {text, static_cast<std::size_t>(size)};
  }
};

class TlsLinks : public testing::Test {
 protected:
  TlsLinks() {
    const HostPattern hosts[] = {*HostPattern::parse("api.example.com")};
    authority_ = std::move(*Authority::make(hosts));
  }

  // The server's side with a certificate of one's own.
  TlsHandle serving(const OwnCertificate& own, int most_version = TLS1_3_VERSION,
                    const char* protocol = nullptr) {
    context_.reset(SSL_CTX_new(TLS_server_method()));
    SSL_CTX_set_max_proto_version(context_.get(), most_version);
    SSL_CTX_set_min_proto_version(context_.get(), most_version);
    SSL_CTX_set_security_level(context_.get(), 0);
    SSL_CTX_use_certificate(context_.get(), own.certificate.get());
    SSL_CTX_use_PrivateKey(context_.get(), own.key.get());
    if (protocol != nullptr)
      SSL_CTX_set_alpn_select_cb(
          context_.get(),
          [](SSL*, const unsigned char**, unsigned char*, const unsigned char*, unsigned, void*) {
            return SSL_TLSEXT_ERR_ALERT_FATAL;
          },
          nullptr);
    TlsHandle session(SSL_new(context_.get()));
    SSL_set_accept_state(session.get());
    return session;
  }

  // What the client says when it meets that server under that name; empty: it is content.
  std::string greeted(TlsHandle server_session, HostTrust& trust, const char* name) {
    asio::io_context io;
    std::string said;
    run_all(io, [&]() -> Task<void> {
      using namespace asio::experimental::awaitable_operators;
      const Ends ends = connected(io);
      TlsLink server(*ends.server, std::move(server_session));
      auto session = trust.session_for(host(name));
      if (!session) {
        said = session.error().message;
        co_return;
      }
      TlsLink client(*ends.client, std::move(*session));
      const auto from_server = [&]() -> Task<void> {
        if (co_await server.greet()) co_await server.write("hello");
        co_await server.finish();
      };
      const auto from_client = [&]() -> Task<void> {
        const auto result = co_await client.greet();
        if (!result) {
          said = result.error().message;
        } else {
          std::array<char, 16> room;
          const std::size_t size = co_await client.read(room);
          if (std::string_view(room.data(), size) != "hello") said = "nothing came";
        }
        ends.client->close();
      };
      co_await (from_server() && from_client());
    });
    return said;
  }

  std::unique_ptr<Authority> authority_;
  TlsContextHandle context_;
};

TEST_F(TlsLinks, BothEndsSpeak) {
  HostTrust trust(authority_->certificate());
  EXPECT_EQ(greeted(std::move(*authority_->session_for(host("api.example.com"))), trust,
                    "api.example.com"),
            "");
}

TEST_F(TlsLinks, AnotherNameIsRefused) {
  HostTrust trust(authority_->certificate());
  EXPECT_THAT(greeted(std::move(*authority_->session_for(host("api.example.com"))), trust,
                      "other.example.com"),
              HasSubstr("its certificate cannot be trusted: hostname mismatch"));
}

TEST_F(TlsLinks, AnotherAuthorityIsRefused) {
  const HostPattern hosts[] = {*HostPattern::parse("api.example.com")};
  HostTrust trust((*Authority::make(hosts))->certificate());
  EXPECT_THAT(greeted(std::move(*authority_->session_for(host("api.example.com"))), trust,
                      "api.example.com"),
              HasSubstr("its certificate cannot be trusted: unable to get local issuer"));
}

TEST_F(TlsLinks, ASelfSignedCertificateIsRefusedUnlessItIsARoot) {
  const OwnCertificate own("api.example.com", -60, 3600);
  HostTrust others(authority_->certificate());
  EXPECT_THAT(greeted(serving(own), others, "api.example.com"), HasSubstr("self-signed"));
  HostTrust trust(own.pem());
  EXPECT_EQ(greeted(serving(own), trust, "api.example.com"), "");
}

TEST_F(TlsLinks, TheTimeOfACertificateIsLookedAt) {
  const OwnCertificate old("api.example.com", -7200, -3600);
  HostTrust trusts_old(old.pem());
  EXPECT_THAT(greeted(serving(old), trusts_old, "api.example.com"), HasSubstr("expired"));
  const OwnCertificate early("api.example.com", 3600, 7200);
  HostTrust trusts_early(early.pem());
  EXPECT_THAT(greeted(serving(early), trusts_early, "api.example.com"), HasSubstr("not yet valid"));
}

TEST_F(TlsLinks, WildcardsOfCertificatesStandForOneWholeLabel) {
  const OwnCertificate own("*.example.com", -60, 3600);
  HostTrust trust(own.pem());
  EXPECT_EQ(greeted(serving(own), trust, "api.example.com"), "");
  EXPECT_THAT(greeted(serving(own), trust, "a.b.example.com"), HasSubstr("hostname mismatch"));
  const OwnCertificate partial("a*.example.com", -60, 3600);
  HostTrust trusts_partial(partial.pem());
  EXPECT_THAT(greeted(serving(partial), trusts_partial, "api.example.com"),
              HasSubstr("hostname mismatch"));
}

TEST_F(TlsLinks, OldVersionsAreRefused) {
  const OwnCertificate own("api.example.com", -60, 3600);
  HostTrust trust(own.pem());
  EXPECT_EQ(greeted(serving(own, TLS1_2_VERSION), trust, "api.example.com"), "");
  EXPECT_THAT(greeted(serving(own, TLS1_1_VERSION), trust, "api.example.com"),
              HasSubstr("protocol version"));
}

TEST_F(TlsLinks, AHostWithoutHttp11IsRefused) {
  const OwnCertificate own("api.example.com", -60, 3600);
  HostTrust trust(own.pem());
  EXPECT_THAT(greeted(serving(own, TLS1_3_VERSION, "h2"), trust, "api.example.com"),
              HasSubstr("no application protocol"));
}

TEST_F(TlsLinks, WithoutRootsNobodyIsTrusted) {
  for (const char* roots : {"", "no certificates\n",
                            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}) {
    HostTrust trust(roots);
    EXPECT_FALSE(trust.session_for(host("api.example.com"))) << roots;
  }
}

TEST_F(TlsLinks, ABrokenRootDoesNotSpoilTheOthers) {
  HostTrust trust("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" +
                  authority_->certificate());
  EXPECT_EQ(greeted(std::move(*authority_->session_for(host("api.example.com"))), trust,
                    "api.example.com"),
            "");
}

// The body of `both` gets two ends that have greeted each other.
template <class Both>
void between(Authority& authority, Both both) {
  asio::io_context io;
  HostTrust trust(authority.certificate());
  run_all(io, [&]() -> Task<void> {
    using namespace asio::experimental::awaitable_operators;
    const Ends ends = connected(io);
    // What came before the session was there, as it is with a hello that was looked at.
    TlsLink client(*ends.client, std::move(*trust.session_for(host("api.example.com"))));
    std::unique_ptr<TlsLink> server;
    const auto serve = [&]() -> Task<void> {
      std::array<char, 100> began;
      const std::size_t size = co_await ends.server->read(began);
      server = std::make_unique<TlsLink>(*ends.server,
                                         std::move(*authority.session_for(host("api.example.com"))),
                                         std::string_view(began.data(), size));
      EXPECT_TRUE(co_await server->greet());
    };
    const auto meet = [&]() -> Task<void> { EXPECT_TRUE(co_await client.greet()); };
    co_await (serve() && meet());
    co_await both(ends, *server, client);
  });
}

Task<std::string> read_all(Link& link) {
  std::string all;
  std::array<char, 5000> room;
  while (const std::size_t size = co_await link.read(room))
    all.append(room.data(), size);
  co_return all;
}

TEST_F(TlsLinks, ALotGoesBothWaysAtOnce) {
  using namespace asio::experimental::awaitable_operators;
  const std::string up(3'000'000, 'u'), down(5'000'000, 'd');
  between(*authority_, [&](const Ends&, Link& server, Link& client) -> Task<void> {
    const auto send = [](Link& link, const std::string& text) -> Task<void> {
      for (std::size_t at = 0; at < text.size(); at += 70'001)
        EXPECT_TRUE(co_await link.write(std::string_view(text).substr(at, 70'001)));
      co_await link.finish();
    };
    const auto [got_up, got_down] =
        co_await (send(client, up) && send(server, down) && read_all(server) && read_all(client));
    EXPECT_TRUE(got_up == up);
    EXPECT_TRUE(got_down == down);
    EXPECT_FALSE(server.failed());
    EXPECT_FALSE(client.failed());
  });
}

TEST_F(TlsLinks, OneSideMayEndBeforeTheOther) {
  between(*authority_, [](const Ends&, Link& server, Link& client) -> Task<void> {
    EXPECT_TRUE(co_await client.write("question"));
    co_await client.finish();
    EXPECT_EQ(co_await read_all(server), "question");
    EXPECT_FALSE(server.failed());
    EXPECT_TRUE(co_await server.write("answer"));
    co_await server.finish();
    co_await server.finish();
    EXPECT_EQ(co_await read_all(client), "answer");
    EXPECT_FALSE(client.failed());
  });
}

TEST_F(TlsLinks, AnEndThatTlsDoesNotKnowOfIsAFailure) {
  between(*authority_, [](const Ends& ends, Link& server, Link& client) -> Task<void> {
    EXPECT_TRUE(co_await server.write("half of it"));
    co_await ends.server->finish();
    EXPECT_EQ(co_await read_all(client), "half of it");
    EXPECT_TRUE(client.failed());
  });
}

TEST_F(TlsLinks, ChangedBytesAreAFailure) {
  between(*authority_, [](const Ends& ends, Link& server, Link& client) -> Task<void> {
    using namespace std::string_view_literals;
    static constexpr auto kRecord =
        "\x17\x03\x03\x00\x20"
        "0123456789abcdef0123456789abcdef"sv;
    EXPECT_TRUE(co_await ends.server->write(kRecord));
    EXPECT_EQ(co_await read_all(client), "");
    EXPECT_TRUE(client.failed());
    EXPECT_FALSE(co_await client.write("more"));
    server.close();
  });
}

TEST_F(TlsLinks, ClosingEndsWhatWaits) {
  using namespace asio::experimental::awaitable_operators;
  between(*authority_, [](const Ends&, Link& server, Link& client) -> Task<void> {
    const auto write_until_it_fails = [&]() -> Task<void> {
      const std::string much(1 << 20, 'x');
      while (co_await server.write(much)) {
      }
    };
    const auto close_soon = [&]() -> Task<void> {
      asio::steady_timer soon(co_await asio::this_coro::executor, std::chrono::milliseconds(50));
      co_await soon.async_wait(asio::use_awaitable);
      server.close();
    };
    co_await (write_until_it_fails() && read_all(server) && close_soon());
    EXPECT_TRUE(server.failed());
    client.close();
  });
}

}  // namespace
}  // namespace sallyport
