#include "egress/tls_hello.h"

#include <gmock/gmock.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <functional>

namespace sallyport {
namespace {

using State = TlsHelloParser::State;
using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint16_t kPrivateExtension = 0xff77;

// What OpenSSL sends first.
std::string real_hello(const char* name, const std::function<void(SSL_CTX*, SSL*)>& adjust = {},
                       const std::string& blob = {}) {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  const auto add = [](SSL*, unsigned, unsigned, const unsigned char** out, std::size_t* size, X509*,
                      std::size_t, int*, void* argument) {
    const auto& bytes = *static_cast<const std::string*>(argument);
    *out = reinterpret_cast<const unsigned char*>(bytes.data());
    *size = bytes.size();
    return 1;
  };
  if (!blob.empty())
    SSL_CTX_add_custom_ext(context, kPrivateExtension, SSL_EXT_CLIENT_HELLO, add, nullptr,
                           const_cast<std::string*>(&blob), nullptr, nullptr);
  SSL* ssl = SSL_new(context);
  if (name != nullptr) SSL_set_tlsext_host_name(ssl, name);
  if (adjust) adjust(context, ssl);
  BIO* out = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl, BIO_new(BIO_s_mem()), out);
  SSL_connect(ssl);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  std::string bytes(data, static_cast<std::size_t>(size));
  SSL_free(ssl);
  SSL_CTX_free(context);
  ERR_clear_error();
  return bytes;
}

void only_tls12(SSL_CTX*, SSL* ssl) {
  SSL_set_max_proto_version(ssl, TLS1_2_VERSION);
}

void only_tls13(SSL_CTX*, SSL* ssl) {
  SSL_set_min_proto_version(ssl, TLS1_3_VERSION);
}

std::string number(std::size_t value, int size) {
  std::string bytes;
  for (int shift = (size - 1) * 8; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<char>(value >> shift & 0xff));
  return bytes;
}

std::string vector(const std::string& bytes, int size) {
  return number(bytes.size(), size) + bytes;
}

std::string extension(std::size_t type, const std::string& body) {
  return number(type, 2) + vector(body, 2);
}

std::string entry(const std::string& name, char type = 0) {
  return type + vector(name, 2);
}

std::string sni(const std::string& name) {
  return extension(0, vector(entry(name), 2));
}

// A hello by hand, each part of which can be broken.
struct Hello {
  std::string version = "\x03\x03", random = std::string(32, 'r');
  std::string session = vector("session", 1);
  std::string ciphers = vector("\x13\x01\x13\x02", 2);
  std::string compressions = vector("\0"s, 1);
  std::string extensions = vector(sni("api.example.com"), 2);

