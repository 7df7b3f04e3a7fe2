#include "egress/grants.h"

#include <gmock/gmock.h>

#include "base/base64.h"

namespace sallyport {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::Pair;

const std::string kSecret = "ghp_RealRealRealReal";
const std::string kPlaceholder = "ghp_Placeholder";

Grants::Destination at(const char* name, std::uint16_t port = 443) {
  return {*HostName::parse(name), port, EgressScheme::https};
}

class CellGrants : public testing::Test {
 protected:
  CellGrants() {
    grant_ = {.credential = "token",
              .to = {{.host = "api.example.com"}},
              .methods = {},
              .paths = {},
              .field = {},
              .variable = "GITHUB_TOKEN",
              .shape = "ghp_"};
    secrets_.take({.name = "token", .value = kSecret, .why = {}});
  }

  Grants& grants() {
    if (!made_) {
      given_ = {grant_};  // it refers to them
      made_.emplace(given_, std::vector{grant_.variable.empty() ? "" : kPlaceholder}, secrets_,
                    now_);
    }
    return *made_;
  }
  Grants::Applied apply(const Grants::Destination& to, HeadFields fields, std::string target = "/x",
                        const char* method = "GET") {
    request_ = {.method = method, .target = {}, .fields = std::move(fields), .host = {}};
    target_ = std::move(target);
    return grants().apply(to, request_, target_, now_);
  }
  std::string field(std::string_view name) { return std::string(field_of(request_.fields, name)); }

