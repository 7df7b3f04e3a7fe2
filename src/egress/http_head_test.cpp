#include "egress/http_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sallyport {
namespace {

std::string_view request_fault(std::string_view head) {
  RequestHead request;
  return parse_request_head(head, request);
}

TEST(RequestHeads, AreReadAndWrittenAnew) {
  RequestHead request;
  ASSERT_EQ(parse_request_head("GET /a?b=c HTTP/1.1\r\nhOsT: a.example\r\nX:  y \r\n"
                               "Proxy-Connection: keep-alive\r\n\r\n",
                               request),
            "");
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.target, "/a?b=c");
  EXPECT_EQ(request.host, "a.example");
  EXPECT_TRUE(request.keep_alive);
  EXPECT_EQ(write_request_head(request, request.target, "a.example"),
            "GET /a?b=c HTTP/1.1\r\nHost: a.example\r\nX: y\r\n\r\n");
}

// Each of these is read by some server as one request and by another as two, or as another one.
TEST(RequestHeads, AreRefused_WhereTwoReadersCouldDiffer) {
  const std::string line = "POST / HTTP/1.1\r\nHost: a\r\n";
  ASSERT_EQ(request_fault(line + "Content-Length: 5\r\n\r\n"), "");
  ASSERT_EQ(request_fault(line + "Transfer-Encoding: chunked\r\n\r\n"), "");
  for (const std::string_view fields :
       {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
        "Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
        "Content-Length: 5\r\ncontent-length: 6\r\n\r\n",
        "Content-Length: +5\r\n\r\n",
        "Content-Length: 5, 5\r\n\r\n",
        "Content-Length: 0x5\r\n\r\n",
        "Content-Length: \r\n\r\n",
        "Content-Length: 99999999999999999999\r\n\r\n",
        "Content-Length : 5\r\n\r\n",
        "Transfer-Encoding: xchunked\r\n\r\n",
        "Transfer-Encoding: gzip, chunked\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
        "Transfer-Encoding\t: chunked\r\n\r\n",
        "X: a\r\n folded\r\n\r\n",
        "X: a\nY: b\r\n\r\n",
        "X: a\rY: b\r\n\r\n",
        "X\r\n\r\n",
        ": x\r\n\r\n",
        "Host: b\r\n\r\n"})
    EXPECT_NE(request_fault(line + std::string(fields)), "") << fields;
  using std::string_literals::operator""s;
  EXPECT_NE(request_fault(line + "X: a\0b\r\n\r\n"s), "");
  for (const std::string_view first :
       {"GET  / HTTP/1.1", "GET / HTTP/1.1 ", "GET /a b HTTP/1.1", " GET / HTTP/1.1", "GET /",
        "GET / HTTP/2.0", "GET / http/1.1", "G\tET / HTTP/1.1", "GET /\x7f HTTP/1.1",
        "GET /\xc3\xa4 HTTP/1.1", "\r\nGET / HTTP/1.1"})
    EXPECT_NE(request_fault(std::string(first) + "\r\nHost: a\r\n\r\n"), "") << first;
  EXPECT_NE(request_fault("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"), "");
}

// What is spoken after an upgrade is judged by nobody, so only a WebSocket is let through.
TEST(RequestHeads, AskForNoOtherProtocol) {
  RequestHead request;
  ASSERT_EQ(
      parse_request_head("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                         "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nX: y\r\n\r\n",
                         request),
      "");
  EXPECT_FALSE(request.upgrade);
  EXPECT_EQ(write_request_head(request, "/", "a"), "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n");
  RequestHead socket;
  ASSERT_EQ(parse_request_head("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
                               "Upgrade: WebSocket\r\n\r\n",
                               socket),
            "");
  EXPECT_TRUE(socket.upgrade);
  EXPECT_THAT(write_request_head(socket, "/", "a"), testing::HasSubstr("Upgrade: WebSocket"));
}

TEST(RequestHeads, EndWhereTheyEnd) {
  const std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\n\r\nrest";
  for (std::size_t split = 0; split < bytes.size(); ++split) {
    std::size_t searched = 0;
    const auto first = head_end(std::string_view(bytes).substr(0, split), searched);
    const auto second = first ? first : head_end(bytes, searched);
    ASSERT_TRUE(second);
    EXPECT_EQ(*second, bytes.size() - 4);
  }
}

TEST(ResponseHeads, SayHowLongTheBodyIs) {
  const auto framing = [](std::string_view head, bool to_head_request = false) {
    ResponseHead response;
    EXPECT_EQ(parse_response_head(head, to_head_request, response), "") << head;
    return response.framing.kind;
  };
  using Kind = Framing::Kind;
  EXPECT_EQ(framing("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"), Kind::length);
  EXPECT_EQ(framing("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", true), Kind::none);
  EXPECT_EQ(framing("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n"), Kind::chunked);
  EXPECT_EQ(framing("HTTP/1.0 200 OK\r\n\r\n"), Kind::until_end);
  EXPECT_EQ(framing("HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n"), Kind::none);
  EXPECT_EQ(framing("HTTP/1.1 204 No Content\r\n\r\n"), Kind::none);
}

TEST(ResponseHeads, AreRefused_WhenTheyAreNone) {
  for (const std::string_view head :
       {"HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/2 200\r\n\r\n",
        "ICY 200 OK\r\n\r\n", "HTTP/1.1 099 X\r\n\r\n", "HTTP/1.1 2000\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"}) {
    ResponseHead response;
    EXPECT_NE(parse_response_head(head, false, response), "") << head;
  }
}

}  // namespace
}  // namespace sallyport