  std::string body() const {
    return version + random + session + ciphers + compressions + extensions;
  }
  std::string message() const { return "\x01" + vector(body(), 3); }
  std::string bytes() const { return "\x16\x03\x01" + vector(message(), 2); }
};

Hello with(const std::string& extensions) {
  Hello hello;
  hello.extensions = vector(extensions, 2);
  return hello;
}

struct Outcome {
  State state = State::incomplete;
  std::string name, fault;
  std::vector<std::string> protocols;
  std::size_t decided = 0;  // after how many bytes

  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(const TlsHelloParser& parser, State state) {
  Outcome outcome{.state = state, .fault = std::string(parser.fault())};
  if (state == State::complete) {
    outcome.name = parser.name().to_text();
    outcome.protocols = parser.protocols();
  }
  return outcome;
}

Outcome at_once(std::string_view bytes) {
  TlsHelloParser parser;
  const State state = parser.parse(bytes);
  return outcome_of(parser, state);
}

// The outcome of all bytes at once, which is also that of each way to split them in two, and of one
// byte after the other.
Outcome read(std::string_view bytes) {
  const Outcome whole = at_once(bytes);
  for (std::size_t split = 0; split <= bytes.size(); ++split) {
    TlsHelloParser parser;
    static_cast<void>(parser.parse(bytes.substr(0, split)));
    const State state = parser.parse(bytes);
    EXPECT_EQ(outcome_of(parser, state), whole) << split;
  }
  TlsHelloParser parser;
  State state = State::incomplete;
  std::size_t decided = 0;
  while (state == State::incomplete && decided < bytes.size())
    state = parser.parse(bytes.substr(0, ++decided));
  Outcome slow = outcome_of(parser, state);
  EXPECT_EQ(slow, whole);
  EXPECT_EQ(whole.state == State::refused, !whole.fault.empty());
  slow.decided = decided;
  return slow;
}

std::string fault_of(const std::string& bytes) {
  const Outcome outcome = read(bytes);
  EXPECT_EQ(outcome.state, State::refused);
  return outcome.fault;
}

TEST(TlsHello, NamesTheServerOfRealClients) {
  for (const auto& adjust : {+[](SSL_CTX*, SSL*) {}, only_tls12, only_tls13}) {
    const std::string bytes = real_hello("Api.Example.COM", adjust);
    const Outcome outcome = read(bytes);
    EXPECT_EQ(outcome.state, State::complete) << outcome.fault;
    EXPECT_EQ(outcome.name, "api.example.com");
    EXPECT_EQ(outcome.decided, bytes.size());
    EXPECT_THAT(outcome.protocols, IsEmpty());
    EXPECT_EQ(fault_of(real_hello(nullptr, adjust)), "The TLS hello has no server name.");
  }
}

TEST(TlsHello, TellsTheProtocolsOffered) {
  const std::string bytes = real_hello("a.example", [](SSL_CTX*, SSL* ssl) {
    constexpr std::string_view kList = "\x02h2\x08http/1.1";
    SSL_set_alpn_protos(ssl, reinterpret_cast<const unsigned char*>(kList.data()), kList.size());
  });
  EXPECT_THAT(read(bytes).protocols, ElementsAre("h2", "http/1.1"));
}

TEST(TlsHello, ReadsLargeOnes) {
  const std::string padded = real_hello(
      "a.example", [](SSL_CTX*, SSL* ssl) { SSL_set_options(ssl, SSL_OP_TLSEXT_PADDING); });
  EXPECT_EQ(read(padded).name, "a.example");
  const std::string ticket = real_hello("a.example", [](SSL_CTX* context, SSL* ssl) {
    only_tls12(context, ssl);
    std::string bytes(3000, 't');
    SSL_set_session_ticket_ext(ssl, bytes.data(), static_cast<int>(bytes.size()));
  });
  EXPECT_GT(ticket.size(), 3000);
  EXPECT_EQ(read(ticket).name, "a.example");
  const std::string large = real_hello("a.example", {}, std::string(15'000, 'x'));
  EXPECT_GT(large.size(), 15'000);
  EXPECT_EQ(at_once(large).name, "a.example");
  // As large as a record can be.
  Hello hello = with(sni("a.example"));
  const std::size_t rest = (16 << 10) - hello.message().size() - 4;
  hello = with(extension(kPrivateExtension, std::string(rest, 'x')) + sni("a.example"));
  EXPECT_EQ(hello.bytes().size(), TlsHelloParser::kMostBytes);
  EXPECT_EQ(at_once(hello.bytes()).name, "a.example");
  hello = with(extension(kPrivateExtension, std::string(rest + 1, 'x')) + sni("a.example"));
  EXPECT_THAT(at_once(hello.bytes()).fault, HasSubstr("length"));
}

TEST(TlsHello, DoesNotLookAtWhatFollows) {
  const std::string bytes = Hello().bytes();
  for (const char* const more : {"\x17\x03\x03 early data", "\x16\x03\x01", "anything"}) {
    const Outcome outcome = read(bytes + more);
    EXPECT_EQ(outcome.name, "api.example.com");
    EXPECT_EQ(outcome.decided, bytes.size());
  }
}

TEST(TlsHello, RefusesWhatIsNotTlsWithItsFirstByte) {
  for (const std::string& bytes :
       {"GET / HTTP/1.1\r\n"s, "SSH-2.0-x\r\n"s, "\x80\x2e\x01\x03\x01 sslv2"s,
        "\x15\x03\x01\0\x02\x01\0"s, "\x17\x03\x03\0\x01x"s, "\0"s}) {
    const Outcome outcome = read(bytes);
    EXPECT_THAT(outcome.fault, HasSubstr("not TLS"));
    EXPECT_EQ(outcome.decided, 1);
  }
  EXPECT_EQ(read("\x16\xfe\xff rest").decided, 2);  // DTLS
  EXPECT_EQ(read("\x16\x03\x01\x40\x01 rest").decided, 5);
  EXPECT_EQ(read("\x16\x03\x01\0\0 rest"s).decided, 5);
  EXPECT_EQ(read("\x16\x03\x01\x01\0\x02 hello of a server"s).decided, 6);
  EXPECT_EQ(read("").state, State::incomplete);
}

TEST(TlsHello, RefusesOneInSeveralRecords) {
  EXPECT_THAT(fault_of(real_hello(
                  "a.example", [](SSL_CTX*, SSL* ssl) { SSL_set_max_send_fragment(ssl, 512); },
                  std::string(600, 'x'))),
              HasSubstr("several records"));
  EXPECT_THAT(at_once(real_hello("a.example", {}, std::string(20'000, 'x'))).fault,
              HasSubstr("several records"));
  const std::string message = Hello().message();
  for (std::size_t split = 1; split < message.size(); ++split) {
    const std::string bytes = "\x16\x03\x01" + vector(message.substr(0, split), 2) +
                              "\x16\x03\x01" + vector(message.substr(split), 2);
    EXPECT_THAT(at_once(bytes).fault, HasSubstr("several records")) << split;
  }
}

TEST(TlsHello, RefusesWhatFollowsInItsRecord) {
  const std::string message = Hello().message();
  for (const std::string& more : {"\0"s, message})
    EXPECT_THAT(fault_of("\x16\x03\x01" + vector(message + more, 2)), HasSubstr("follows"));
}

TEST(TlsHello, RefusesLengthsThatDoNotAddUp) {
  const auto fault = [](std::string Hello::* part, const std::string& bytes) {
    Hello hello;
    hello.*part = bytes;
    return fault_of(hello.bytes());
  };
  const std::string broken = "The TLS hello is malformed.";
  EXPECT_EQ(fault(&Hello::version, "\x02\x03"), broken);
  EXPECT_EQ(fault(&Hello::session, vector(std::string(33, 's'), 1)), broken);
  EXPECT_EQ(fault(&Hello::ciphers, vector("", 2)), broken);
  EXPECT_EQ(fault(&Hello::ciphers, vector("\x13\x01\x13", 2)), broken);
  EXPECT_EQ(fault(&Hello::ciphers, "\xff\xff\x13\x01"), broken);
  EXPECT_EQ(fault(&Hello::compressions, vector("", 1)), broken);
  EXPECT_EQ(fault(&Hello::compressions, vector("\x01", 1)), broken);
  EXPECT_EQ(fault(&Hello::extensions, vector(sni("a.example"), 2) + "x"), broken);
  EXPECT_EQ(fault(&Hello::extensions, number(100, 2) + sni("a.example")), broken);
  EXPECT_EQ(fault(&Hello::extensions, vector(sni("a.example") + "\0\x17\0\x01"s, 2)), broken);
  EXPECT_EQ(fault(&Hello::extensions, vector(sni("a.example") + "\0"s, 2)), broken);
  EXPECT_THAT(fault(&Hello::extensions, ""), HasSubstr("no server name"));
  EXPECT_THAT(fault(&Hello::extensions, vector("", 2)), HasSubstr("no server name"));
  // Cut off anywhere, with the lengths outside as they should be then.
  const std::string body = Hello().body();
  for (std::size_t length = 0; length < body.size(); ++length)
    EXPECT_EQ(at_once("\x16\x03\x01" + vector("\x01" + vector(body.substr(0, length), 3), 2)).state,
              State::refused);
}

TEST(TlsHello, RefusesAnExtensionThatIsThereTwice) {
  EXPECT_THAT(fault_of(with(sni("a.example") + sni("b.example")).bytes()), HasSubstr("twice"));
  EXPECT_THAT(fault_of(with(extension(23, "") + sni("a.example") + extension(23, "")).bytes()),
              HasSubstr("twice"));
}

TEST(TlsHello, TakesExactlyOneServerName) {
  const auto fault = [](const std::string& body) {
    return fault_of(with(extension(0, body)).bytes());
  };
  const std::string one = entry("a.example");
  EXPECT_THAT(fault(vector(one + entry("b.example"), 2)), HasSubstr("more than one"));
  EXPECT_THAT(fault(vector(one + "x", 2)), HasSubstr("more than one"));
  EXPECT_THAT(fault(vector(entry("a.example", 1), 2)), HasSubstr("kind"));
  for (const std::string& body : {""s, "\0\0"s, vector(one, 2) + "x", number(200, 2) + one,
                                  vector("\0\0"s, 2), vector("\0\0\x09short"s, 2)})
    EXPECT_EQ(fault(body), "The TLS hello is malformed.");
}

TEST(TlsHello, TakesOnlyNamesOfHosts) {
  for (const std::string& name :
       {""s, "a.example."s, "a.example\0.b"s, "127.0.0.1"s, "::1"s, "[::1]"s, "0x7f.1"s,
        "a_b.example"s, "*.example.com"s, "a..example"s, "a.example:443"s, "b\u00fccher.example"s,
        "a.example "s, std::string(254, 'a'), std::string(6000, 'a')})
    EXPECT_EQ(fault_of(with(sni(name)).bytes()),
              "The server name in the TLS hello is not the name of a host.")
        << name;
}

TEST(TlsHello, RefusesEncryptedOnes) {
  for (const std::size_t type : {0xfe0d, 0xffce}) {
    EXPECT_THAT(fault_of(with(sni("a.example") + extension(type, "inner")).bytes()),
                HasSubstr("encrypted"));
    EXPECT_THAT(fault_of(with(extension(type, "")).bytes()), HasSubstr("encrypted"));
  }
}

TEST(TlsHello, RefusesProtocolsThatCannotBeRead) {
  const auto state = [](const std::string& body) {
    return read(with(sni("a.example") + extension(16, body)).bytes()).state;
  };
  EXPECT_EQ(state(vector("\x02h2", 2)), State::complete);
  for (const std::string& body : {""s, vector("", 2), vector("\0"s, 2), vector("\x03h2", 2),
                                  vector("\x02h2", 2) + "x", "\0\x04\x02h2"s})
    EXPECT_EQ(state(body), State::refused);
  std::string many;
  for (std::size_t i = 0; i < TlsHelloParser::kMostProtocols; ++i)
    many += "\x01x";
  EXPECT_EQ(state(vector(many, 2)), State::complete);
  EXPECT_EQ(state(vector(many + "\x01x", 2)), State::refused);
}

}  // namespace
}  // namespace sallyport
