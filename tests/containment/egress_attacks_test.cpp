// Ways to a host that a cell may not reach, by way of one that it may.
#include <gmock/gmock.h>

#include "support/egress_lab.h"
#include "support/leftovers.h"

namespace sallyport::test {
namespace {

using namespace std::string_literals;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using Words = std::vector<std::string>;
using Probe = EgressLab::Probe;
using Answers = EgressLab::Answers;

constexpr const char* kPython = "/usr/bin/python3";
constexpr const char* kProxy = "198.18.0.1";
constexpr std::int64_t kAtOnce = 4000;  // also with forty others, on a loaded machine
const std::string kApi = "api.example.com";

// A head and what answers it, so that a way which is open shows.
std::string get(const std::string& target, const std::string& host) {
  return "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n";
}
std::string connect_to(const std::string& place) {
  return "CONNECT " + place + " HTTP/1.1\r\nHost: x\r\n\r\n";
}
// Greeting and request in one.
std::string socks(const std::string& address, int port, char command = 1) {
  return "\5\1\0\5"s + command + '\0' + address + static_cast<char>(port >> 8) +
         static_cast<char>(port);
}
std::string socks_name(const std::string& host) {
  return "\3"s + static_cast<char>(host.size()) + host;
}
std::string shown(const std::string& bytes) {
  return testing::PrintToString(bytes);
}
std::string hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(c));
    text += digits;
  }
  return text;
}

class EgressAttacks : public CellTest {
 protected:
  // Nobody of the lab has been asked, connected to, or sent anything.
  void nobody_was_met() { EXPECT_THAT(lab_.seen(), IsEmpty()); }

  boost::json::object cell(const Words& hosts, const Words& command, const Words& options = {}) {
    Words args = {"--json", "--timeout", "60s", "--cpu", "60s"};
    for (const std::string& host : hosts)
      args.insert(args.end(), {"--net", host});
    args.insert(args.end(), options.begin(), options.end());
    args.push_back("--");
    args.insert(args.end(), command.begin(), command.end());
    return lab_.cell(GetParam(), args).json();
  }

  EgressLab lab_;
};

// ---- Names

struct HostileName {
  std::string name;
  // Where the bytes mean something else, which is allowed: a = in an absolute URL, h = in a Host
  // header.
  std::string harmless_in = "";
};

const std::vector<HostileName>& hostile_names() {
  static const std::vector<HostileName> kNames = {
      {"evil.example.com"},
      {"example.com"},
      // Suffixes, prefixes, and a dot that matches any character.
      {"xapi.example.com"},
      {"evil-api.example.com"},
      {"api.example.com.evil.tld"},
      {"api.example.comevil"},
      {"apiXexample.com"},
      {"evil.tld.api.example.com"},
      {".api.example.com"},
      {"api..example.com"},
      {"api.example.com.."},
      {"api.example.com."},
      {"*"},
      {"*.example.com"},
      {""},
      {"."},
      // Bytes at which one reader stops and the other does not.
      {"evil.tld\0.api.example.com"s},
      {"api.example.com\0.evil.tld"s},
      {"api.example.com\0"s},
      {"api.example.com%00"},
      {"api.example.com%00.evil.tld"},
      {"api%2eexample.com"},
      {"evil%23.api.example.com"},
      {"api.example.com\x7f"},
      {"api.example.com\x01"},
      {"api.example.com\x0b"},
      {" api.example.com", "h"},
      {"api.example.com ", "h"},
      {"api.example.com\t", "h"},
      {"api.example .com"},
      {"api.example.com\r\nX: y", "h"},
      {"api.example.com\nHost: evil.example.com"},
      {"api.example.com\revil.example.com"},
      {"api_example_com"},
      {"api.example.com,evil.example.com"},
      {"api.example.com;evil.example.com"},
      {"\"api.example.com\""},
      // Who the user is, and where the host ends.
      {"user@api.example.com"},
      {"api.example.com@evil.example.com"},
      {"api.example.com:80@evil.example.com"},
      {"api.example.com\\@evil.example.com"},
      {"api.example.com#@evil.example.com"},
      {"evil.example.com#api.example.com"},
      {"evil.example.com#@api.example.com"},
      {"evil.example.com\\api.example.com"},
      {"api.example.com:80:80"},
      {"api.example.com/", "a"},
      {"api.example.com?", "a"},
      // Characters that become others.
      {"\xef\xbd\x81pi.example.com"},  // fullwidth a
      {"api\xe3\x80\x82"
       "example.com"},  // ideographic full stop
      {"api\xef\xbc\x8e"
       "example.com"},  // fullwidth full stop
      {"api\xef\xbd\xa1"
       "example.com"},                  // halfwidth ideographic full stop
      {"\xd0\xb0pi.example.com"},       // Cyrillic a
      {"ap\xc4\xb1.example.com"},       // dotless i
      {"api.example.com\xc2\xad"},      // soft hyphen
      {"api.example.com\xe2\x80\x8b"},  // zero width space
      {"api.ex\xc3\xa4mple.com"},
      {"evil.c\xe2\x84\x80.example.com"},        // "a/c" in one character (HostSplit)
      {"api.example.com\xef\xbc\x8f.evil.tld"},  // fullwidth solidus
      {"api.example.com\xff"},
      // Addresses in all their forms.
      {"127.0.0.1"},
      {"127.1"},
      {"127.0.0.1."},
      {"2130706433"},
      {"0177.0.0.1"},
      {"017700000001"},
      {"0x7f.1"},
      {"0x7f000001"},
      {"0"},
      {"0.0.0.0"},
      {"::1"},
      {"[::1]"},
      {"[::]"},
      {"[::ffff:127.0.0.1]"},
      {"[64:ff9b::a9fe:a9fe]"},
      {"[fe80::1%25lo]"},
      {"169.254.169.254"},
      {"93.184.216.34"},
      {"198.18.0.2"},
      {"localhost"},
      {"metadata.google.internal"},
      {std::string(254, 'a')},
      {"api.example.com." + std::string(200, 'a')},
  };
  return kNames;
}

