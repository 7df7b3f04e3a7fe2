#include "http/parse.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "http/chunked.h"

namespace sallyport {
namespace {

using State = HttpHeadParser::State;
using namespace std::string_literals;

// What a head comes to, as one text that can be compared: a status, or all that was understood.
// `splits` are the sizes of the pieces in which it arrives; the rest comes at once.
std::string read_head(std::string_view bytes, const std::vector<std::size_t>& splits = {},
                      std::size_t most = 16384) {
  HttpRequest request;
  HttpHeadParser head(most, request);
  State state = State::incomplete;
  std::size_t shown = 0;
  for (std::size_t i = 0; state == State::incomplete && shown < bytes.size(); ++i) {
    shown = i < splits.size() ? std::min(shown + splits[i], bytes.size()) : bytes.size();
    state = head.parse(bytes.substr(0, shown));
  }
  if (state == State::incomplete) return "incomplete";
  if (state == State::refused)
    return std::to_string(head.refusal().status) + " " + std::string(head.refusal().sentence);
  std::string text = request.method + "|" + request.path + "|" + request.query + "|";
  for (const auto& [name, value] : request.headers)
    text.append(name).append("=").append(value).append(";");
  return text + "|" + std::to_string(head.length()) + "|" + std::to_string(head.content_length()) +
         (head.chunked() ? "|chunked" : "") + (head.keep_alive() ? "" : "|close") +
         (head.head_only() ? "|head" : "") + (head.expects_continue() ? "|continue" : "");
}

unsigned status_of(std::string_view bytes) {
  const std::string text = read_head(bytes);
  return text == "incomplete" || text.front() < '1' || text.front() > '9'
             ? 0
             : static_cast<unsigned>(std::stoi(text));
}

struct Hostile {
  std::string bytes;
  unsigned status;
};

std::vector<Hostile> hostile_heads() {
  const auto with = [](const std::string& headers) {
    return "POST /x HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n";
  };
  const auto target = [](const std::string& text) {
    return "GET " + text + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  };
  std::string many = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  for (int i = 0; i < 101; ++i)
    many += "X: y\r\n";
  return {
      // Line ends.
      {"GET / HTTP/1.1\nHost: localhost\n\n", 400},
      {"GET / HTTP/1.1\r\nHost: localhost\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: localhost\r\n\n", 400},
      {"GET / HTTP/1.1\rHost: localhost\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: localhost\r\r\n\r\n", 400},
      {"\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      // The request line.
      {"GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"GET / HTTP/1.1 \r\nHost: localhost\r\n\r\n", 400},
      {" GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"GET\t/\tHTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"GET /\r\nHost: localhost\r\n\r\n", 400},
      {"GET / http/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"GET / HTTP/1.10\r\nHost: localhost\r\n\r\n", 400},
      {"GET / HTTP/1.1 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"GE(T / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n", 505},
      {"GET / HTTP/0.9\r\n\r\n", 505},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"get / HTTP/1.1\r\nHost: localhost\r\n\r\n", 501},
      {"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n", 501},
      {"TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n", 501},
      {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s, 400},  // TLS
      {"SSH-2.0-OpenSSH_9.2\r\n", 400},
      // The target.
      {target("*"), 400},
      {target("x"), 400},
      {target("/a/../b"), 400},
      {target("/a/.."), 400},
      {target("/./a"), 400},
      {target("/%2e%2e/etc"), 400},
      {target("/.%2E/etc"), 400},
      {target("/a%2fb"), 400},
      {target("/a%5Cb"), 400},
      {target("/a\\b"), 400},
      {target("/a//b"), 400},
      {target("//evil.example/x"), 400},
      {target("/a%00b"), 400},
      {target("/a%0d%0aX: y"), 400},
      {target("/a%7f"), 400},
      {target("/a%"), 400},
      {target("/a%2"), 400},
      {target("/a%zz"), 400},
      {target("/a%ff"), 400},
      {target("/a%c0%af"), 400},  // an overlong slash
      {target("/a#b"), 400},
      {target("/a\"b"), 400},
      {target("/a?b=%"), 400},
      {target("/a?b=%00"), 400},
      {target("/a?b={}"), 400},
      {target("/a\x80"), 400},
      {target("http://other/x"), 400},
      {target("http://localhost:81/x"), 400},
      {target("http://user@localhost/x"), 400},
      {target("ftp://localhost/x"), 400},
      {target("http:///x"), 400},
      {target("http://localhost?x"), 400},
      {target("/" + std::string(8192, 'a')), 414},
      {"GET /" + std::string(20000, 'a'), 414},
      // Host.
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n", 400},
      // Headers.
      {"GET / HTTP/1.1\r\n Host: localhost\r\n\r\n", 400},
      {with("X: a\r\n b\r\n"), 400},
      {with("X: a\r\n\tb\r\n"), 400},
      {with("X : a\r\n"), 400},
      {with("X\t: a\r\n"), 400},
      {with(": a\r\n"), 400},
      {with("X\r\n"), 400},
      {with("X(y): a\r\n"), 400},
      {with("X: a\0b\r\n"s), 400},
      {with("X: a\x0b\r\n"), 400},
      {with("X: a\x7f\r\n"), 400},
      {with("X: \xc3\xa9\r\n"), 400},
      {with("X\xc3\xa9: a\r\n"), 400},
      {many + "\r\n", 431},
      {with("X: " + std::string(20000, 'a')), 431},
      // The length of the body: the heart of smuggling.
      {with("Content-Length: 5\r\nContent-Length: 6\r\n"), 400},
      {with("Content-Length: 5\r\nContent-Length: 5\r\n"), 400},
      {with("Content-Length: 5, 5\r\n"), 400},
      {with("Content-Length: +5\r\n"), 400},
      {with("Content-Length: -5\r\n"), 400},
      {with("Content-Length: 0x5\r\n"), 400},
      {with("Content-Length: 05\r\n"), 400},
      {with("Content-Length: 5 5\r\n"), 400},
      {with("Content-Length: \r\n"), 400},
      {with("Content-Length: 18446744073709551616\r\n"), 400},
      {with("Content-Length : 5\r\n"), 400},
      {with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400},
      {with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400},
      {with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
      {with("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"), 400},
      {with("Transfer-Encoding : chunked\r\n"), 400},
      {with("Transfer-Encoding: \x0b"s + "chunked\r\n"), 400},
      {with("Transfer-Encoding: gzip, chunked\r\n"), 501},
      {with("Transfer-Encoding: chunked, identity\r\n"), 501},
      {with("Transfer-Encoding: xchunked\r\n"), 501},
      {with("Transfer-Encoding: \"chunked\"\r\n"), 501},
      {with("Transfer-Encoding: chunked;q=1\r\n"), 501},
      {with("Transfer-Encoding: \r\n"), 501},
      {with("Content-Length: 5\r\nExpect: a miracle\r\n"), 417},
  };
}

std::vector<std::string> good_heads() {
  return {
      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "HEAD /a/b?c=d&e=%20 HTTP/1.1\r\nHost: localhost:80\r\nConnection: keep-alive\r\n\r\n",
      "POST /v1/tools/caf%C3%A9/call HTTP/1.1\r\nHost: [::1]:8640\r\nContent-Length: "
      "12\r\n\r\nhello",
      "POST / HTTP/1.1\r\nHost:localhost\r\ntransfer-ENCODING: \t Chunked \t\r\n\r\n5\r\n",
      "GET http://LocalHost:1/x?y HTTP/1.1\r\nHost: localhost:1\r\nConnection: x, Close\r\n\r\n",
      "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nExpect: 100-Continue\r\n\r\n",
      // Without a length there is no body (RFC 9112, 6.3).
      "POST /reload HTTP/1.1\r\nHost: localhost\r\n\r\n",
  };
}

TEST(HttpHead, UnderstandsWhatIsWellFormed) {
  const auto good = good_heads();
  EXPECT_EQ(read_head(good[0]), "GET|/||host=localhost;|35|0");
  EXPECT_EQ(read_head(good[1]),
            "GET|/a/b|c=d&e=%20|host=localhost:80;connection=keep-alive;|76|0|head");
  EXPECT_EQ(read_head(good[2]),
            "POST|/v1/tools/caf\xC3\xA9/call||host=[::1]:8640;content-length=12;|80|12");
  EXPECT_EQ(read_head(good[3]), "POST|/||host=localhost;transfer-encoding=Chunked;|67|0|chunked");
  EXPECT_EQ(read_head(good[4]), "GET|/x|y|host=localhost:1;connection=x, Close;|80|0|close");
  EXPECT_EQ(read_head(good[5]),
            "PUT|/||host=a;content-length=0;expect=100-Continue;|68|0|continue");
  EXPECT_EQ(read_head(good[6]), "POST|/reload||host=localhost;|42|0");
}

TEST(HttpHead, RefusesEveryHostileHeadWithItsStatus) {
  for (const auto& [bytes, status] : hostile_heads())
    EXPECT_EQ(status_of(bytes), status) << testing::PrintToString(bytes.substr(0, 200));
}

TEST(HttpHead, MeansTheSameHoweverItIsSplit) {
  std::vector<std::string> heads = good_heads();
  for (const Hostile& hostile : hostile_heads())
    heads.push_back(hostile.bytes);
  std::mt19937 random(1);
  for (const std::string& head : heads) {
    const std::string whole = read_head(head);
    EXPECT_EQ(read_head(head, std::vector<std::size_t>(head.size(), 1)), whole);
    for (std::size_t cut = 1; cut < std::min<std::size_t>(head.size(), 300); ++cut)
      EXPECT_EQ(read_head(head, {cut}), whole) << testing::PrintToString(head) << " at " << cut;
    for (int round = 0; round < 20; ++round) {
      std::vector<std::size_t> splits;
      for (std::size_t sum = 0; sum < head.size(); sum += splits.back())
        splits.push_back(1 + random() % 40);
      EXPECT_EQ(read_head(head, splits), whole);
    }
  }
}

TEST(HttpHead, IsIncompleteUntilItsLastByte) {
  for (const std::string& head : good_heads()) {
    const std::size_t end = head.find("\r\n\r\n") + 4;
    for (std::size_t size = 0; size < end; ++size)
      EXPECT_EQ(read_head(head.substr(0, size)), "incomplete");
    EXPECT_NE(read_head(head.substr(0, end)), "incomplete");
  }
}

TEST(HttpHead, FitsExactlyIntoItsLimit) {
  const std::string head = good_heads()[0];
  EXPECT_EQ(read_head(head, {}, head.size()), read_head(head));
  EXPECT_EQ(read_head(head, {}, head.size() - 3).substr(0, 3), "431");
  EXPECT_EQ(read_head(head, {}, 5).substr(0, 3), "414");
}

// The body and what was refused, and how many bytes belong to it.
std::string read_chunks(std::string_view bytes, std::size_t step,
                        ChunkedDecoder::Trailers trailers = ChunkedDecoder::Trailers::refuse) {
  ChunkedDecoder decoder(1000, trailers);
  std::string body;
  std::size_t used = 0;
  while (used < bytes.size() && !decoder.done() && decoder.refusal().status == 0)
    used += decoder.feed(bytes.substr(used, step), body);
  if (decoder.refusal().status != 0) return std::to_string(decoder.refusal().status);
  return body + (decoder.done() ? "|" + std::to_string(used) : "|incomplete");
}

TEST(ChunkedBody, MeansTheSameHoweverItIsSplit) {
  const std::string forty(40, 'x');
  const std::pair<std::string, std::string> cases[] = {
      {"5\r\nhello\r\n0\r\n\r\nGET /", "hello|15"},
      {"0\r\n\r\n", "|5"},
      {"00000003\r\na\r\n\r\n0;last\r\n\r\n", "a\r\n|25"},
      {"3;a=b;c=\"d\"\r\nabc\r\n0\r\n\r\n", "abc|23"},
      {"5\r\nhel", "hel|incomplete"},
      {"5\r\nhello\r\n0\r\n", "hello|incomplete"},
      {"A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789|35"},
      {"\r\n", "400"},
      {"5\nhello\r\n0\r\n\r\n", "400"},
      {"5\r\nhello0\r\n\r\n", "400"},
      {"5\r\nhello\n0\r\n\r\n", "400"},
      {"5\r\nhello\r\n0\n\n", "400"},
      {"5\rhello\r\n", "400"},
      {"+5\r\nhello\r\n", "400"},
      {"-1\r\n", "400"},
      {"0x5\r\nhello\r\n", "400"},
      {" 5\r\nhello\r\n", "400"},
      {"5 \r\nhello\r\n", "400"},
      {"5 ;a\r\nhello\r\n", "400"},
      {"g\r\n", "400"},
      {";\r\n", "400"},
      {"000000005\r\nhello\r\n", "400"},
      {"fffffffff\r\n", "400"},
      {"ffffffff\r\n", "413"},
      {"3e9\r\n", "413"},
      {"3\r\nabc\r\n3e6\r\n", "413"},
      {"5;" + forty + forty + "\r\nhello\r\n", "400"},
      {"5;a\nb\r\nhello\r\n", "400"},
      {"5;a\rb\r\nhello\r\n", "400"},
      {"0\r\nTrailer: x\r\n\r\n", "400"},
      {"0\r\nContent-Length: 5\r\n\r\n", "400"},
  };
  for (const auto& [bytes, result] : cases)
    for (std::size_t step = 1; step <= bytes.size(); ++step)
      EXPECT_EQ(read_chunks(bytes, step), result) << testing::PrintToString(bytes);
}

TEST(ChunkedBody, MayHaveTrailersThatAreDropped) {
  const std::string much(ChunkedDecoder::kLongestTrailers, 'x');
  const std::pair<std::string, std::string> cases[] = {
      {"0\r\n\r\n", "|5"},
      {"5\r\nhello\r\n0\r\nA: x\r\n\r\nHTTP", "hello|21"},
      {"0\r\nA: x\r\nB:\ty\xc3\xa4\r\n\r\n", "|19"},
      {"0\r\nA: x\r\n", "|incomplete"},
      {"0\r\nA: x\n\r\n", "400"},
      {"0\r\nA: x\rB: y\r\n\r\n", "400"},
      {std::string("0\r\nA: \0\r\n\r\n", 12), "400"},
      {"0\r\n\n", "400"},
  };
  for (const auto& [bytes, result] : cases)
    for (std::size_t step = 1; step <= bytes.size(); ++step)
      EXPECT_EQ(read_chunks(bytes, step, ChunkedDecoder::Trailers::drop), result)
          << testing::PrintToString(bytes);
  EXPECT_EQ(
      read_chunks("0\r\nA:" + much.substr(2) + "\r\n\r\n", 100, ChunkedDecoder::Trailers::drop),
      "|" + std::to_string(much.size() + 7));
  EXPECT_EQ(read_chunks("0\r\nA:" + much + "\r\n\r\n", 100, ChunkedDecoder::Trailers::drop), "400");
}

TEST(HttpQuery, IsDecodedOnceAndInOrder) {
  HttpHeaders values;
  ASSERT_TRUE(parse_query("a=1&b=x+y%26&&c&d==%2541", values));
  EXPECT_EQ(values, (HttpHeaders{{"a", "1"}, {"b", "x y&"}, {"c", ""}, {"d", "=%41"}}));
  for (const std::string_view broken : {"a=%", "a=%1", "%zz=1", "a=1&b=%G0"}) {
    HttpHeaders ignored;
    EXPECT_FALSE(parse_query(broken, ignored)) << broken;
  }
}

}  // namespace
}  // namespace sallyport
