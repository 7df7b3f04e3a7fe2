#include "egress/name_lookup.h"

#include <gmock/gmock.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "egress/dns_fixture.h"
#include "egress/dns_server_fixture.h"

namespace sallyport {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace std::string_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Clock = std::chrono::steady_clock;

const std::string kAsked = dns_pointer(12);
const std::string kV4 = "\xc0\0\x02\x01"s, kV6 = "\x20\x01\x0d\xb8"s + std::string(11, 0) + "\x01";

HostName host(std::string_view text) {
  return *HostName::parse(text);
}

std::vector<std::string> texts(const std::vector<IpAddress>& addresses) {
  std::vector<std::string> texts;
  for (const IpAddress& address : addresses)
    texts.push_back(address.to_text());
  return texts;
}

// The addresses, or the message of the error.
std::vector<std::string> look(std::string_view name, const LookupSettings& settings) {
  asio::io_context io(1);
  std::vector<std::string> found;
  asio::co_spawn(io, look_up(host(name), settings), [&](std::exception_ptr fault, auto addresses) {
    EXPECT_FALSE(fault);
    found = addresses ? texts(*addresses) : std::vector{addresses.error().message};
    EXPECT_TRUE(addresses || addresses.error().reason == Reason::unavailable);
  });
  io.run();
  return found;
}

bool wants(const std::string& query, std::size_t type) {
  return dns_question(query).ends_with(dns_number(type, 2) + dns_number(1, 2));
}

// One address of each kind.
std::string usual(const std::string& query) {
  return DnsReply{
      .answers = {wants(query, kA) ? dns_record(kAsked, kA, kV4) : dns_record(kAsked, kAaaa, kV6)}}
      .to(query);
}

std::string with_rcode(const std::string& query, std::size_t rcode) {
  return DnsReply{.flags = 0x8180 | rcode}.to(query);
}

using Datagrams = std::vector<std::string>;

LookupSettings settings_for(const std::vector<const DnsServer*>& servers,
                            std::chrono::milliseconds timeout = 5000ms) {
  LookupSettings settings;
  settings.servers.clear();
  for (const DnsServer* server : servers)
    settings.servers.push_back({.port = server->port()});
  settings.timeout = timeout;
  settings.attempts = 1;
  return settings;
}

TEST(LookupSettings, ReadsNameServersAndOptions) {
  const auto settings = read_lookup_settings(
      "# nameserver 192.0.2.9\n; nameserver 192.0.2.9\ndomain example.com\n"
      "search a.example b.example\n\n  nameserver 192.0.2.1 # the "
      "first\nnameserver\t2001:db8::1\r\n"
      "nameserver fe80::1%eth0\nnameserver name.example\nnameserver 127.1\nnameserver\n"
      "nameservers 192.0.2.9\noptions edns0 timeout:3 attempts:4 rotate\nnameserver 192.0.2.3\n"
      "nameserver 192.0.2.4",
      "");
  EXPECT_THAT(settings.servers, ElementsAre(NameServer{*IpAddress::parse("192.0.2.1"), 53},
                                            NameServer{*IpAddress::parse("2001:db8::1"), 53},
                                            NameServer{*IpAddress::parse("192.0.2.3"), 53}));
  EXPECT_EQ(settings.timeout, 3s);
  EXPECT_EQ(settings.attempts, 4);
}

TEST(LookupSettings, BoundsOptions) {
  const auto options = [](const std::string& text) {
    return read_lookup_settings("options " + text, "");
  };
  EXPECT_EQ(options("timeout:0 attempts:0").timeout, 1s);
  EXPECT_EQ(options("timeout:0 attempts:0").attempts, 1);
  EXPECT_EQ(options("timeout:30 attempts:1000").timeout, 5s);
  EXPECT_EQ(options("timeout:30 attempts:1000").attempts, 5);
  for (const char* const text : {"timeout:", "timeout:-1", "timeout:99999999999", "timeout:2x"})
    EXPECT_EQ(options(text).timeout, LookupSettings().timeout) << text;
}

TEST(LookupSettings, AsksThisMachineWithoutNameServers) {
  for (const char* const text : {"", "nameserver fe80::1%eth0\n", "search example.com"})
    EXPECT_THAT(read_lookup_settings(text, "").servers,
                ElementsAre(NameServer{*IpAddress::parse("127.0.0.1"), 53}));
}

TEST(LookupSettings, ReadsHosts) {
  const auto hosts =
      read_lookup_settings("",
                           "127.0.0.1 localhost\n::1\tlocalhost ip6-localhost\n"
                           "# 192.0.2.9 commented\n2001:db8::1 Db.Example db # none\n"
                           "192.0.2.1 db.example\n192.0.2.1 db.example\n"
                           "nonsense x.example\n192.0.2.2 a_b c.example\n192.0.2.3")
          .hosts;
  EXPECT_EQ(hosts.size(), 5);
  EXPECT_THAT(texts(hosts.at(host("localhost"))), ElementsAre("127.0.0.1", "::1"));
  EXPECT_THAT(texts(hosts.at(host("db.example"))), ElementsAre("192.0.2.1", "2001:db8::1"));
  EXPECT_THAT(texts(hosts.at(host("db"))), ElementsAre("2001:db8::1"));
  EXPECT_THAT(texts(hosts.at(host("c.example"))), ElementsAre("192.0.2.2"));
}

TEST(NameLookup, FindsAllAddresses) {
  const DnsServer server([](const std::string& query, bool) { return Datagrams{usual(query)}; });
  EXPECT_THAT(look("api.example.com", settings_for({&server})),
              ElementsAre("192.0.2.1", "2001:db8::1"));
  EXPECT_EQ(server.queries().size(), 2);
}

TEST(NameLookup, AsksNobodyForWhatItKnows) {
  const DnsServer server([](const std::string& query, bool) { return Datagrams{usual(query)}; });
  LookupSettings settings = settings_for({&server});
  settings.hosts[host("db.example")] = {*IpAddress::parse("10.0.0.7")};
  EXPECT_THAT(look("DB.example", settings), ElementsAre("10.0.0.7"));
  EXPECT_THAT(look("localhost", settings), ElementsAre("127.0.0.1", "::1"));
  EXPECT_THAT(look("x.localhost", settings), ElementsAre("127.0.0.1", "::1"));
  EXPECT_THAT(server.queries(), IsEmpty());
}

TEST(NameLookup, PassesOverWhatIsNoAnswerToIt) {
  const DnsServer server([](const std::string& query, bool) {
    const std::string forged =
        DnsReply{.answers = {dns_record(kAsked, kA, "\x0a\0\0\x01"s)}}.to(query);
    std::string other = forged;
    other[0] = static_cast<char>(other[0] ^ 1);
    return Datagrams{other,       "",
                     "rubbish",   forged.substr(0, forged.size() - 1),
                     query,       std::string(4000, 'x'),
                     usual(query)};
  });
  EXPECT_THAT(look("api.example.com", settings_for({&server})),
              ElementsAre("192.0.2.1", "2001:db8::1"));
}

TEST(NameLookup, ListensToNoFloodOfGuesses) {
  const DnsServer server([](const std::string& query, bool) {
    Datagrams datagrams(64, "guess");
    datagrams.push_back(usual(query));
    return datagrams;
  });
  EXPECT_THAT(look("api.example.com", settings_for({&server})),
              ElementsAre(HasSubstr("nothing that came was an answer")));
}

TEST(NameLookup, AsksOverTcpWhenAnAnswerIsCutOff) {
  const DnsServer server([](const std::string& query, bool tcp) {
    if (!tcp) return Datagrams{DnsReply{.flags = 0x8380}.to(query)};
    DnsReply reply;
    if (wants(query, kA))
      for (std::size_t i = 0; i < 200; ++i)
        reply.answers.push_back(dns_record(kAsked, kA, dns_number(0xC000'0200 + i, 4)));
    return Datagrams{reply.to(query)};
  });
  const auto found = look("api.example.com", settings_for({&server}));
  EXPECT_EQ(found.size(), 200);
  EXPECT_EQ(found.back(), "192.0.2.199");
}

TEST(NameLookup, TakesNothingBrokenOverTcp) {
  for (const bool cut : {false, true}) {
    const DnsServer server([cut](const std::string& query, bool tcp) {
      if (tcp && !cut) return Datagrams{"rubbish"};
      return Datagrams{DnsReply{.flags = 0x8380}.to(query)};
    });
    EXPECT_THAT(look("api.example.com", settings_for({&server})),
                ElementsAre(AllOf(HasSubstr("could not be looked up"),
                                  HasSubstr(cut ? "cut off" : "malformed"))));
  }
  const DnsServer closing([](const std::string& query, bool tcp) {
    return tcp ? Datagrams{} : Datagrams{DnsReply{.flags = 0x8380}.to(query)};
  });
  EXPECT_THAT(look("api.example.com", settings_for({&closing})),
              ElementsAre(HasSubstr("could not be looked up")));
}

TEST(NameLookup, AsksTheNextServer) {
  const DnsServer silent([](const std::string&, bool) { return Datagrams{}; });
  const DnsServer failing(
      [](const std::string& query, bool) { return Datagrams{with_rcode(query, 2)}; });
  const DnsServer malformed([](const std::string& query, bool) {
    return Datagrams{DnsReply{.answers = {dns_record(kAsked, kA, "short")}}.to(query)};
  });
  const DnsServer good([](const std::string& query, bool) { return Datagrams{usual(query)}; });
  for (const DnsServer* first : {&silent, &failing, &malformed}) {
    EXPECT_THAT(look("api.example.com", settings_for({first, &good}, 500ms)),
                ElementsAre("192.0.2.1", "2001:db8::1"));
    EXPECT_EQ(first->queries().size(), 2);
  }
  EXPECT_THAT(look("api.example.com", settings_for({&silent}, 50ms)),
              ElementsAre(HasSubstr("no answer in time")));
  EXPECT_THAT(look("api.example.com", settings_for({&failing})),
              ElementsAre(HasSubstr("answers with error 2")));
}

TEST(NameLookup, AsksAgain) {
  std::atomic<int> asked = 0;
  const DnsServer server([&](const std::string& query, bool) {
    return ++asked <= 2 ? Datagrams{} : Datagrams{usual(query)};
  });
  LookupSettings settings = settings_for({&server}, 500ms);
  settings.attempts = 2;
  EXPECT_THAT(look("api.example.com", settings), ElementsAre("192.0.2.1", "2001:db8::1"));
  // Another number and another port each time.
  EXPECT_EQ(server.queries().size(), 4);
  EXPECT_EQ(server.ports().size(), 4);
}

TEST(NameLookup, GoesOnAtOnceWhereNobodyListens) {
  const DnsServer good([](const std::string& query, bool) { return Datagrams{usual(query)}; });
  LookupSettings settings = settings_for({&good, &good});
  settings.servers[0].port = 1;
  const auto begin = Clock::now();
  EXPECT_THAT(look("api.example.com", settings), ElementsAre("192.0.2.1", "2001:db8::1"));
  EXPECT_LT(Clock::now() - begin, settings.timeout);
}

TEST(NameLookup, TellsWhatDoesNotExistFromWhatHasNoAddress) {
  const DnsServer unknown(
      [](const std::string& query, bool) { return Datagrams{with_rcode(query, 3)}; });
  const DnsServer none(
      [](const std::string& query, bool) { return Datagrams{with_rcode(query, 0)}; });
  const DnsServer good([](const std::string& query, bool) { return Datagrams{usual(query)}; });
  EXPECT_THAT(look("api.example.com", settings_for({&unknown, &good})),
              ElementsAre("the host 'api.example.com' does not exist"));
  EXPECT_THAT(look("api.example.com", settings_for({&none, &good})),
              ElementsAre("the host 'api.example.com' has no address"));
  EXPECT_THAT(good.queries(), IsEmpty());
}

TEST(NameLookup, DoesWithOneKindOfAddress) {
  for (const std::size_t rcode : {0, 2, 3, 4}) {
    const DnsServer server([rcode](const std::string& query, bool) {
      return Datagrams{wants(query, kA) ? usual(query) : with_rcode(query, rcode)};
    });
    EXPECT_THAT(look("api.example.com", settings_for({&server})), ElementsAre("192.0.2.1"));
  }
  const DnsServer silent([](const std::string& query, bool) {
    return wants(query, kA) ? Datagrams{} : Datagrams{usual(query)};
  });
  EXPECT_THAT(look("api.example.com", settings_for({&silent}, 500ms)), ElementsAre("2001:db8::1"));
}

TEST(NameLookup, FollowsAliases) {
  const DnsServer server([](const std::string& query, bool) {
    if (!wants(query, kA)) return Datagrams{with_rcode(query, 0)};
    return Datagrams{DnsReply{.answers = {dns_record(kAsked, kCname, dns_name("b.example")),
                                          dns_record(dns_name("b.example"), kA, kV4)}}
                         .to(query)};
  });
  EXPECT_THAT(look("api.example.com", settings_for({&server})), ElementsAre("192.0.2.1"));
}

TEST(NameLookup, EndsWhenItIsCancelled) {
  const DnsServer silent([](const std::string&, bool) { return Datagrams{}; });
  const LookupSettings settings = settings_for({&silent});
  asio::io_context io(1);
  asio::cancellation_signal signal;
  std::string message;
  asio::co_spawn(
      io, look_up(host("api.example.com"), settings),
      asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr fault, auto addresses) {
        EXPECT_FALSE(fault);
        message = addresses ? "found" : addresses.error().message;
      }));
  asio::steady_timer timer(io, 50ms);
  timer.async_wait([&](auto) { signal.emit(asio::cancellation_type::terminal); });
  const auto begin = Clock::now();
  io.run();
  EXPECT_LT(Clock::now() - begin, settings.timeout);
  EXPECT_THAT(message, HasSubstr("could not be looked up"));
}

}  // namespace
}  // namespace sallyport