  boost::asio::io_context io_;
  Secrets secrets_;
  EgressGrant grant_;
  std::vector<EgressGrant> given_;
  std::optional<Grants> made_;
  Grants::Clock::time_point now_ = Grants::Clock::now();
  RequestHead request_;
  std::string target_;
};

TEST_F(CellGrants, APlaceholderIsSwappedTowardsItsHost) {
  const auto applied = apply(at("api.example.com"),
                             {{"Authorization", "token " + kPlaceholder}, {"X-Other", "plain"}});
  EXPECT_EQ(applied.fault, "");
  EXPECT_EQ(applied.credential, "token");
  EXPECT_EQ(field("Authorization"), "token " + kSecret);
  EXPECT_EQ(field("X-Other"), "plain");
}

TEST_F(CellGrants, InBasicAndInTheQueryToo) {
  grant_.places = {"header:Authorization", "query:t"};
  static_cast<void>(apply(at("api.example.com"),
                          {{"Authorization", "Basic " + to_base64("me:" + kPlaceholder)}}));
  EXPECT_EQ(field("Authorization"), "Basic " + to_base64("me:" + kSecret));
  secrets_.take({.name = "token", .value = "a&b c", .why = {}});
  static_cast<void>(apply(at("api.example.com"), {}, "/x?a=1&t=" + kPlaceholder + "&b=2"));
  EXPECT_EQ(target_, "/x?a=1&t=a%26b%20c&b=2");
}

TEST_F(CellGrants, ARequestWithoutAPlaceholderGoesAsItIs) {
  const auto applied = apply(at("other.example.com"), {{"Range", "bytes=0-1"}});
  EXPECT_EQ(applied.credential, "");
  EXPECT_FALSE(applied.must_be_plain);
  EXPECT_EQ(field("Range"), "bytes=0-1");
}

// What one call has sent, a host may tell the next one, which has not used it yet.
TEST_F(CellGrants, AHostIsNotTrustedToHaveForgotten) {
  std::string text = kSecret;
  ASSERT_NE(grants().veil(), nullptr);
  EXPECT_EQ(grants().veil()->cover(text), 1);
  const auto applied =
      apply(at("api.example.com"), {{"Range", "bytes=0-1"}, {"Accept-Encoding", "gzip"}});
  EXPECT_EQ(applied.credential, "");
  EXPECT_TRUE(applied.must_be_plain);
  EXPECT_EQ(request_.fields, (HeadFields{{"Accept-Encoding", "identity"}}));
  secrets_.take({.name = "token", .value = "the next one", .why = {}});
  text = kSecret + ", the next one";
  EXPECT_EQ(grants().veil()->cover(text), 2);
}

// A host reads "user:password" apart, and may say one without the other.
TEST_F(CellGrants, ThePasswordOfBasicIsCoveredByItself) {
  grant_.place = GrantPlace::basic;
  grant_.variable.clear();
  secrets_.take({.name = "token", .value = "somebody:the-password", .why = {}});
  std::string text = "password=the-password";
  EXPECT_EQ(grants().veil()->cover(text), 1);
  EXPECT_EQ(text, "password=************");
}

// A host takes spaces off the ends of a header, and what it says back would not be known.
TEST_F(CellGrants, ASecretWithSpacesAtItsEndsIsNotSent) {
  for (const char* value : {"a secret ", " a secret", "a secret\t"}) {
    secrets_.take({.name = "token", .value = value, .why = {}});
    EXPECT_THAT(apply(at("api.example.com"), {{"Authorization", "Bearer " + kPlaceholder}}).fault,
                HasSubstr("cannot be sent"));
  }
}

// A host that keeps what it is told, such as a message, a search or the description of a file,
// would keep the secret, and tell it to whoever may read there.
TEST_F(CellGrants, APlaceholderStandsOnlyWhereAKeyIsTaken) {
  const std::string basic = "Basic " + to_base64("x:" + kPlaceholder);
  const struct {
    HeadFields fields;
    std::string target;
    const char* why;
  } rows[] = {
      {{{"X-Goog-Meta-Note", kPlaceholder}}, "/x", "not sent in the header X-Goog-Meta-Note"},
      {{{"User-Agent", "me " + kPlaceholder}}, "/x", "not sent in the header User-Agent"},
      {{{"Cookie", "t=" + kPlaceholder}}, "/x", "not sent in the header Cookie"},
      {{{"X-Note", basic}}, "/x", "not sent in the header X-Note"},
      {{}, "/chat.postMessage?text=" + kPlaceholder, "not sent in the query as 'text'"},
      {{}, "/x?" + kPlaceholder, "not sent in the query"},
  };
  for (const auto& row : rows) {
    for (const HeadFields& beside : {HeadFields{}, {{"Authorization", "Bearer " + kPlaceholder}}}) {
      HeadFields fields = beside;
      fields.insert(fields.end(), row.fields.begin(), row.fields.end());
      const auto applied = apply(at("api.example.com"), fields, row.target);
      EXPECT_THAT(applied.fault, HasSubstr(row.why));
      EXPECT_EQ(applied.credential, "token");
      EXPECT_EQ(request_.fields, fields);
      EXPECT_EQ(target_, row.target);
    }
  }
  for (const char* header : {"authorization", "X-API-Key", "PRIVATE-TOKEN", "x-goog-api-key"})
    EXPECT_EQ(apply(at("api.example.com"), {{header, kPlaceholder}}).fault, "") << header;
}

TEST_F(CellGrants, OrWhereTheGrantSays) {
  grant_.places = {"header:X-Note", "query:key"};
  EXPECT_EQ(apply(at("api.example.com"), {{"x-note", kPlaceholder}}).fault, "");
  EXPECT_EQ(apply(at("api.example.com"), {}, "/x?a=1&key=" + kPlaceholder).fault, "");
  EXPECT_EQ(target_, "/x?a=1&key=" + kSecret);
  EXPECT_NE(apply(at("api.example.com"), {{"Authorization", kPlaceholder}}).fault, "");
  // What is one parameter for us must be one for every server.
  for (const std::string& query :
       {"Key=" + kPlaceholder, "k%65y=" + kPlaceholder, "key;text=" + kPlaceholder,
        "key=a;text=" + kPlaceholder, "text=a;key=" + kPlaceholder, kPlaceholder + "=1",
        "key" + kPlaceholder, "a=?key=" + kPlaceholder, "=" + kPlaceholder})
    EXPECT_NE(apply(at("api.example.com"), {}, "/x?" + query).fault, "") << query;
}

// A head of 64 KiB would become one of many megabytes.
TEST_F(CellGrants, APlaceholderStandsInARequestAFewTimes) {
  grant_.places = {"header:A", "header:B", "query:t"};
  const auto many = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += kPlaceholder;
    return text;
  };
  EXPECT_EQ(apply(at("api.example.com"), {{"A", many(4)}, {"B", many(4)}}).fault, "");
  EXPECT_EQ(field("B"), kSecret + kSecret + kSecret + kSecret);
  EXPECT_THAT(apply(at("api.example.com"), {{"A", many(5)}, {"B", many(4)}}).fault,
              HasSubstr("too often"));
  EXPECT_THAT(apply(at("api.example.com"), {}, "/x?t=" + many(9)).fault, HasSubstr("too often"));
  EXPECT_THAT(apply(at("api.example.com"), {{"A", "Basic " + to_base64("x:" + many(9))}}).fault,
              HasSubstr("too often"));
}

