#include "redact/redact.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "base/base64.h"
#include "base/text.h"
#include "redact/clean_text.h"
#include "redact/redact_fixture.h"
#include "redact/rule_set.h"

namespace sallyport {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string with(const std::shared_ptr<const Redactions>& rules, std::string_view text) {
  RedactionCounts counts;
  return redact_all(rules, text, counts);
}

// Cut at random places, also into single bytes.
std::string in_pieces(const std::shared_ptr<const Redactions>& rules, std::string_view text,
                      Formats& formats, std::size_t longest, RedactionCounts& counts) {
  Redactor redactor(rules);
  std::string out;
  while (!text.empty()) {
    const std::size_t count = std::min(text.size(), 1 + formats.below(longest));
    redactor.feed(text.substr(0, count), out);
    text.remove_prefix(count);
  }
  redactor.finish(out);
  counts = redactor.counts();
  return out;
}

std::string key_block(Formats& formats, std::string_view kind, int lines) {
  std::string text = "-----BEGIN " + std::string(kind) + "-----\n";
  for (int i = 0; i < lines; ++i)
    text.append(formats.some('b', 64)).append("\n");
  return text.append(formats.some('b', 11)).append("=\n-----END ").append(kind).append("-----\n");
}

std::string jwt(Formats& formats, std::size_t payload) {
  std::string header = to_base64(R"({"alg":"HS256","typ":"JWT"})");
  header.erase(header.find_last_not_of('=') + 1);
  return header + "." + formats.some('w', payload) + "." + formats.some('w', 43);
}

// Text of all kinds: logs, secrets, what looks like them, markers, bytes of any value.
std::string soup(Formats& formats, std::size_t pieces) {
  std::string text;
  for (std::size_t i = 0; i < pieces; ++i) {
    switch (formats.below(22)) {
      case 0:
        text.append(formats.make("gh|p_{a36}"));
        break;
      case 1:
        text.append(formats.make("password={a9}"));
        break;
      case 2:
        text.append(formats.make("/home/{c5}/x"));
        break;
      case 3:
        text.append("10.1.2.3");
        break;
      case 4:
        text.append(formats.make("{c5}@{c4}.com"));
        break;
      case 5:
        text.append(key_block(formats, "RSA PRIVATE KEY", static_cast<int>(formats.below(90))));
        break;
      case 6:
        text.append(jwt(formats, 20 + formats.below(3000)));
        break;
      case 7:
        text.append(formats.make("AK|IA{A16}"));
        break;
      case 8:
        text.append("[REDACTED_SECRET:github-token]");
        break;
      case 9:
        text.append("[HOME_DIR]");
        break;
      case 10:
        text.append(formats.some('a', formats.below(40)));
        break;
      case 11:
        text.push_back("\n =:\"'/@.-"[formats.below(10)]);
        break;
      case 12:
        text.append(formats.make("token: \"{a20}"));
        break;
      case 13:
        text.append("fe80::1:2");
        break;
      case 14:
        text.append(formats.make("Cookie: a={a20}; b={a700}\n"));
        break;
      case 15:
        text.append(formats.make("https://u:{a8}@h/"));
        break;
      case 16:
        text.push_back(static_cast<char>(formats.below(256)));
        break;
      case 17:
        text.append(formats.make("sk|-ant-api03-{w900}"));
        break;
      case 18:
        text.append("secret-value-1");
        break;
      case 19:
        text.append(to_base64(formats.some('c', formats.below(3)) + "secret-value-1x"));
        break;
      case 20:
        text.append("C:\\Users\\bob\\AppData\\Local\\Temp\\x1 /tmp/tmpab12/f");
        break;
      default:
        text.append(formats.make("id-{d4} "));
    }
    if (formats.below(2) == 0) text.push_back(' ');
  }
  return text;
}

TEST(Redactor, GivesTheSameForEveryWayToCutTheText) {
  const auto rules =
      redactions_of({.groups = {std::begin(kRedactionGroups), std::end(kRedactionGroups)},
                     .patterns = {"id-[0-9]{2,4}", "ab.{0,30}c$"},
                     .values = {"secret-value-1"}});
  Formats formats(3);
  for (int round = 0; round < 60; ++round) {
    const std::string text = soup(formats, 60);
    RedactionCounts whole;
    const std::string expected = redact_all(rules, text, whole);
    for (const std::size_t longest : {1u, 7u, 300u, 5000u}) {
      if (longest == 1 && round % 6 != 0) continue;
      RedactionCounts counts;
      ASSERT_EQ(in_pieces(rules, text, formats, longest, counts), expected) << text;
      ASSERT_EQ(counts, whole);
    }
  }
}

TEST(Redactor, ChangesNothingInWhatItHasRedacted) {
  Formats formats(4);
  for (int round = 0; round < 300; ++round) {
    const std::string once = redacted(soup(formats, 30)), twice = redacted(once);
    const auto [first, second] = std::ranges::mismatch(once, twice);
    const auto at = static_cast<std::size_t>(first - once.begin());
    const std::size_t from = at - std::min<std::size_t>(at, 100);
    ASSERT_EQ(once, twice) << "\n" << once.substr(from, 300) << "\n" << twice.substr(from, 300);
  }
}

TEST(Redactor, LetsNothingOfASecretOutBeforeItIsKnown) {
  Formats formats(5);
  const std::string token = formats.make("gh|p_{a36}");
  for (std::size_t cut = 1; cut < token.size(); ++cut) {
    Redactor redactor(all_redactions());
    std::string out;
    redactor.feed("a line\nkey " + token.substr(0, cut), out);
    EXPECT_THAT(out, Not(HasSubstr(token.substr(0, 4))));
    redactor.feed(token.substr(cut), out);
    redactor.finish(out);
    EXPECT_EQ(out, "a line\nkey [REDACTED_SECRET:github-token]");
  }
}

TEST(Redactor, GivesPlainTextOutWhileItComes) {
  Redactor redactor(all_redactions());
  std::string out;
  redactor.feed(std::string(1000, '.'), out);
  EXPECT_GT(out.size(), 800u);
}

TEST(Redactor, KeepsTheNameAndTheRestOfTheLine) {
  EXPECT_EQ(redacted("DB_PASSWORD=hunter2hunter\nX=1\n"),
            "DB_PASSWORD=[REDACTED_SECRET:password-assignment]\nX=1\n");
  EXPECT_EQ(redacted(R"({"password": "hunter2", "user": "bob"})"),
            R"({"password": "[REDACTED_SECRET:password-assignment]", "user": "bob"})");
  EXPECT_EQ(redacted("postgres://app:hunter2@db.example:5432/x"),
            "postgres://app:[REDACTED_SECRET:url-password]@db.example:5432/x");
  EXPECT_EQ(redacted("Server=x;User Id=sa;Password=hunter2;Encrypt=yes"),
            "Server=x;User Id=sa;Password=[REDACTED_SECRET:password-assignment];Encrypt=yes");
  EXPECT_EQ(redacted("/home/bob/src/a.py:3"), "[HOME_DIR]/src/a.py:3");
  EXPECT_EQ(redacted("at /tmp/tmpx8a/run.sh"), "at [TEMP_DIR]/run.sh");
}

TEST(Redactor, FindsAssignmentsInManyLanguages) {
  for (const std::string_view text : {"password = \"hunter2\"",
                                      "password: hunter2",
                                      "PASSWORD='hunter2'",
                                      "--password hunter2",
                                      "--password=hunter2",
                                      "password => 'hunter2',",
                                      "password := \"hunter2\"",
                                      "{\\\"password\\\": \\\"hunter2\\\"}",
                                      "<password>hunter2</password>",
                                      "<add key=\"Password\" value=\"hunter2\"/>",
                                      "password: str = \"hunter2\"",
                                      "db.password=hunter2",
                                      "setPassword(\"hunter2\")",
                                      "config[\"password\"] = 'hunter2'",
                                      "ALTER ROLE x PASSWORD 'hunter2';",
                                      "export MYSQL_PASSWORD=hunter2",
                                      "?password=hunter2&x=1",
                                      "the password is hunter2",
                                      "if password == \"hunter2\":",
                                      "  - password: hunter2",
                                      "pwd=hunter2;",
                                      "DB_PASS=hunter2",
                                      "passphrase: \"horse staple battery hunter2\"",
                                      "const char* password = \"hunter2\";",
                                      "**Password**: hunter2",
                                      "\"password\", \"hunter2\"",
                                      "password=b'hunter2'"})
    EXPECT_THAT(redacted(text), Not(HasSubstr("hunter2"))) << text;
}

TEST(Redactor, LeavesLookAlikes) {
  for (const std::string_view text : {
           "version 1.2.3 and v10.20.30.40",
           "Version: 4.18.0.2",
           "requests==2.31.0.1",
           "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
           "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
           "id 123e4567-e89b-12d3-a456-426614174000",
           "the password is required",
           "Password: must be at least 8 characters",
           "password: str",
           "password: Optional[str] = None",
           "token = None",
           "token: string;",
           "api_key=os.environ[\"X\"]",
           "api_key = os.getenv('API_KEY')",
           "password = getpass()",
           "password=password",
           "token = request.headers.get('x')",
           "secret: <your-secret>",
           "token: ${TOKEN}",
           "TOKEN=$TOKEN",
           "password: ****",
           "password=xxxxxxxx",
           "api_key: YOUR_API_KEY",
           "max_tokens: 4096",
           "total_tokens=123456789",
           "tokenizer = BertTokenizerFast",
           "secretary: Jane Doe-Smith",
           "secret_name: my-database-secret",
           "secretName: my-database-secret",
           "password_file=/run/secrets/db",
           "token_url=https://auth.example/oauth/token",
           "token_type: Bearer",
           "Authorization: Bearer <token>",
           "authorization: string",
           "the bearer of this letter",
           "10:20:30",
           "2024-01-02T10:20:30Z",
           "aa:bb:cc:dd:ee:ff",
           "std::vector<int>::size_type a::b",
           "dead::beef",
           "1.2.3.4.5",
           "01.02.03.04",
           "300.1.2.3",
           "foo-1.2.3.4.tar.gz",
           "https://example.com/home/page",
           "/homepage /rootfs /tmpfs",
           "/tmp",
           "/home/",
           "git@github.com:owner/repo.git",
           "getty@tty1.service",
           "icon@2x.png",
           "npm i left-pad@1.3.0",
           "order 4111111111111112",
           "phone 1234567890123",
           "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
           "a file with -----BEGIN PRIVATE KEY----- in it, says the text",
           "http://localhost:8080/@scope/x",
           "https://user@example/",
           "postgres://app:${DB_PASSWORD}@db/x",
           "eyJhbGciOiJ and no more",
           "key: value",
           "the key=1 and key=abc",
           "cache key: 3f786850e387550fdab836ed7e6dc881de23001b",
           "primary_key=True",
           "cookie: yes",
           "Cookies are small",
           "[REDACTED_SECRET:jwt] [HOME_DIR]",
           "password=[REDACTED_SECRET:password-assignment]",
           "secret: [REDACTED_SECRET:secret-assignment] and",
       })
    EXPECT_EQ(redacted(text), text);
}

TEST(Redactor, FindsPlaces) {
  const std::pair<std::string_view, std::string_view> kPlaces[] = {
      {"from 192.168.1.100:8080", "from [IP_ADDR]:8080"},
      {"127.0.0.1", "[IP_ADDR]"},
      {"see 10.0.0.7.", "see [IP_ADDR]."},
      {"host/10.0.0.7", "host/[IP_ADDR]"},
      {"http://[2001:db8::1]:80/", "http://[[IP_ADDR]]:80/"},
      {"fe80::1%eth0 ::1", "[IP_ADDR]%eth0 [IP_ADDR]"},
      {"2001:0db8:85a3:0000:0000:8a2e:0370:7334", "[IP_ADDR]"},
      {"::ffff:10.1.2.3", "[IP_ADDR]"},
      {"/root/.bashrc", "[HOME_DIR]/.bashrc"},
      {"cd /Users/jane.doe/x", "cd [HOME_DIR]/x"},
      {"C:\\Users\\Jane\\x", "[HOME_DIR]\\x"},
      {"\"C:\\\\Users\\\\Jane\\\\x\"", "\"[HOME_DIR]\\\\x\""},
      {"file:///home/bob/x", "file://[HOME_DIR]/x"},
      {"HOME=/home/bob", "HOME=[HOME_DIR]"},
      {"/var/tmp/abc/d", "[TEMP_DIR]/d"},
      {"/var/folders/zz/x_1/T/py8/f", "[TEMP_DIR]/f"},
      {"mail bob@example.com.", "mail [EMAIL]."},
      {"<a.b+c@mail.example.co.uk>", "<[EMAIL]>"},
      {"card 4111 1111 1111 1111 ok", "card [CARD] ok"},
      {"5500-0000-0000-0004", "[CARD]"},
      {"378282246310005", "[CARD]"},
  };
  for (const auto& [text, expected] : kPlaces)
    EXPECT_EQ(redacted(text), expected);
}

TEST(Redactor, TakesOnlyTheGroupsThatWereChosen) {
  const auto rules = redactions_of({.groups = {"emails"}});
  EXPECT_EQ(with(rules, "bob@example.com 10.0.0.1 password=hunter2"),
            "[EMAIL] 10.0.0.1 password=hunter2");
  EXPECT_EQ(with(redactions_of({}), "bob@example.com"), "bob@example.com");
}

TEST(Redactor, TakesPrivateKeysWhole) {
  Formats formats(6);
  for (const std::string_view kind :
       {"RSA PRIVATE KEY", "PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY", "DSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"})
    for (const int lines : {1, 12, 50, 400}) {
      const std::string key = key_block(formats, kind, lines);
      EXPECT_EQ(redacted("a\n" + key + "b\n"), "a\n[REDACTED_SECRET:private-key]\nb\n") << key;
      std::string json = key;
      for (std::size_t at = 0; (at = json.find('\n', at)) != std::string::npos; at += 2)
        json.replace(at, 1, "\\n");
      EXPECT_EQ(redacted(R"({"private_key": ")" + json + R"(", "x": 1})"),
                R"({"private_key": "[REDACTED_SECRET:private-key]\n", "x": 1})");
    }
  // The end of it is not there: what is there goes all the same, what is not of it stays.
  std::string cut = key_block(formats, "RSA PRIVATE KEY", 3);
  cut = cut.substr(0, cut.find("\n-----END"));
  EXPECT_EQ(redacted(cut + "\nand then, a sentence.\n"),
            "[REDACTED_SECRET:private-key]\nand then, a sentence.\n");
  EXPECT_EQ(redacted("x " + to_base64(key_block(formats, "RSA PRIVATE KEY", 5))),
            "x [REDACTED_SECRET:private-key-base64]");
}

TEST(Redactor, ChecksTheHeaderOfAJwt) {
  Formats formats(7);
  for (const std::size_t payload : {20u, 400u, 3000u, 100'000u})
    EXPECT_EQ(redacted("t " + jwt(formats, payload) + " u"), "t [REDACTED_SECRET:jwt] u");
  const std::string other = formats.make("eyJ{a40}.{a40}.{a40}");
  EXPECT_EQ(redacted(other), other);
}

TEST(Redactor, NamesOverlapsByTheBetterRuleAndCoversThemAll) {
  Formats formats(8);
  const std::string token = formats.make("gh|p_{a36}");
  EXPECT_EQ(redacted("token=" + token), "token=[REDACTED_SECRET:github-token]");
  const auto rules = redactions_of({.groups = {"secrets"}, .values = {"known-1"}});
  RedactionCounts counts;
  EXPECT_EQ(redact_all(rules, "password=aknown-1b;", counts),
            "password=[REDACTED_SECRET:known-value];");
  EXPECT_THAT(counts, testing::ElementsAre(testing::Pair("known-value", 1)));
}

TEST(Redactor, FindsKnownValuesInManyForms) {
  const std::string value = "p\"w/ d+9\\xyz";
  const auto rules = redactions_of({.values = {value}});
  std::string hex, upper, url;
  for (const char c : value) {
    char digits[8];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(c));
    hex.append(digits);
    std::snprintf(digits, sizeof digits, "%02X", static_cast<unsigned char>(c));
    upper.append(digits);
  }
  for (const std::string& form :
       {value, std::string(R"(p\"w/ d+9\\xyz)"), std::string(R"(p\"w\/ d+9\\xyz)"),
        std::string("p%22w%2F%20d%2B9%5Cxyz"), std::string("p%22w%2f%20d%2b9%5cxyz"),
        std::string("p%22w%2F+d%2B9%5Cxyz"), hex, upper})
    EXPECT_EQ(with(rules, "<" + form + ">"), "<[REDACTED_SECRET:known-value]>") << form;
  for (const std::string_view before : {"", "a", "ab", "abc"})
    for (const std::string_view after : {"", "a", "ab"}) {
      std::string text = to_base64(std::string(before) + value + std::string(after));
      EXPECT_THAT(with(rules, text), HasSubstr("[REDACTED_SECRET:known-value]")) << text;
      std::ranges::replace(text, '+', '-');
      std::ranges::replace(text, '/', '_');
      EXPECT_THAT(with(rules, text), HasSubstr("[REDACTED_SECRET:known-value]")) << text;
    }
  // One that the end of the output cuts off.
  const auto long_value = redactions_of({.values = {std::string(40, 'a') + std::string(160, 'b')}});
  EXPECT_EQ(with(long_value, std::string(40, 'a') + std::string(100, 'b')),
            "[REDACTED_SECRET:known-value]");
}

TEST(Redactor, RefusesWhatItCannotHold) {
  const auto refused = [](RedactionChoice choice) {
    const auto made = Redactions::make(choice);
    EXPECT_FALSE(made);
    return made ? std::string() : made.error().message + " (" + made.error().hint + ")";
  };
  EXPECT_THAT(refused({.groups = {"secret"}}), HasSubstr("did you mean secrets?"));
  EXPECT_THAT(refused({.values = {"short"}}), HasSubstr("at least 6 bytes"));
  EXPECT_THAT(refused({.patterns = {"a+"}}), HasSubstr("no bound"));
  EXPECT_THAT(refused({.patterns = {"a{1,2000}"}}),
              testing::AnyOf(HasSubstr("bound"), HasSubstr("refused")));
  EXPECT_THAT(refused({.patterns = {"a?"}}), HasSubstr("empty"));
  EXPECT_THAT(refused({.patterns = {"(a"}}), HasSubstr("RE2"));
  EXPECT_THAT(refused({.patterns = {"(?=a)b"}}), HasSubstr("RE2"));
  EXPECT_THAT(refused({.patterns = {"\\Aabc"}}), HasSubstr("beginning or the end"));
  const auto platform = check_platform(HS_ARCH_ERROR);
  ASSERT_FALSE(platform);
  EXPECT_EQ(platform.error().reason, Reason::cannot_enforce);
}

TEST(Redactor, FindsOwnPatternsAsAReplacementWould) {
  const auto rules = redactions_of({.patterns = {"ACME-[0-9]{4,6}", "^x{1,3}$", "\\bcat\\b"}});
  EXPECT_EQ(with(rules, "ACME-12345678"), "[REDACTED_SECRET:pattern-1]78");
  EXPECT_EQ(with(rules, "xx\nxxxx\nxxx"),
            "[REDACTED_SECRET:pattern-2]\nxxxx\n[REDACTED_SECRET:pattern-2]");
  EXPECT_EQ(with(rules, "cat concat cat"),
            "[REDACTED_SECRET:pattern-3] concat [REDACTED_SECRET:pattern-3]");
}

TEST(Redactor, FindsWhatEndsItsLinesInEitherWay) {
  const auto rules =
      redactions_of({.patterns = {"^x{1,3}$", "[$]y\\$"}, .values = {"first\nline"}});
  EXPECT_EQ(with(rules, "xx\r\nxxx\r\nxxxx\r\n"),
            "[REDACTED_SECRET:pattern-1]\n[REDACTED_SECRET:pattern-1]\nxxxx\r\n");
  EXPECT_EQ(with(rules, "$y$ z"), "[REDACTED_SECRET:pattern-2] z");
  EXPECT_EQ(with(rules, "a first\r\nline, first\nline"),
            "a [REDACTED_SECRET:known-value], [REDACTED_SECRET:known-value]");
}

TEST(Redactor, TrustsOnlyItsOwnMarkers) {
  Formats formats(9);
  const std::string token = formats.make("gh|p_{a36}");
  EXPECT_THAT(redacted("[REDACTED_SECRET:" + token + "]"), Not(HasSubstr(token)));
  const std::string hidden = "[REDACTED_SECRET:password=hunter2hunter2]";
  EXPECT_THAT(redacted(hidden), Not(HasSubstr("hunter2")));
}

// Clean first, then redact: an invisible character within a secret does not hide it.
TEST(Redactor, FindsWhatWasHiddenOnceTheTextIsClean) {
  Formats formats(10);
  const std::string token = formats.make("gh|p_{a36}");
  for (const std::string_view hiding : {"\u200b", "\u00ad", "\x1b[0m", "\u2066", "\x07",
                                        "\x1b]8;;x\x1b\\", "\U000E0041", "\uFE0F", "\x1b(B"}) {
    std::string text = token;
    text.insert(12, hiding);
    EXPECT_EQ(redacted(clean_text(text)), "[REDACTED_SECRET:github-token]");
  }
}

// Twice the text is twice the work, whatever the text is.
TEST(Redactor, WorksLinearlyOnHostileText) {
  Formats formats(11);
  const std::string near = formats.make("gh|p_{a35} sk|-{a31} AK|IA{A15} ");
  for (const std::string& piece : {std::string("a"),
                                   std::string("password="),
                                   std::string("password=\""),
                                   std::string("eyJhbGciOiJ"),
                                   std::string("eyJhbGciOiJ "),
                                   near,
                                   std::string("://:"),
                                   std::string("1.1.1."),
                                   std::string("::1"),
                                   std::string("a@a."),
                                   std::string("4111"),
                                   std::string("-----BEGIN PRIVATE KEY-----\n"),
                                   std::string("Cookie: a=b"),
                                   std::string("[REDACTED_SECRET:jwt]"),
                                   std::string("[HOME_DIR]"),
                                   std::string("authorization: "),
                                   std::string("curl mysql "),
                                   std::string("key"),
                                   std::string("/home/a"),
                                   std::string("["),
                                   std::string("\\Temp\\")}) {
    const auto looks = [&](std::size_t size) {
      std::string text, out;
      while (text.size() < size)
        text.append(piece);
      Redactor redactor(all_redactions());
      redactor.feed(text, out);
      redactor.finish(out);
      return redactor.looks();
    };
    const std::uint64_t once = looks(100'000), twice = looks(200'000);
    EXPECT_LE(twice, 2 * once + 100) << piece;
    EXPECT_LE(once, 100'000u) << piece;
  }
}

// Where one value goes on through many names, the last of them tells what the others would.
TEST(Redactor, LooksAtFewOfTheNamesWithinAValue) {
  for (const std::string_view piece : {"pwd:=", "pass=@", "token:=x1"}) {
    std::string text = "see ";
    while (text.size() < 50'000)
      text.append(piece);
    // What is not part of the value ends it, and what follows is seen.
    text.append(" and pwd=hunter2hunter2 /home/a\n");
    Redactor whole(all_redactions()), bytes(all_redactions());
    std::string once, pieces;
    whole.feed(text, once);
    whole.finish(once);
    for (std::size_t at = 0; at < text.size(); at += 7)
      bytes.feed(std::string_view(text).substr(at, 7), pieces);
    bytes.finish(pieces);
    EXPECT_EQ(once, pieces);
    EXPECT_THAT(once, testing::EndsWith("-assignment] and pwd=[REDACTED_SECRET:password-assignment]"
                                        " [HOME_DIR]\n"));
    EXPECT_LT(once.size(), 200u) << once.substr(0, 300);
    EXPECT_LT(whole.looks(), text.size() / 50) << piece;
  }
}

// A name whose window has no digit, or letters of one case, is told without a look; byte by byte
// the window is never known, and every name is looked at.
TEST(Redactor, SkipsOnlyNamesThatCannotHaveTheirValue) {
  const auto looks_and_text = [](std::string_view text, std::size_t piece) {
    Redactor redactor(all_redactions());
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += piece)
      redactor.feed(text.substr(at, piece), out);
    redactor.finish(out);
    return std::pair(redactor.looks(), out);
  };
  std::string names;
  while (names.size() < 20'000)
    names.append("x-auth-key:=");
  EXPECT_LT(looks_and_text(names, names.size()).first, 200u);

  Formats formats(21);
  for (const std::string_view name : {"auth", "salt", "signing.key", "auth0", "vercel", "drone"})
    for (std::size_t gap = 0; gap < 420; gap += 1 + formats.below(5)) {
      const std::string digit = formats.below(2) == 0 ? "7" : "", upper = digit.empty() ? "Q" : "";
      const std::string text = std::string(name) + (formats.below(2) == 0 ? "=" : ": ") +
                               std::string(gap % 48, 'x') + formats.make("{a64}").substr(gap % 60) +
                               std::string(gap, gap % 3 == 0 ? ' ' : 'y') + digit + upper + "\n" +
                               std::string(500, 'z');
      const auto whole = looks_and_text(text, text.size()), bytes = looks_and_text(text, 1);
      EXPECT_EQ(whole.second, bytes.second) << text;
      EXPECT_LE(whole.first, bytes.first);
    }
  // Nothing but blanks behind it.
  EXPECT_THAT(redacted("salt=aB3dE5fG7hI9jK1lM3nO5pQ7" + std::string(500, ' ')),
              testing::StartsWith("salt=[REDACTED_SECRET:high-entropy-value]"));
}

TEST(Redactions, AreSharedByThreads) {
  const auto rules = all_redactions();
  Formats formats(12);
  const std::string text = soup(formats, 100);
  const std::string expected = with(rules, text);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round)
        EXPECT_EQ(with(rules, text), expected);
    });
  for (std::thread& thread : threads)
    thread.join();
}

TEST(Redactor, EndsAtTheEndOfACharacter) {
  std::string name = "/tmp/b";
  for (int i = 0; i < 100; ++i)
    name.append("\xEF\xBF\xBD");
  EXPECT_TRUE(is_utf8(redacted(name)));
}

}  // namespace
}  // namespace sallyport
