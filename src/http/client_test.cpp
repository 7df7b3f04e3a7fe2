#include "http/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/un.h>

#include <condition_variable>

#include "http/loopback_fixture.h"

namespace sallyport {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string plain(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

Result<HttpReply> fetch_answer(const std::string& bytes, std::size_t most = 1000) {
  const LoopbackServer server([&](const std::string&) { return bytes; });
  return fetch({.url = server.url("/"), .most_bytes = most});
}

TEST(HttpClient, SendsARequestAndReadsItsAnswer) {
  const LoopbackServer server([](const std::string&) {
    return "HTTP/1.1 404 Not Found\r\nX-Thing:  two words \r\nContent-Length: 3\r\n\r\nno\n";
  });
  const auto reply = fetch({.url = server.url("/a/b?c=d"),
                            .method = "POST",
                            .headers = {{"Authorization", "Bearer k"}},
                            .body = "{}"});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 404U);
  EXPECT_EQ(reply->header("x-thing"), "two words");
  EXPECT_EQ(reply->body, "no\n");
  const std::string sent = server.requests().at(0);
  EXPECT_THAT(sent, StartsWith("POST /a/b?c=d HTTP/1.1\r\nHost: 127.0.0.1:"));
  EXPECT_THAT(sent, HasSubstr("\r\nAuthorization: Bearer k\r\n"));
  EXPECT_THAT(sent, HasSubstr("\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"));
  EXPECT_THAT(sent, EndsWith("\r\n\r\n{}"));
}

TEST(HttpClient, ReadsEveryFormOfABody) {
  EXPECT_EQ(fetch_answer(plain("hello"))->body, "hello");
  EXPECT_EQ(fetch_answer(plain("hello") + "and more")->body, "hello");
  EXPECT_EQ(fetch_answer("HTTP/1.0 200 OK\r\n\r\nto the end")->body, "to the end");
  EXPECT_EQ(fetch_answer("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n"
                         "0\r\n\r\n")
                ->body,
            "abcde");
  EXPECT_EQ(fetch_answer("HTTP/1.1 100 Continue\r\n\r\n" + plain("x"))->body, "x");
  EXPECT_EQ(fetch_answer("HTTP/1.1 204 No Content\r\n\r\n")->status, 204U);
}

TEST(HttpClient, RefusesWhatIsNoWholeAnswer) {
  for (const std::string& bytes : {
           std::string(),
           std::string("HTTP/1.1 200"),
           std::string("SSH-2.0-OpenSSH_9.2\r\n\r\n"),
           std::string("HTTP/1.1 2000 OK\r\n\r\n"),
           std::string("HTTP/1.1 020 OK\r\n\r\n"),
           std::string("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"),
           std::string("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"),
           std::string("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
           std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"),
           std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n"
                       "0\r\n\r\n"),
           std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"),
           std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
           "HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x'),
       }) {
    const auto reply = fetch_answer(bytes);
    ASSERT_FALSE(reply) << bytes.substr(0, 80);
    EXPECT_EQ(reply.error().reason, Reason::unavailable);
  }
}

TEST(HttpClient, TakesNoLongerBodyThanItWasTold) {
  const std::string body(1001, 'x');
  EXPECT_FALSE(fetch_answer(plain(body)));
  EXPECT_FALSE(fetch_answer("HTTP/1.1 200 OK\r\n\r\n" + body));
  EXPECT_FALSE(fetch_answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + body +
                            "\r\n0\r\n\r\n"));
  EXPECT_TRUE(fetch_answer(plain(body.substr(1))));
  EXPECT_TRUE(fetch_answer("HTTP/1.1 200 OK\r\n\r\n" + body.substr(1)));
}

TEST(HttpClient, GivesAStreamOnAsItComes) {
  const LoopbackServer server([](const std::string&) {
    return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  });
  std::string pieces;
  HttpFetch request{.url = server.url("/")};
  request.on_piece = [&](std::string_view piece) { pieces.append(piece); };
  const auto reply = fetch(request);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(pieces, "abcde");
  EXPECT_EQ(reply->body, "");
}