// Servers that take the method or the path from a header would do what the grant is not for.
TEST_F(CellGrants, ARequestThatSaysTwoThingsIsNotOneOfThem) {
  grant_.methods = {"POST"};
  grant_.paths = {"/v1"};
  for (const char* header : {"X-HTTP-Method-Override", "x-http-method", "X-Method-Override",
                             "X-Original-URL", "X-Rewrite-URL"})
    EXPECT_NE(
        apply(at("api.example.com"),
              {{"Authorization", "Bearer " + kPlaceholder}, {header, "DELETE"}}, "/v1/x", "POST")
            .fault,
        "")
        << header;
  grant_.place = GrantPlace::bearer;
  grant_.variable.clear();
  made_.reset();
  EXPECT_EQ(apply(at("api.example.com"), {{"X-Original-URL", "/v2"}}, "/v1/x", "POST").credential,
            "");
  EXPECT_EQ(apply(at("api.example.com"), {}, "/v1/x", "POST").credential, "token");
}

// The name of a header has no case.
TEST_F(CellGrants, TheFirstGrantForAPlaceHasIt) {
  grant_.variable.clear();
  grant_.place = GrantPlace::bearer;
  EgressGrant second = grant_;
  second.credential = "other";
  second.place = GrantPlace::header;
  second.field = "authorization";
  secrets_.take({.name = "other", .value = "another secret", .why = {}});
  given_ = {grant_, second};
  made_.emplace(given_, std::vector<std::string>(2), secrets_, now_);
  EXPECT_EQ(apply(at("api.example.com"), {}).credential, "token");
  EXPECT_EQ(field("Authorization"), "Bearer " + kSecret);
}

TEST_F(CellGrants, ElsewhereAPlaceholderIsRefused) {
  const struct {
    Grants::Destination to;
    const char* why;
  } rows[] = {
      {at("evil.example.com"), "is not for this host"},
      {at("api.example.com", 8443), "is not for this host"},
      {at("deep.api.example.com"), "is not for this host"},
      {{*HostName::parse("api.example.com"), 443, EgressScheme::http}, "is not for this host"},
  };
  for (const auto& row : rows) {
    for (const HeadFields& fields :
         {HeadFields{{"Authorization", "Bearer " + kPlaceholder}},
          HeadFields{{"Cookie", "a=b; t=" + kPlaceholder}},
          HeadFields{{"Authorization", "Basic " + to_base64("x:" + kPlaceholder)}}}) {
      const auto applied = apply(row.to, fields);
      EXPECT_THAT(applied.fault, HasSubstr(row.why));
      EXPECT_EQ(applied.credential, "token");
      EXPECT_EQ(request_.fields, fields);
    }
    EXPECT_NE(apply(row.to, {}, "/x?t=" + kPlaceholder).fault, "");
  }
  EXPECT_THAT(apply(at("api.example.com"), {}, "/" + kPlaceholder + "/x").fault,
              HasSubstr("not in a path"));
}

TEST_F(CellGrants, MethodsAndPathsAreHeld) {
  grant_.methods = {"GET"};
  grant_.paths = {"/v1"};
  const HeadFields fields{{"Authorization", "Bearer " + kPlaceholder}};
  EXPECT_EQ(apply(at("api.example.com"), fields, "/v1/x").fault, "");
  EXPECT_NE(apply(at("api.example.com"), fields, "/v1x").fault, "");
  EXPECT_NE(apply(at("api.example.com"), fields, "/v1/../v2").fault, "");
  EXPECT_NE(apply(at("api.example.com"), fields, "/v1/x", "POST").fault, "");
}

TEST_F(CellGrants, InjectedWhateverTheToolHasWritten) {
  const struct {
    GrantPlace place;
    const char* field;
    const char* header;
    std::string value;
  } rows[] = {{GrantPlace::bearer, "", "Authorization", "Bearer " + kSecret},
              {GrantPlace::basic, "", "Authorization", "Basic " + to_base64(kSecret)},
              {GrantPlace::basic, "git", "Authorization", "Basic " + to_base64("git:" + kSecret)},
              {GrantPlace::header, "X-Api-Key", "X-Api-Key", kSecret}};
  grant_.variable.clear();
  for (const auto& row : rows) {
    made_.reset();
    grant_.place = row.place;
    grant_.field = row.field;
    EXPECT_EQ(
        apply(at("api.example.com"), {{"authorization", "mine"}, {"x-api-key", "mine"}}).fault, "");
    EXPECT_EQ(field(row.header), row.value);
    EXPECT_EQ(std::ranges::count_if(request_.fields,
                                    [&](const auto& one) { return one.second == "mine"; }),
              1);
    // Not towards others, and without a word about it: there is nothing to misuse.
    EXPECT_EQ(apply(at("evil.example.com"), {}).fault, "");
    EXPECT_EQ(request_.fields, HeadFields());
  }
  made_.reset();
  grant_.place = GrantPlace::query;
  grant_.field = "key";
  EXPECT_EQ(apply(at("api.example.com"), {}, "/x?key=mine&a=1").fault, "");
  EXPECT_EQ(target_, "/x?a=1&key=" + kSecret);
}