// "NUL / control / percent-encoded bytes in the hostname", "Suffix/substring match", "Userinfo /
// backslash / fragment confusion", "Unicode", "Decimal/octal/hex/short IPs": each of them in every
// place where a host can be named.
TEST_P(EgressAttacks, NoSpellingOfAnotherHostPasses) {
  const auto everywhere = [](const std::string& name, const std::string& except, auto add) {
    const std::string label = shown(name) + " ";
    add(Probe{.label = label + "CONNECT",
              .host = kProxy,
              .port = 3128,
              .send = {connect_to(name + ":80") + get("/", kApi)}});
    add(Probe{.label = label + "SOCKS",
              .host = kProxy,
              .port = 3128,
              .send = {socks(socks_name(name), 80) + get("/", kApi)}});
    if (!except.contains('a'))
      add(Probe{.label = label + "absolute",
                .host = kProxy,
                .port = 3128,
                .send = {get("http://" + name + "/", name)}});
    if (!except.contains('h'))
      add(Probe{.label = label + "Host", .host = kApi, .port = 80, .send = {get("/", name)}});
    add(Probe{.label = label + "SNI",
              .host = kApi,
              .port = 443,
              .hello = kApi,
              .as = "named:" + hex(name)});
  };
  std::vector<Probe> hostile, allowed;
  for (const auto& [name, harmless_in] : hostile_names())
    everywhere(name, harmless_in, [&](Probe probe) { hostile.push_back(std::move(probe)); });
  const Words kAllowed = {"api.example.com", "API.EXAMPLE.COM", "Api.eXample.Com"};
  for (const std::string& name : kAllowed)
    everywhere(name, "", [&](Probe probe) { allowed.push_back(std::move(probe)); });

  const Words hosts = {"--net", kApi + ":80", "--net", kApi};
  const auto refused = lab_.probe(GetParam(), hosts, hostile);
  for (const auto& [label, answer] : refused.answers) {
    SCOPED_TRACE(label + " was answered with " + shown(answer.got) + answer.error);
    EXPECT_THAT(answer.got, Not(HasSubstr("hello")));
    EXPECT_THAT(answer.got, Not(HasSubstr("canary")));
    EXPECT_THAT(answer.got, Not(HasSubstr("HTTP/1.1 2")));
    if (label.ends_with("SNI"))
      EXPECT_THAT(answer.got, StartsWith("\x15"));
    else if (label.ends_with("SOCKS"))
      EXPECT_EQ(answer.got.substr(0, 4), "\5\0\5\2"s);
    else
      EXPECT_THAT(answer.got, StartsWith("HTTP/1.1 4"));
    EXPECT_LT(answer.ms, kAtOnce);
  }
  nobody_was_met();
  // Every one of them is known afterwards.
  const Words network = network_of(refused.result);
  EXPECT_THAT(network, SizeIs(hostile.size()));
  EXPECT_THAT(network, Each(HasSubstr(" refused")));

  // The twin: the probe sees an open way where there is one, and what is dialled is the one form of
  // the name.
  const auto passed = lab_.probe(GetParam(), hosts, allowed);
  for (const auto& [label, answer] : passed.answers)
    EXPECT_THAT(answer.got, label.ends_with("SNI")
                                ? testing::Matcher<std::string>(StartsWith("\x16"))
                                : HasSubstr("hello api.example.com /\n"))
        << label;
  const Words seen = lab_.seen();
  EXPECT_THAT(lines_of(seen, "dns"), Each(StartsWith("dns api.example.com ")));
  EXPECT_THAT(
      lines_of(seen, "request"),
      AllOf(SizeIs(4 * kAllowed.size()), Each("request 93.184.216.34:80 GET / api.example.com")));
}