TEST(HttpClient, AStopIsToldOnceAndTheAnswerStillWaitedFor) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Fd stop(ends[0]), stopper(ends[1]);
  ASSERT_EQ(::write(stopper.get(), "x", 1), 1);
  std::mutex mutex;
  std::condition_variable wake;
  int told = 0;
  const LoopbackServer server([&](const std::string&) {
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return told > 0; });
    return plain("the end");
  });
  HttpFetch request{.url = server.url("/")};
  request.stop = stop.get();
  request.on_stop = [&] {
    const std::lock_guard lock(mutex);
    ++told;
    wake.notify_all();
  };
  const auto reply = fetch(request);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->body, "the end");
  EXPECT_EQ(told, 1);
}

TEST(HttpClient, GivesUpAtItsDeadline) {
  std::mutex mutex;
  std::condition_variable wake;
  bool over = false;
  const LoopbackServer server([&](const std::string&) {
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return over; });
    return plain("late");
  });
  const auto reply = fetch({.url = server.url("/"), .deadline = std::chrono::milliseconds{30}});
  {
    const std::lock_guard lock(mutex);
    over = true;
  }
  wake.notify_all();
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message, HasSubstr("in time"));
}

TEST(HttpClient, SaysThatNobodyAnswers) {
  std::string url;
  {
    const LoopbackServer server([](const std::string&) { return ""; });
    url = server.url("/");
  }
  const auto reply = fetch({.url = url});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().reason, Reason::unavailable);
  EXPECT_FALSE(fetch({.url = "http://localhost/", .socket = "/nonexistent/socket"}));
}

TEST(HttpClient, DialsAUnixSocket) {
  const std::string path = testing::TempDir() + "client_test." + std::to_string(::getpid());
  ::unlink(path.c_str());
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  std::thread server([&] {
    const Fd client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::string bytes = plain("over a socket");
    (void)!::write(client.get(), bytes.data(), bytes.size());
    ::shutdown(client.get(), SHUT_WR);
    char piece[1000];
    while (::read(client.get(), piece, sizeof(piece)) > 0) {
    }
  });
  const auto reply = fetch({.url = "http://localhost/", .socket = path});
  server.join();
  ::unlink(path.c_str());
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->body, "over a socket");
}

TEST(HttpClient, DialsAddressesAndLocalhostOnly) {
  EXPECT_TRUE(check_fetch_url("http://127.0.0.1:4318"));
  EXPECT_TRUE(check_fetch_url("http://[::1]:4318/base"));
  EXPECT_TRUE(check_fetch_url("http://localhost:4318"));
  EXPECT_TRUE(check_fetch_url("http://10.1.2.3"));
  for (const char* url : {"https://127.0.0.1", "http://example.com", "127.0.0.1:4318", "",
                          "http://u:p@127.0.0.1/", "http://0x7f.1/", "unix:/run/x"}) {
    const auto checked = check_fetch_url(url);
    ASSERT_FALSE(checked) << url;
    EXPECT_EQ(checked.error().reason, Reason::argument);
    EXPECT_FALSE(checked.error().hint.empty());
  }
}

TEST(HttpClient, SendsNoHeaderThatIsTwo) {
  for (const char* value : {"a\r\nX: y", "a\nX: y", "\x01", "caf\xc3\xa9"}) {
    const auto reply = fetch({.url = "http://127.0.0.1:1/", .headers = {{"Authorization", value}}});
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().reason, Reason::argument);
  }
  EXPECT_EQ(fetch({.url = "http://127.0.0.1:1/", .headers = {{"A: b\r\nC", "d"}}}).error().reason,
            Reason::argument);
  EXPECT_EQ(fetch({.url = "http://127.0.0.1:1/", .method = "GET / HTTP/1.1\r\nX:"}).error().reason,
            Reason::argument);
}

}  // namespace
}  // namespace sallyport
