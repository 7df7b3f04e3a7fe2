#include "egress/dns_message.h"

#include <gmock/gmock.h>

#include "egress/dns_fixture.h"

namespace sallyport {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint16_t kId = 0x1234;
const std::string kOne = "\xc0\0\x02\x01"s, kTwo = "\xc0\0\x02\x02"s;

HostName host(std::string_view text) {
  return *HostName::parse(text);
}

std::string query(DnsType type = DnsType::a) {
  return make_dns_query(kId, host("api.example.com"), type);
}

Result<DnsAnswer> parse(const std::string& message, DnsType type = DnsType::a) {
  return parse_dns_answer(message, kId, host("api.example.com"), type);
}

Result<DnsAnswer> parse(const DnsReply& reply, DnsType type = DnsType::a) {
  return parse(reply.to(query(type)), type);
}

std::vector<std::string> texts(const Result<DnsAnswer>& answer) {
  std::vector<std::string> texts;
  if (!answer) return {answer.error().message};
  for (const IpAddress& address : answer->addresses)
    texts.push_back(address.to_text());
  return texts;
}

std::string fault_of(const Result<DnsAnswer>& answer) {
  return answer ? "none" : answer.error().message;
}

const std::string kAsked = dns_pointer(12);

TEST(DnsMessage, AsksForOneName) {
  EXPECT_EQ(query(DnsType::aaaa),
            "\x12\x34\x01\0\0\x01\0\0\0\0\0\x01\x03"
            "api\x07"
            "example\x03"
            "com\0\0\x1c\0\x01\0\0\x29\x04\xd0\0\0\0\0\0\0"s);
}

TEST(DnsMessage, ReadsAddresses) {
  const auto v4 = parse({.answers = {dns_record(kAsked, kA, kOne, 300),
                                     dns_record(dns_name("API.example.COM"), kA, kTwo, 60),
                                     dns_record(kAsked, kA, kOne, 300)}});
  EXPECT_THAT(texts(v4), ElementsAre("192.0.2.1", "192.0.2.2"));
  EXPECT_EQ(v4->ttl, 60);
  EXPECT_EQ(v4->rcode, DnsAnswer::kNoError);
  const auto v6 = parse(
      {.answers = {dns_record(kAsked, kAaaa, "\x20\x01\x0d\xb8"s + std::string(11, 0) + "\x01"),
                   dns_record(kAsked, kA, kOne)},
       .authorities = {dns_record(kAsked, kAaaa, std::string(16, 1))},
       .additional = {dns_record("\0"s, 41, "", 0, 1232)}},
      DnsType::aaaa);
  EXPECT_THAT(texts(v6), ElementsAre("2001:db8::1"));
  EXPECT_EQ(parse({.answers = {dns_record(kAsked, kA, kOne, 0x8000'0000)}})->ttl, 0);
}

TEST(DnsMessage, TellsWhatIsNotThere) {
  const auto none = parse(DnsReply{});
  EXPECT_THAT(texts(none), IsEmpty());
  EXPECT_EQ(none->rcode, DnsAnswer::kNoError);
  const auto unknown = parse({.flags = 0x8183, .answers = {dns_record(kAsked, kA, kOne)}});
  EXPECT_EQ(unknown->rcode, DnsAnswer::kNoSuchName);
  EXPECT_THAT(texts(unknown), IsEmpty());
  EXPECT_EQ(parse({.flags = 0x8182})->rcode, 2);
  // Cut off, wherever that was.
  std::string cut =
      DnsReply{.flags = 0x8380, .answers = {dns_record(kAsked, kA, kOne)}}.to(query());
  cut.resize(cut.size() - 7);
  EXPECT_TRUE(parse(cut)->truncated);
  EXPECT_THAT(texts(parse(cut)), IsEmpty());
}

TEST(DnsMessage, FollowsAliases) {
  const std::string b = dns_name("b.example.net"), c = dns_name("c.example.org");
  const auto answer =
      parse({.answers = {dns_record(c, kA, kOne, 300), dns_record(b, kCname, c, 20),
                         dns_record(kAsked, kCname, b, 100), dns_record(b, kA, kTwo, 5),
                         dns_record(kAsked, kA, kTwo, 5)}});
  EXPECT_THAT(texts(answer), ElementsAre("192.0.2.1"));
  EXPECT_EQ(answer->ttl, 20);
  // Beside the answer, of another class, or of another name.
  EXPECT_THAT(texts(parse({.answers = {dns_record(b, kA, kOne)},
                           .authorities = {dns_record(kAsked, kCname, b)},
                           .additional = {dns_record(kAsked, kA, kTwo)}})),
              IsEmpty());
  EXPECT_THAT(texts(parse({.answers = {dns_record(kAsked, kA, kOne, 300, 3)}})), IsEmpty());
  // A dot within a label does not make two of it.
  EXPECT_THAT(texts(parse({.answers = {dns_record("\x0b"
                                                  "api.example\x03"
                                                  "com\0"s,
                                                  kA, kOne)}})),
              IsEmpty());
}

TEST(DnsMessage, FollowsNoAliasesWithoutEnd) {
  const std::string b = dns_name("b.example");
  EXPECT_THAT(fault_of(parse({.answers = {dns_record(kAsked, kCname, kAsked)}})),
              HasSubstr("circle"));
  EXPECT_THAT(
      fault_of(parse({.answers = {dns_record(kAsked, kCname, b), dns_record(b, kCname, kAsked)}})),
      HasSubstr("circle"));
  EXPECT_THAT(fault_of(parse({.answers = {dns_record(kAsked, kCname, b),
                                          dns_record(kAsked, kCname, dns_name("c.example"))}})),
              HasSubstr("two aliases"));
  const auto chain = [](std::size_t length) {
    DnsReply reply;
    std::string from = kAsked;
    for (std::size_t i = 0; i < length; ++i) {
      const std::string to = dns_name("n" + std::to_string(i) + ".example");
      reply.answers.push_back(dns_record(from, kCname, to));
      from = to;
    }
    reply.answers.push_back(dns_record(from, kA, kOne));
    return reply;
  };
  EXPECT_THAT(texts(parse(chain(16))), ElementsAre("192.0.2.1"));
  EXPECT_THAT(fault_of(parse(chain(17))), HasSubstr("too far"));
}

TEST(DnsMessage, TakesOnlyTheAnswerToItsQuestion) {
  const DnsReply reply{.answers = {dns_record(kAsked, kA, kOne)}};
  const auto changed = [&](std::size_t at, char byte) {
    std::string message = reply.to(query());
    message[at] = byte;
    return fault_of(parse(message));
  };
  EXPECT_EQ(changed(0, 0x12), "none");
  EXPECT_EQ(changed(13, 'A'), "none");
  EXPECT_THAT(changed(0, 0x13), HasSubstr("another question"));
  EXPECT_THAT(changed(2, 0x01), HasSubstr("another question"));    // a query
  EXPECT_THAT(changed(2, '\xa0'), HasSubstr("another question"));  // of another kind
  EXPECT_THAT(changed(5, 0), HasSubstr("another question"));       // about nothing
  EXPECT_THAT(changed(5, 2), HasSubstr("another question"));       // about two names
  EXPECT_THAT(changed(13, 'b'), HasSubstr("another question"));    // about another name
  EXPECT_THAT(fault_of(parse(reply.to(query()), DnsType::aaaa)), HasSubstr("another question"));
  EXPECT_THAT(fault_of(parse(query())), HasSubstr("another question"));
}

TEST(DnsMessage, RefusesWhatIsMalformed) {
  const std::string whole = DnsReply{.answers = {dns_record(kAsked, kCname, dns_name("b.example")),
                                                 dns_record(dns_name("b.example"), kA, kOne)}}
                                .to(query());
  EXPECT_EQ(fault_of(parse(whole)), "none");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse(whole.substr(0, size))) << size;
  EXPECT_FALSE(parse(whole + "x"));
  EXPECT_FALSE(parse({.answers = {dns_record(kAsked, kA, "\xc0\0\x02"s)}}));
  EXPECT_FALSE(parse({.answers = {dns_record(kAsked, kA, std::string(16, 1))}}));
  EXPECT_FALSE(parse({.answers = {dns_record(kAsked, kCname, kAsked + "x")}}));
  EXPECT_FALSE(parse({.answers = {dns_record(kAsked, kCname, "")}}));
  EXPECT_FALSE(parse({.answers = {dns_record("\x40x"s, kA, kOne)}}));
  EXPECT_FALSE(parse({.authorities = {dns_record("\x80x"s, kA, kOne)}}));
  EXPECT_TRUE(parse({.answers = {dns_record(kAsked, kTxt, "anything")}}));
  // It ends within a number, where a shorter one would still have had room.
  std::string cut = DnsReply{.additional = {dns_record("\0"s, kTxt, "")}}.to(query());
  cut.resize(cut.size() - 3);
  EXPECT_FALSE(parse(cut));
  // A name of more than 255 bytes.
  const std::string label = "\x3f" + std::string(63, 'a');
  EXPECT_TRUE(parse({.answers = {dns_record(label + label + label + "\0"s, kA, kOne)}}));
  EXPECT_FALSE(parse({.answers = {dns_record(label + label + label + label + "\0"s, kA, kOne)}}));
  // Records without number.
  DnsReply many;
  many.answers.assign(512, dns_record(kAsked, kTxt, ""));
  EXPECT_TRUE(parse(many));
  many.additional.assign(1, dns_record(kAsked, kTxt, ""));
  EXPECT_THAT(fault_of(parse(many)), HasSubstr("too many"));
}

TEST(DnsMessage, FollowsPointersBackOnly) {
  const std::size_t first = DnsReply{}.to(query()).size();  // where the first record begins
  for (const std::size_t target : {std::size_t{0}, std::size_t{11}, first, first + 1, first + 12})
    EXPECT_FALSE(parse({.answers = {dns_record(dns_pointer(target), kA, kOne)}})) << target;
  // To itself, through a label before it.
  EXPECT_FALSE(parse({.answers = {dns_record("\x01x" + dns_pointer(first), kA, kOne)}}));
  // From one to the other: each leads back, but not for ever.
  const auto pointers = [&](std::size_t count) {
    std::string data;
    std::size_t target = 12;
    const std::size_t begin = first + 1 + 10;
    for (std::size_t i = 0; i < count; ++i) {
      data += dns_pointer(target);
      target = begin + 2 * i;
    }
    return DnsReply{
        .answers = {dns_record("\0"s, kTxt, data), dns_record(dns_pointer(target), kA, kOne)}};
  };
  EXPECT_THAT(texts(parse(pointers(31))), ElementsAre("192.0.2.1"));
  EXPECT_FALSE(parse(pointers(32)));
}

}  // namespace
}  // namespace sallyport