TEST_F(CellGrants, EndWithTheirTimeTheirUsesAndTheirSecret) {
  const HeadFields fields{{"Authorization", "Bearer " + kPlaceholder}};
  grant_.uses = 2;
  grant_.expires = std::chrono::seconds(10);
  EXPECT_EQ(apply(at("api.example.com"), fields).fault, "");
  now_ += std::chrono::seconds(9);
  EXPECT_EQ(apply(at("api.example.com"), fields).fault, "");
  EXPECT_THAT(apply(at("api.example.com"), fields).fault, HasSubstr("as often as it may"));
  now_ += std::chrono::seconds(1);
  EXPECT_THAT(apply(at("api.example.com"), fields).fault, HasSubstr("shorter time"));
  made_.reset();
  secrets_.take({.name = "token", .value = {}, .why = "it was revoked"});
  EXPECT_THAT(apply(at("api.example.com"), fields).fault, HasSubstr("it was revoked"));
  secrets_.take({.name = "token", .value = "new value", .why = {}});
  EXPECT_EQ(apply(at("api.example.com"), fields).fault, "");
  EXPECT_EQ(field("Authorization"), "Bearer new value");
  secrets_.take({.name = "token", .value = "two\r\nlines: x", .why = {}});
  EXPECT_THAT(apply(at("api.example.com"), fields).fault, HasSubstr("cannot be sent"));
}

TEST_F(CellGrants, AnAnswerMustBeOneThatCanBeLookedInto) {
  static_cast<void>(apply(at("api.example.com"), {{"Authorization", "Bearer " + kPlaceholder},
                                                  {"accept-encoding", "gzip"},
                                                  {"Range", "bytes=0-1"},
                                                  {"Sec-WebSocket-Extensions", "deflate"}}));
  EXPECT_THAT(request_.fields,
              testing::UnorderedElementsAre(Pair("Authorization", "Bearer " + kSecret),
                                            Pair("Accept-Encoding", "identity")));
}

TEST_F(CellGrants, TheVeilCoversAllThatWasSent) {
  const HeadFields fields{{"Authorization", "Bearer " + kPlaceholder}};
  static_cast<void>(apply(at("api.example.com"), fields));
  secrets_.take({.name = "token", .value = "the next one", .why = {}});
  static_cast<void>(apply(at("api.example.com"), fields));
  std::string text = kSecret + ", the next one";
  EXPECT_EQ(grants().veil()->cover(text), 2);
  EXPECT_EQ(text, std::string(kSecret.size(), '*') + ", ************");
}

TEST_F(CellGrants, FindAPlaceholderInABodyThatIsCutAnywhere) {
  const std::string body = "{\"token\": \"" + kPlaceholder + "\"}";
  for (std::size_t cut = 0; cut <= body.size(); ++cut) {
    std::string tail;
    const std::string first = grants().placeholder_in(body.substr(0, cut), tail);
    EXPECT_EQ(first.empty() ? grants().placeholder_in(body.substr(cut), tail) : first, "token");
  }
  std::string tail;
  EXPECT_EQ(grants().placeholder_in("ghp_Placeholde", tail), "");
  EXPECT_EQ(grants().placeholder_in("", tail), "");
}

TEST(Placeholder, HasItsShapeAndIsNeverTheSame) {
  const auto one = make_placeholder("ghp_"), other = make_placeholder("ghp_");
  ASSERT_TRUE(one && other);
  EXPECT_TRUE(one->starts_with("ghp_"));
  EXPECT_EQ(one->size(), 40);
  EXPECT_NE(*one, *other);
  EXPECT_EQ(
      one->find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"),
      std::string::npos);
}

}  // namespace
}  // namespace sallyport
