#include "input/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sallyport {
namespace {

using ::testing::HasSubstr;

struct Refusal {
  std::string_view text;
  std::string_view message;
};

TEST(HostName, RefusesWhatTwoParsersWouldReadDifferently) {
  using namespace std::string_view_literals;
  const std::string long_label = std::string(64, 'a') + ".com";
  std::string long_name;
  for (int i = 0; i < 64; ++i)
    long_name += "abc.";
  long_name += "com";
  const Refusal cases[] = {
      {"", "is empty"},
      {".", "ends with a dot"},
      {"..", "ends with a dot"},
      {".example.com", "empty label"},
      {"a..example.com", "empty label"},
      {"example.com.", "ends with a dot"},
      {"example.com..", "ends with a dot"},
      {"attacker.com\0.example.com"sv, "a character other than"},
      {"example.com\n", "a character other than"},
      {"exa mple.com", "a character other than"},
      {"example.com:443", "a character other than"},
      {"user@example.com", "a character other than"},
      {"example.com/x", "a character other than"},
      {"example.com\\x", "a character other than"},
      {"example.com#x", "a character other than"},
      {"evil%23.example.com", "a character other than"},
      {"ex_ample.com", "a character other than"},
      {"*.example.com", "a character other than"},
      {"ｅxample.com", "is not ASCII"},
      {"example。com", "is not ASCII"},
      {"exampl\xC3\xA9.com", "is not ASCII"},
      {"\xFF.com", "is not ASCII"},
      {"-a.com", "hyphen at its edge"},
      {"a-.com", "hyphen at its edge"},
      {"ab--c.com", "\"--\""},
      {"xn--.com", "hyphen at its edge"},
      {long_label, "more than 63"},
      {long_name, "longer than 253"},
      {"127.0.0.1", "is an IP address"},
      {"::1", "is an IP address"},
      {"2130706433", "ends in a number"},
      {"0", "ends in a number"},
      {"127.1", "ends in a number"},
      {"0177.0.0.1", "ends in a number"},
      {"017700000001", "ends in a number"},
      {"0x7f.1", "ends in a number"},
      {"0x7f000001", "ends in a number"},
      {"0X7F000001", "ends in a number"},
      {"0x", "ends in a number"},
      {"example.0x7f", "ends in a number"},
      {"example.123", "ends in a number"},
      {"1.2.3.4.5", "ends in a number"},
  };
  for (const Refusal& c : cases) {
    const auto host = HostName::parse(c.text);
    ASSERT_FALSE(host) << c.text;
    EXPECT_EQ(host.error().reason, Reason::argument);
    EXPECT_THAT(host.error().message, HasSubstr(std::string(c.message)));
    EXPECT_FALSE(host.error().hint.empty());
  }
}

// Every byte, at the beginning, in the middle and at the end of a label.
TEST(HostName, HasLettersDigitsAndHyphensOnly) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    const auto takes = [&](std::string text, std::size_t at) {
      return HostName::parse(text.insert(at, 1, c)).has_value();
    };
    EXPECT_EQ(takes("api.example.com", 0), letter) << byte;
    EXPECT_EQ(takes("api.example.com", 1), letter || c == '-' || c == '.') << byte;
    EXPECT_EQ(takes("api.example.com", 3), letter) << byte;
    EXPECT_EQ(takes("api.example.com", 15), letter) << byte;
  }
}

TEST(HostName, TakesRealNamesInLowerCase) {
  EXPECT_EQ(HostName::parse("API.Example.COM")->to_text(), "api.example.com");
  EXPECT_EQ(HostName::parse("a.b")->to_text(), "a.b");
  EXPECT_EQ(HostName::parse("db")->to_text(), "db");
  EXPECT_EQ(HostName::parse("1.2.3.4.example")->to_text(), "1.2.3.4.example");
  EXPECT_EQ(HostName::parse("3com.com")->to_text(), "3com.com");
  EXPECT_EQ(HostName::parse("XN--bcher-kva.example")->to_text(), "xn--bcher-kva.example");
  EXPECT_TRUE(HostName::parse(std::string(63, 'a') + ".com"));
  EXPECT_TRUE(HostName::parse("LOCALHOST")->is_localhost());
  EXPECT_TRUE(HostName::parse("x.localhost")->is_localhost());
  EXPECT_FALSE(HostName::parse("notlocalhost")->is_localhost());
}

TEST(HostPattern, RefusesStarsAnywhereButAsTheWholeFirstLabel) {
  for (const std::string_view text :
       {"*", "*.", "*.*", "*.com", "*.localhost", "a.*.b", "*x.example.com", "x*.example.com",
        "**.example.com", "*.*.example.com", "example.*", "*example.com", "*.10.0.0.1",
        "*.example.com.", "*..example.com", "", "10.0.0.1", ".example.com"})
    EXPECT_FALSE(HostPattern::parse(text)) << text;
}

TEST(HostPattern, MatchesAtLabelsOnly) {
  struct Case {
    std::string_view pattern, host;
    bool matches;
  };
  const Case cases[] = {
      {"example.com", "notexample.com", false},
      {"example.com", "example.com.evil.org", false},
      {"example.com", "www.example.com", false},
      {"example.com", "examplexcom", false},
      {"*.example.com", "example.com", false},
      {"*.example.com", "notexample.com", false},
      {"*.example.com", "evil-example.com", false},
      {"*.example.com", "a.example.com.evil.org", false},
      {"*.example.com", "aexample.com", false},
      {"example.com", "EXAMPLE.com", true},
      {"Example.COM", "example.com", true},
      {"*.example.com", "a.example.com", true},
      {"*.example.com", "a.b.example.com", true},
  };
  for (const Case& c : cases)
    EXPECT_EQ(HostPattern::parse(c.pattern)->matches(*HostName::parse(c.host)), c.matches)
        << c.pattern << " " << c.host;
}

TEST(HostPort, RefusesWhatIsNotAPort) {
  for (const std::string_view text :
       {"example.com:", "example.com:0", "example.com:00443", "example.com:0443",
        "example.com:65536", "example.com:-1", "example.com:+443", "example.com: 443",
        "example.com:443 ", "example.com:0x1bb", "example.com:https", "example.com:443:443", ":443",
        "*:443", "10.0.0.7:443", "[::1]:443", "https://example.com", "example.com/x",
        "example.com:99999999999999999999"})
    EXPECT_FALSE(HostPort::parse(text)) << text;
}

TEST(HostPort, ReadsEntriesOfAPolicy) {
  EXPECT_EQ(HostPort::parse("api.example.com")->port, std::nullopt);
  EXPECT_EQ(HostPort::parse("*.data.example.com:8443")->port, 8443);
  EXPECT_EQ(HostPort::parse("*.Data.example.com:8443")->to_text(), "*.data.example.com:8443");
  EXPECT_EQ(HostPort::parse("a.b:65535")->to_text(), "a.b:65535");
}

}  // namespace
}  // namespace sallyport