// "CONNECT to an IP literal / other port", "CRLF in request line / header injection / CONNECT with
// spaces", and SOCKS beyond names.
TEST_P(EgressAttacks, AProxyConnectsToAllowedPortsOfNamesOnly) {
  const std::string v4 = "\1\x7f\0\0\1"s, v6 = "\4"s + std::string(15, '\0') + "\1";
  const std::string name = socks_name(kApi), request = get("/", kApi);
  const struct {
    const char* label;
    std::string bytes;
  } kAttacks[] = {
      {"another port", connect_to(kApi + ":22")},
      {"a port of another scheme", connect_to(kApi + ":443") + request},
      {"no port", connect_to(kApi)},
      {"port 0", connect_to(kApi + ":0")},
      {"port 65616 is 80 in 16 bits", connect_to(kApi + ":65616")},
      {"port 080", connect_to(kApi + ":080")},
      {"port +80", connect_to(kApi + ":+80")},
      {"port 0x50", connect_to(kApi + ":0x50")},
      {"an empty port", connect_to(kApi + ":")},
      {"a scheme", connect_to("http://" + kApi + ":80")},
      {"a path", connect_to(kApi + ":80/")},
      {"spaces", "CONNECT  " + kApi + ":80 HTTP/1.1\r\n\r\n"},
      {"a space in the target", "CONNECT " + kApi + " :80 HTTP/1.1\r\n\r\n"},
      {"a tab", "CONNECT\t" + kApi + ":80 HTTP/1.1\r\n\r\n"},
      {"a line end in the target", "CONNECT " + kApi + ":80\r\n:80 HTTP/1.1\r\n\r\n"},
      {"a bare line feed", "CONNECT " + kApi + ":80 HTTP/1.1\nHost: x\r\n\r\n"},
      {"a second target", "CONNECT " + kApi + ":80 evil.example.com:80 HTTP/1.1\r\n\r\n"},
      {"another version", "CONNECT " + kApi + ":80 HTTP/2.0\r\n\r\n"},
      {"a body", "CONNECT " + kApi + ":80 HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"},
      {"lower case", "connect " + kApi + ":80 HTTP/1.1\r\n\r\n"},
      {"https in an absolute URL", get("https://" + kApi + "/", kApi)},
      {"ftp", get("ftp://" + kApi + "/", kApi)},
      {"http to a port of https", get("http://" + kApi + ":443/", kApi + ":443")},
      {"a host that is not the header's", get("http://" + kApi + "/", "evil.example.com")},
      {"a header that is not the host's", get("http://evil.example.com/", kApi)},
      {"a path alone", get("/", kApi)},
      {"an asterisk", "OPTIONS * HTTP/1.1\r\nHost: " + kApi + "\r\n\r\n"},
      {"socks: IPv4", socks(v4, 80)},
      {"socks: IPv6", socks(v6, 80)},
      {"socks: BIND", socks(name, 80, 2)},
      {"socks: UDP ASSOCIATE", socks(name, 80, 3)},
      {"socks: another port", socks(name, 22)},
      {"socks: an unknown address type", socks("\2" + name.substr(1), 80)},
      {"socks: an unknown command", socks(name, 80, 9)},
      {"socks: a password only", "\5\1\2\1\1a\1b\5\1\0"s + name + "\0\x50"s},
      {"socks: no method", "\5\0\5\1\0"s + name + "\0\x50"s},
      {"socks: another version inside", "\5\1\0\4\1\0"s + name + "\0\x50"s},
      {"socks 4", "\4\1\0\x50\x7f\0\0\1\0"s + request},
      {"socks 4a", "\4\1\0\x50\0\0\0\1\0"s + kApi + "\0"s + request},
      {"garbage", std::string(5000, '\xfe') + "\r\n\r\n"},
      {"TLS", "\x16\3\1\0\x05\1\0\0\1\0\r\n\r\n"s},
      {"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
      {"a head without an end",
       "GET http://api.example.com/ HTTP/1.1\r\nX: " + std::string(70'000, 'x')},
      {"a CONNECT without an end",
       "CONNECT api.example.com:80 HTTP/1.1\r\nX: " + std::string(70'000, 'x')},
  };
  std::vector<Probe> probes;
  for (const auto& [label, bytes] : kAttacks)
    probes.push_back({.label = label, .host = kProxy, .port = 3128, .send = {bytes}});
  const Words hosts = {"--net", kApi + ":80", "--net", kApi};
  const auto probed = lab_.probe(GetParam(), hosts, probes);
  for (const auto& [label, answer] : probed.answers) {
    SCOPED_TRACE(label + " was answered with " + shown(answer.got) + answer.error);
    EXPECT_THAT(answer.got, Not(HasSubstr("hello")));
    // TLS is expected there, and is not what came; a CONNECT by itself is no way.
    if (label == "a port of another scheme")
      EXPECT_THAT(answer.got, EndsWith("\x15\3\3\0\2\2\x31"s));
    else
      EXPECT_THAT(answer.got, Not(HasSubstr("HTTP/1.1 2")));
    EXPECT_EQ(answer.got.find("\5\0\5\0"s), std::string::npos);
    EXPECT_LT(answer.ms, kAtOnce);
  }
  nobody_was_met();
  EXPECT_THAT(network_of(probed.result),
              AllOf(SizeIs(std::size(kAttacks)), Each(HasSubstr(" refused"))));
}

// ---- What a name leads to

// "Name that resolves to private space", "IPv4-mapped/compatible/NAT64/6to4/Teredo", "Metadata
// service".
TEST_P(EgressAttacks, NamesThatLeadInsideAreNotDialled) {
  const Words kNames = {
      "alias",      "mixed",      "mixed6",    "loopback",  "loopback2",  "zero",    "private10",
      "private172", "private192", "metadata",  "alibaba",   "cgnat",      "measure", "documents",
      "reserved",   "loopback6",  "any6",      "mapped",    "compatible", "nat64",   "sixtofour",
      "teredo",     "local6",     "multicast", "broadcast", "link6"};
  const std::set<std::string> kUntried = {"mixed", "mixed6", "multicast", "broadcast", "link6"};
  Words options;
  std::vector<Probe> probes, outside;
  for (const std::string& word : kNames) {
    const std::string name = word + ".example.com";
    options.insert(options.end(), {"--net", name + ":80"});
    probes.push_back({.label = word, .host = name, .send = {get("/", name)}});
    // Nobody can connect to some of them, in a cell or not; of two addresses the first is public.
    if (!kUntried.contains(word)) outside.push_back(probes.back());
    probes.push_back({.label = word + " proxied",
                      .host = kProxy,
                      .port = 3128,
                      .send = {get("http://" + name + "/", name)}});
  }
  options.insert(options.end(), {"--net", "fixed.example.com:80,address=127.0.0.1"});
  probes.push_back(
      {.label = "fixed", .host = "fixed.example.com", .send = {get("/", "fixed.example.com")}});
  const auto probed = lab_.probe(GetParam(), options, probes);
  for (const auto& [label, answer] : probed.answers) {
    EXPECT_THAT(answer.got,
                AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("not an address of the open internet")))
        << label << answer.error;
  }
  EXPECT_THAT(network_of(probed.result), AllOf(SizeIs(probes.size()), Each(HasSubstr(" refused"))));
  EXPECT_THAT(lab_.seen(), Each(StartsWith("dns ")));

  for (const auto& [label, answer] : lab_.probe_outside(outside))
    EXPECT_THAT(answer.got, HasSubstr("canary")) << label << answer.error;
  EXPECT_GE(lines_of(lab_.seen(), "hit").size(), outside.size() - 2);
}

// "DNS rebinding / TOCTOU between check and connect": what was looked at is what is dialled, each
// time anew.
TEST_P(EgressAttacks, ANameThatChangesIsJudgedAtEveryConnection) {
  const std::string script =
      "import urllib.request, urllib.error\n"
      "opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))\n"
      "for n in range(6):\n"
      "  try: print(opener.open('http://rebind.example.com/').read().split()[0].decode())\n"
      "  except urllib.error.HTTPError as error: print(error.code)\n";
  const auto result = cell({"rebind.example.com:80"}, {kPython, "-c", script});
  EXPECT_EQ(text_of(result, "output"), "hello\n403\nhello\n403\nhello\n403\n");
  EXPECT_THAT(
      network_of(result),
      Contains(AllOf(HasSubstr("refused rebind.example.com"), HasSubstr("127.0.0.1"))).Times(3));
  EXPECT_THAT(lines_of(lab_.seen(), "hit"), IsEmpty());

  EXPECT_THAT(lab_.outside({kPython, "-c", script}).out, HasSubstr("canary"));
  EXPECT_THAT(lines_of(lab_.seen(), "hit"), Not(IsEmpty()));
}

// "Redirect to a forbidden host (3xx)".
TEST_P(EgressAttacks, ARedirectLeadsNowhereElse) {
  const auto script = [](const std::string& curl) {
    return "for to in redirect redirect-name redirect-other redirect-same; do for how in '*' ''; "
           "do " +
           curl + " --noproxy \"$how\" http://api.example.com/$to; done; done";
  };
  const std::string curl = "curl -sSL --max-time 10";
  const auto result = cell({kApi + ":80"}, {"sh", "-c", script(curl)});
  EXPECT_THAT(text_of(result, "output"),
              AllOf(Not(HasSubstr("canary")), Not(HasSubstr("hello two")),
                    HasSubstr("hello api.example.com /same\nhello api.example.com /same\n"),
                    HasSubstr("no rule allows http to two.example.com:80")));
  EXPECT_THAT(text_of(result, "error"), HasSubstr("Could not resolve host: two.example.com"));
  const Words seen = lab_.seen();
  EXPECT_THAT(lines_of(seen, "hit"), IsEmpty());
  EXPECT_THAT(lines_of(seen, "dns"), Each(StartsWith("dns api.example.com ")));

  const Ran outside = lab_.outside({"sh", "-c", script(curl)});
  EXPECT_THAT(outside.out, AllOf(HasSubstr("canary"), HasSubstr("hello two.example.com")));
  EXPECT_THAT(lines_of(lab_.seen(), "hit"), Contains("hit 169.254.169.254:80").Times(4));
}

// ---- TLS

// "SNI ≠ CONNECT host ≠ Host header (domain fronting), missing SNI, ECH, SNI split".
TEST_P(EgressAttacks, ATlsConnectionIsForTheServerThatItsHelloNames) {
  const std::string evil = "evil.example.com", two = "two.example.com";
  const std::string connect = connect_to(kApi + ":443");
  std::vector<Probe> hostile = {
      {.label = "another name", .hello = evil, .as = "plain"},
      {.label = "another name in segments", .hello = evil, .as = "segments"},
      {.label = "another name byte by byte", .hello = evil, .as = "bytes"},
      {.label = "another name in records", .hello = evil, .as = "records"},
      {.label = "the name of another allowed host", .hello = two, .as = "plain"},
      {.label = "no name", .hello = "", .as = "plain"},
      {.label = "in records", .hello = kApi, .as = "records"},
      {.label = "encrypted", .hello = kApi, .as = "ech"},
  };
  for (Probe& probe : hostile) {
    probe.host = kApi;
    probe.port = 443;
  }
  const std::vector<Probe> outside = hostile;
  for (std::size_t i = 0; i < outside.size(); ++i) {
    Probe proxied = outside[i];
    proxied.label += ", proxied";
    proxied.host = kProxy;
    proxied.port = 3128;
    proxied.first = connect;
    hostile.push_back(proxied);
  }
  hostile.push_back(
      {.label = "two names", .host = kApi, .port = 443, .hello = kApi, .as = "twice"});
  hostile.push_back({.label = "not TLS", .host = kApi, .port = 443, .send = {get("/", kApi)}});
  hostile.push_back({.label = "not TLS, proxied",
                     .host = kProxy,
                     .port = 3128,
                     .send = {get("/", kApi)},
                     .first = connect});
  hostile.push_back({.label = "a hello of another version",
                     .host = kApi,
                     .port = 443,
                     .send = {"\x80\x2e\1\3\1\0\x15\0\0\0\x10"s + std::string(37, 'x')}});
  const std::vector<Probe> allowed = {
      {.label = "plain", .host = kApi, .port = 443, .hello = kApi, .as = "plain"},
      {.label = "in segments", .host = kApi, .port = 443, .hello = kApi, .as = "segments"},
      {.label = "byte by byte", .host = kApi, .port = 443, .hello = kApi, .as = "bytes"},
      {.label = "another", .host = two, .port = 443, .hello = two, .as = "plain"},
      {.label = "proxied",
       .host = kProxy,
       .port = 3128,
       .hello = kApi,
       .as = "segments",
       .first = connect},
  };
  const Words hosts = {"--net", kApi, "--net", two};
  const auto refused = lab_.probe(GetParam(), hosts, hostile);
  for (const auto& [label, answer] : refused.answers) {
    EXPECT_THAT(answer.got, EndsWith("\x15\3\3\0\2\2\x31"s)) << label << answer.error;
    EXPECT_LT(answer.ms, kAtOnce) << label;
  }
  EXPECT_THAT(network_of(refused.result),
              AllOf(SizeIs(hostile.size()), Each(HasSubstr(" refused"))));
  nobody_was_met();

  const auto passed = lab_.probe(GetParam(), hosts, allowed);
  for (const auto& [label, answer] : passed.answers)
    EXPECT_THAT(answer.got, HasSubstr("\x16\3\3"s)) << label << answer.error;
  EXPECT_THAT(lines_of(lab_.seen(), "sni"),
              Each(AnyOf("sni api.example.com", "sni two.example.com")));

  // The twin: servers answer all of them.
  for (const auto& [label, answer] : lab_.probe_outside(outside))
    EXPECT_THAT(answer.got, StartsWith("\x16\3\3"s)) << label << answer.error;
  EXPECT_THAT(lines_of(lab_.seen(), "sni"), Contains("sni evil.example.com").Times(4));
}

// ---- Requests

// "absolute-form URI vs Host, second request on a keep-alive connection, CL/TE smuggling, bare LF":
// whatever a server might take for a second request does not reach it.
TEST_P(EgressAttacks, NoRequestIsSmuggledInAnother) {
  const std::string raw = "raw.example.com", host = "Host: " + raw + "\r\n";
  const std::string hidden = "GET /smuggled HTTP/1.1\r\nHost: evil.example.com\r\n\r\n";
  const std::string post = "POST / HTTP/1.1\r\n" + host;
  const struct {
    const char* label;
    std::string bytes;
  } kAttacks[] = {
      {"CL.TE", post + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden},
      {"TE.CL", post + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + hidden},
      {"two lengths", post + "Content-Length: 0\r\nContent-Length: 64\r\n\r\n" + hidden},
      {"the same length twice",
       post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc" + hidden},
      {"a list of lengths", post + "Content-Length: 0, 64\r\n\r\n" + hidden},
      {"+0", post + "Content-Length: +0\r\n\r\n" + hidden},
      {"-1", post + "Content-Length: -1\r\n\r\n" + hidden},
      {"hexadecimal", post + "Content-Length: 0x40\r\n\r\n" + hidden},
      {"2^64", post + "Content-Length: 18446744073709551616\r\n\r\n" + hidden},
      {"an empty length", post + "Content-Length:\r\n\r\n" + hidden},
      {"a coding behind chunked",
       post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + hidden},
      {"a coding before chunked",
       post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + hidden},
      {"an unknown coding", post + "Transfer-Encoding: xchunked\r\n\r\n" + hidden},
      {"a coding twice",
       post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" +
           hidden},
      {"a space before the colon",
       post + "Transfer-Encoding : chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + hidden},
      {"a vertical tab", post + "Transfer-Encoding:\vchunked\r\n\r\n0\r\n\r\n" + hidden},
      {"a null byte", post + "X: a\0b\r\n\r\n"s + hidden},
      {"a folded header", post + "X: a\r\n Content-Length: 64\r\n\r\n" + hidden},
      {"a folded first header", "GET / HTTP/1.1\r\n " + host + "\r\n" + hidden},
      {"a bare line feed between headers", post + "X: a\nContent-Length: 64\r\n\r\n" + hidden},
      {"bare line feeds", "GET / HTTP/1.1\nHost: " + raw + "\n\n" + hidden},
      {"a bare carriage return", post + "X: a\rContent-Length: 64\r\n\r\n" + hidden},
      {"a header without a colon", post + "Content-Length\r\n\r\n" + hidden},
      {"a header without a name", post + ": 64\r\n\r\n" + hidden},
      {"two hosts", "GET / HTTP/1.1\r\n" + host + "Host: evil.example.com\r\n\r\n" + hidden},
      {"two hosts, folded",
       "GET / HTTP/1.1\r\n" + host + "\thost: evil.example.com\r\n\r\n" + hidden},
      {"no host", "GET / HTTP/1.1\r\n\r\n" + hidden},
      {"HTTP/0.9", "GET /smuggled\r\n\r\n"},
      {"chunks in HTTP/1.0",
       "POST / HTTP/1.0\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden},
      {"a space in the target", "GET / HTTP/1.1\r\nX: /smuggled HTTP/1.1\r\n" + hidden},
      {"another first line", "\r\nGET /smuggled HTTP/1.1\r\n" + host + "\r\n"},
      {"another version", "GET /smuggled HTTP/1.2\r\n" + host + "\r\n"},
      {"two requests", "GET / HTTP/1.1\r\n" + host + "\r\n" + hidden},
      {"a length of 0", post + "Content-Length: 0\r\n\r\n" + hidden},
      {"a chunk size in hexadecimal notation",
       post + "Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n" + hidden},
      {"a chunk size with a sign", post + "Transfer-Encoding: chunked\r\n\r\n-0\r\n\r\n" + hidden},
      {"a chunk size of 68 bits",
       post + "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n\r\n" + hidden},
      {"a chunk without its end",
       post + "Transfer-Encoding: chunked\r\n\r\n1\r\na0\r\n\r\n" + hidden},
      {"a chunk with bare line feeds", post + "Transfer-Encoding: chunked\r\n\r\n0\n\n" + hidden},
      {"a chunk extension with a line feed",
       post + "Transfer-Encoding: chunked\r\n\r\n0;a\nb\r\n\r\n" + hidden},
      {"trailers",
       post + "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 64\r\n\r\n" + hidden},
      {"an upgrade that is not answered",
       "GET / HTTP/1.1\r\n" + host + "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n" + hidden},
      {"an absolute URL of another host",
       "GET http://evil.example.com/smuggled HTTP/1.1\r\n" + host + "\r\n"},
  };
  std::vector<Probe> probes, outside;
  for (const auto& [label, bytes] : kAttacks) {
    probes.push_back({.label = label, .host = raw, .send = {bytes}});
    probes.push_back({.label = std::string(label) + ", connected",
                      .host = kProxy,
                      .port = 3128,
                      .send = {connect_to(raw + ":80") + bytes}});
    outside.push_back({.label = label, .host = "93.184.216.37", .send = {bytes}});
  }
  const auto probed = lab_.probe(GetParam(), {"--net", raw + ":80"}, probes);
  for (const auto& [label, answer] : probed.answers) {
    SCOPED_TRACE(label + " was answered with " + shown(answer.got) + answer.error);
    EXPECT_LT(answer.ms, kAtOnce);
    EXPECT_THAT(answer.error, AnyOf("", "ECONNRESET"));
  }
  const Words seen = lab_.seen();
  EXPECT_THAT(seen, Not(Contains(HasSubstr("smuggled"))));
  EXPECT_THAT(seen, Not(Contains(HasSubstr("evil"))));
  EXPECT_THAT(network_of(probed.result), Contains(HasSubstr("refused")).Times(testing::Ge(70)));
  // That which is well-formed goes on without what is hidden in it.
  EXPECT_THAT(lines_of(seen, "raw"), Not(IsEmpty()));

  EXPECT_THAT(lab_.probe_outside(outside), SizeIs(outside.size()));
  EXPECT_THAT(lines_of(lab_.seen(), "raw"),
              Contains(HasSubstr("smuggled")).Times(static_cast<int>(outside.size())));
}

// ---- The cell against what serves it

// "DNS tunnelling", and everything that could be said to a listener.
TEST_P(EgressAttacks, GarbageIsSurvived) {
  const auto result = cell({kApi + ":80", kApi, kApi + ":7000,tcp"}, {kPython, "-c", R"(
import os, random, socket, struct, urllib.request
random.seed(4)
names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
names.connect(('127.0.0.1', 53))
def question(name, flags=0x0100, count=1, kind=1, cls=1, more=b''):
    return struct.pack('>HHHHHH', 7, flags, count, 0, 0, 0) + name + struct.pack('>HH', kind, cls) + more
api = b'\3api\7example\3com\0'
for datagram in (b'', b'x', question(api, 0x8180), question(api, 0x2800), question(api, count=0),
                 question(api, count=2), question(b'\xc0\x0c'), question(b'\x40' + b'a' * 64 + b'\0'),
                 question(b'\0'), question(api, cls=3), question(api, cls=255), question(api, kind=252),
                 question(api, more=b'trailing'), question(b''.join(b'\x01a' for _ in range(200)) + b'\0'),
                 question(b'\3a.b\7example\3com\0'), question(b'\4a\0bc\7example\3com\0'),
                 question(b'\x3f' + b's' * 63 + b'\4evil\3tld\0'), b'\xff' * 512, b'\0' * 4000):
    names.send(datagram)
for _ in range(300):
    names.send(os.urandom(random.randrange(0, 600)))
for place in (('198.18.0.1', 3128), ('198.18.0.2', 80), ('198.18.0.2', 443)) * 15:
    with socket.create_connection(place) as one:
        one.sendall(random.choice((b'', b'\x16\x03\x01', b'\x05', b'\x05\x01\x00', b'GET ', b'CONNECT ',
                                   b'\r\n\r\n')) + os.urandom(random.randrange(0, 3000)))
        if random.random() < 0.5:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
# asks again, as every resolver does: a datagram may be lost where the garbage has filled the queue
names.settimeout(1)
for attempt in range(60):
    names.send(question(api))
    try:
        while names.recv(600)[-4:] != bytes((198, 18, 0, 2)): pass
        break
    except TimeoutError: pass
else: raise SystemExit('no answer')
print('named')
print(urllib.request.urlopen('http://api.example.com/').read())
print(urllib.request.urlopen('https://api.example.com/').read())
)"});
  EXPECT_EQ(text_of(result, "output"),
            "named\nb'hello api.example.com /\\n'\nb'hello api.example.com /\\n'\n")
      << text_of(result, "error");
  EXPECT_THAT(lines_of(lab_.seen(), "dns"), Each(StartsWith("dns api.example.com ")));
}

TEST_P(EgressAttacks, ACellCannotTakeThePlaceOfWhatServesItOrFindIt) {
  const std::string script = R"(
import errno, os, socket
def attempt(label, action):
    try: print(label, action())
    except OSError as error: print(label, errno.errorcode[error.errno])
def bind(kind, place, *options):
    def act():
        one = socket.socket(socket.AF_INET6 if ':' in place[0] else socket.AF_INET, kind)
        for option in options: one.setsockopt(socket.SOL_SOCKET, option, 1)
        one.bind(place)
        if kind == socket.SOCK_STREAM: one.listen()
        return 'bound'
    return act
for options in (), (socket.SO_REUSEADDR,), (socket.SO_REUSEPORT,), (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
    for place in ('198.18.0.1', 3128), ('0.0.0.0', 3128), ('::', 3128), ('198.18.0.2', 7000), ('198.18.0.2', 80):
        attempt('bind', bind(socket.SOCK_STREAM, place, *options))
    attempt('bind', bind(socket.SOCK_DGRAM, ('127.0.0.1', 53), *options))
def abstract():
    with socket.socket(socket.AF_UNIX) as one:
        one.connect('\0egress-lab')
        return 'connected'
attempt('abstract', abstract)
print('descriptors', sorted(os.listdir('/proc/self/fd'))[:-1])
for path in ('/proc/1/fd', '/proc/1/root', '/proc/1/ns/net'):
    attempt(path, lambda: 'open' if (os.listdir(path) if path != '/proc/1/ns/net' else os.open(path, 0)) else '')
def name_of(pid):
    try: return open('/proc/%s/comm' % pid).read().strip()
    except OSError: return ''
print('processes', sorted(name_of(pid) for pid in os.listdir('/proc') if pid.isdigit()))
print('sockets', [line.split()[-1] for line in open('/proc/net/unix').readlines()[1:]])
import urllib.request
print(urllib.request.urlopen('http://api.example.com/').read())
)";
  const auto result =
      cell({kApi + ":80", kApi + ":7000,tcp"}, {kPython, "-c", script}, {"--env", "LC_ALL=C"});
  const std::string out = text_of(result, "output");
  EXPECT_THAT(out, Not(HasSubstr("bound"))) << text_of(result, "error");
  EXPECT_THAT(out, HasSubstr("bind EADDRINUSE"));
  EXPECT_THAT(out, AnyOf(HasSubstr("abstract ECONNREFUSED\n"), HasSubstr("abstract EPERM\n")));
  EXPECT_THAT(out, HasSubstr("\ndescriptors ['0', '1', '2']\n"));
  EXPECT_THAT(out, AllOf(Not(HasSubstr("open")), Not(HasSubstr("sally-egress"))));
  EXPECT_THAT(out, Not(HasSubstr("egress-lab")));
  EXPECT_THAT(out, EndsWith("b'hello api.example.com /\\n'\n"));
  EXPECT_THAT(lines_of(lab_.seen(), "hit"), IsEmpty());

  const std::string outside = lab_.outside({kPython, "-c", script}).out;
  EXPECT_THAT(outside, AllOf(HasSubstr("abstract connected"), HasSubstr("bind bound"),
                             HasSubstr("@egress-lab"), HasSubstr("/proc/1/fd open")));
}

// ---- What is left

// The processes of a cell's network: those that sallyport started beside the cell.
std::vector<pid_t> egress_processes_of(pid_t sallyport) {
  std::vector<pid_t> found;
  for (const pid_t pid : descendants_of(sallyport))
    if (read_file("/proc/" + std::to_string(pid) + "/comm") == "sally-egress\n")
      found.push_back(pid);
  return found;
}

constexpr const char* kHeldOpen =
    "import socket, sys, time\n"
    "held = [socket.create_connection(('api.example.com', 7000)) for _ in range(5)]\n"
    "print('held', all(one.recv(8) for one in held), flush=True)\n"
    "try:\n"
    "  while held[0].recv(100): pass\n"
    "except OSError: pass\n"
    "print('reset', flush=True)\n"
    "time.sleep(float(sys.argv[1]))\n";

TEST_P(EgressAttacks, NothingIsLeftOfAKilledCall) {
  for (const int number : {SIGKILL, SIGTERM}) {
    SCOPED_TRACE(number);
    LiveProcess cell = lab_.start_cell(GetParam(), {"--net", kApi + ":7000,tcp", "--timeout", "60s",
                                                    "--", kPython, "-c", kHeldOpen, "60"});
    ASSERT_TRUE(cell.says("held True"));
    const std::vector<pid_t> processes = descendants_of(cell.pid());
    ASSERT_THAT(egress_processes_of(cell.pid()), SizeIs(1));
    std::set<std::string> namespaces;
    for (const pid_t pid : processes) {
      std::error_code gone;
      namespaces.insert(
          "namespace " +
          std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/ns/net", gone).string());
    }
    EXPECT_THAT(namespaces, SizeIs(2));  // the lab's, and the cell's
    cell.signal(number);
    EXPECT_NE(cell.wait(), -1);
    for (const pid_t pid : processes)
      EXPECT_TRUE(eventually([&] {
        return !std::filesystem::exists("/proc/" + std::to_string(pid));
      })) << pid;
    // The lab's is left. The kernel lets go of the other in its own time.
    EXPECT_TRUE(eventually([&] {
      const auto live = live_namespaces();
      return std::ranges::count_if(namespaces,
                                   [&](const auto& name) { return live.contains(name); }) == 1;
    }));
  }
}

// What a hostile host or cell would have if it took the process over.
TEST_P(EgressAttacks, TheProcessThatServesACellHasNoPowers) {
  LiveProcess cell = lab_.start_cell(GetParam(), {"--net", kApi + ":7000,tcp", "--timeout", "60s",
                                                  "--", kPython, "-c", kHeldOpen, "60"});
  ASSERT_TRUE(cell.says("held True"));
  const auto processes = egress_processes_of(cell.pid());
  ASSERT_THAT(processes, SizeIs(1));
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"})
    EXPECT_EQ(status_of(processes[0], set), "0000000000000000") << set;
  if (GetParam() == As::root) EXPECT_EQ(status_of(processes[0], "CapBnd"), "0000000000000000");
  EXPECT_EQ(status_of(processes[0], "NoNewPrivs"), "1");
  EXPECT_EQ(status_of(processes[0], "Seccomp"), "2");
  // Its user's other processes cannot look into it.
  const std::string memory = "/proc/" + std::to_string(processes[0]) + "/mem";
  EXPECT_NE(lab_.outside({"cat", memory}, "", As::user).exit_code, 0);
  EXPECT_THAT(lab_.outside({"cat", memory}, "", As::user).err, HasSubstr("Permission denied"));
}

// Without the process that serves it a cell has no network; it is told so, and does not hang.
TEST_P(EgressAttacks, ACellOutlivesItsNetwork) {
  LiveProcess cell = lab_.start_cell(GetParam(), {"--net", kApi + ":7000,tcp", "--timeout", "60s",
                                                  "--", kPython, "-c", kHeldOpen, "0"});
  ASSERT_TRUE(cell.says("held True"));
  const auto processes = egress_processes_of(cell.pid());
  ASSERT_THAT(processes, SizeIs(1));
  ASSERT_EQ(::kill(processes[0], SIGKILL), 0);
  EXPECT_TRUE(cell.says("reset"));
  EXPECT_EQ(cell.wait(), 0);
}

SALLYPORT_FOR_ROOT_AND_USER(EgressAttacks);

}  // namespace
}  // namespace sallyport::test
