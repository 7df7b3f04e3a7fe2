// What a client may take of a server: bytes, time, connections.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <future>

#include "http/http_fixture.h"
#include "http/server.h"

namespace sallyport {
namespace {

using namespace std::chrono_literals;

// Sends a byte whenever nothing has come for a while, until an answer or the end comes.
std::string drip(RawClient& client, std::string_view bytes) {
  for (const char byte : bytes) {
    if (client.readable(10)) break;
    if (!client.send({&byte, 1})) break;
  }
  return client.read_all();
}

// Who is not known must not be able to fill the memory that everybody's bodies share.
TEST(HttpLimits, OfABodyMayDependOnTheHead) {
  HttpSettings settings;
  settings.body_terms = [](const HttpRequest& head) -> BodyTerms {
    return {.most = head.header("x-key").empty() ? 4U : 1000U, .sender = {}};
  };
  TestServer server(echo, std::move(settings));
  const auto post = [&](const std::string& headers, const std::string& body) {
    return status_in(server.ask("POST /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
                                headers + "\r\n" + body));
  };
  EXPECT_EQ(post("Content-Length: 4\r\n", "abcd"), 200U);
  EXPECT_EQ(post("Content-Length: 5\r\n", "abcde"), 413U);
  EXPECT_EQ(post("Transfer-Encoding: chunked\r\n", "5\r\nabcde\r\n0\r\n\r\n"), 413U);
  EXPECT_EQ(post("X-Key: a\r\nContent-Length: 5\r\n", "abcde"), 200U);
}

TEST(HttpLimits, OfTimeAreNotMovedByAByteNowAndThen) {
  TestServer server(echo, {.limits = {.header_time = 2s, .body_time = 2s}});
  const std::pair<std::string, std::string> cases[] = {
      {"G", "ET /" + std::string(8000, 'x')},
      {"GET / HTTP/1.1\r\n", "X: " + std::string(15000, 'x')},
      {kPostHead + "20000\r\n\r\n", std::string(19999, 'x')},
      {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5000\r\n",
       std::string(20000, 'x')},
      {kGet, "GET /" + std::string(8000, 'x')},  // the second request of a connection
  };
  std::vector<std::future<std::string>> answers;
  for (const auto& [first, rest] : cases)
    answers.push_back(std::async(std::launch::async, [&] {
      RawClient client(server.port());
      client.send(first);
      if (first == kGet) client.read_answer();
      return drip(client, rest);
    }));
  for (std::size_t i = 0; i < answers.size(); ++i)
    EXPECT_EQ(status_in(answers[i].get()), 408) << cases[i].first;
}

TEST(HttpLimits, CloseAnIdleConnectionWithoutAWord) {
  TestServer impatient(echo, {.limits = {.header_time = 100ms}});
  EXPECT_EQ(RawClient(impatient.port()).read_all(), "");
  TestServer server(echo, {.limits = {.idle_time = 100ms}});
  RawClient client(server.port());
  client.send(kGet);
  EXPECT_EQ(status_in(client.read_answer()), 200);
  EXPECT_EQ(client.read_all(), "");
}

TEST(HttpLimits, OfBuffersHoldForAllConnectionsTogether) {
  TestServer server(echo, {.limits = {.buffered_bytes = 100'000}});
  const auto ask_for = [&](std::size_t bytes) {
    return status_in(server.ask(post(std::string(bytes, 'y'), "Connection: close\r\n")));
  };
  // Which of two that grow at once is refused is a matter of luck; again until it is the second.
  for (unsigned first_status = 0; first_status != 200;) {
    RawClient first(server.port());
    first.send(kPostHead + "90000\r\n\r\n" + std::string(80'000, 'x'));
    while (!first.readable(0) && ask_for(50'000) == 200) {
    }
    EXPECT_EQ(ask_for(1), 200);  // small ones go on
    first.send(std::string(10'000, 'x'));
    first_status = status_in(first.read_answer());
    ASSERT_TRUE(first_status == 200 || first_status == 503);
  }
  // What was held has been given back.
  EXPECT_EQ(ask_for(90'000), 200);
}

TEST(HttpLimits, OfBuffersAreNotSpentByAnnouncements) {
  TestServer server(echo, {.limits = {.buffered_bytes = 200'000}});
  std::vector<RawClient> announcers;
  for (int i = 0; i < 20; ++i) {
    announcers.emplace_back(server.port());
    announcers.back().send(kPostHead + "16000000\r\n\r\nx");
  }
  EXPECT_EQ(status_in(server.ask(post(std::string(50'000, 'y'), "Connection: close\r\n"))), 200);
}

// One caller's many slow uploads would otherwise be all that there is room for.
TEST(HttpLimits, OfBuffersLeaveOthersTheirPart) {
  HttpSettings settings{.limits = {.buffered_bytes = 400'000, .share_bytes = 100'000}};
  settings.body_terms = [](const HttpRequest& head) -> BodyTerms {
    return {.sender = std::string(head.header("x-key"))};
  };
  TestServer server(echo, std::move(settings));
  const auto ask_as = [&](const std::string& who, std::size_t bytes) {
    return server.ask(post(std::string(bytes, 'y'), "X-Key: " + who + "\r\nConnection: close\r\n"));
  };
  {
    std::vector<RawClient> slow;
    const std::string forms[] = {
        "Content-Length: 90000\r\n\r\n" + std::string(60'000, 'x'),
        "Transfer-Encoding: chunked\r\n\r\n15F90\r\n" + std::string(60'000, 'x')};
    for (const std::string& form : forms) {
      slow.clear();
      bool refused = false;
      // Each holds 60,000 at least; the first may lose against those that come behind it.
      for (int i = 0; i < 20; ++i) {
        slow.emplace_back(server.port());
        slow.back().send("POST /x HTTP/1.1\r\nHost: localhost\r\nX-Key: greedy\r\n" + form);
      }
      server.until([&](const HttpNumbers&) {
        for (RawClient& client : slow)
          if (client.readable(0)) refused = true;
        return refused;
      });
      EXPECT_EQ(status_in(ask_as("modest", 90'000)), 200U);
      EXPECT_EQ(status_in(ask_as("greedy", 100)), 200U) << "a short one is not an upload";
    }
    server.until([&](const HttpNumbers&) { return status_in(ask_as("greedy", 90'000)) == 503U; });
    EXPECT_THAT(ask_as("greedy", 90'000), testing::HasSubstr("Too much of this sender"));
  }
  // What was held has been given back.
  server.until([&](const HttpNumbers&) { return status_in(ask_as("greedy", 90'000)) == 200U; });
}

// The largest body fits into the part of one sender, however it comes.
TEST(HttpLimits, OfBuffersAreEnoughForTheLargestBody) {
  TestServer server(echo, {.limits = {.body_bytes = 100'000, .share_bytes = 100'000}});
  const std::string head = "POST /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
  const std::string body(100'000, 'x');
  EXPECT_EQ(status_in(server.ask(head + "Content-Length: 100000\r\n\r\n" + body)), 200U);
  EXPECT_EQ(status_in(server.ask(head + "Transfer-Encoding: chunked\r\n\r\n186A0\r\n" + body +
                                 "\r\n0\r\n\r\n")),
            200U);
}

TEST(HttpLimits, OfConnectionsCloseTheOldestIdleOne) {
  TestServer server(echo, {.limits = {.connections = 10}, .threads = 1});
  std::vector<RawClient> clients;
  for (int i = 0; i < 30; ++i) {
    clients.emplace_back(server.port());
    clients.back().send(kGet);
    ASSERT_EQ(status_in(clients.back().read_answer()), 200) << i;
  }
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(clients[static_cast<std::size_t>(i)].read_all(), "") << i;
  for (std::size_t i = 20; i < 30; ++i) {
    clients[i].send(kGet);
    EXPECT_EQ(status_in(clients[i].read_answer()), 200) << i;
  }
}

TEST(HttpLimits, OfConnectionsAreNotHeldByRequestsThatNeverEnd) {
  TestServer server(echo, {.limits = {.connections = 10}});
  std::vector<RawClient> hostile;
  for (int i = 0; i < 50; ++i) {
    hostile.emplace_back(server.port());
    hostile.back().send(i % 2 == 0 ? "GET / HTT" : kPostHead + "100\r\n\r\nx");
  }
  EXPECT_EQ(status_in(server.ask(kLastGet)), 200);
}

TEST(HttpLimits, LetAThousandIdleConnectionsBe) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = std::max<rlim_t>(files.rlim_cur, std::min<rlim_t>(files.rlim_max, 4096));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  TestServer server(echo, {.limits = {.header_time = 1h}});
  std::vector<RawClient> idle;
  for (int i = 0; i < 1000; ++i)
    idle.emplace_back(server.port());
  server.until([](const HttpNumbers& numbers) { return numbers.connections == 1000; });
  EXPECT_EQ(status_in(server.ask(kLastGet)), 200);
  for (RawClient& client : idle) {
    client.send(kGet);
    EXPECT_EQ(status_in(client.read_answer()), 200);
  }
  idle.clear();
  server.until([](const HttpNumbers& numbers) { return numbers.connections == 0; });
}

TEST(HttpLimits, OfDescriptorsMakeRoomForTheNextConnection) {
  TestServer server;
  std::vector<RawClient> idle;
  for (int i = 0; i < 6; ++i) {
    idle.emplace_back(server.port());
    idle.back().send(kGet);
    idle.back().read_answer();
  }
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const Fd next(::dup(socket.get()));
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(next.get());  // no descriptor below it is free
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(server.port())};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  RawClient client(std::move(socket));
  client.send(kGet);
  EXPECT_EQ(status_in(client.read_answer()), 200);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(HttpLimits, CutOffAReaderThatDoesNotRead) {
  TestServer server(
      [](const HttpRequest&, Responder responder) {
        responder.send({.body = std::string(32 << 20, 'x')});
      },
      {.limits = {.write_time = 200ms}});
  RawClient client(server.port(), 4096);
  client.send(kGet);
  server.until([](const HttpNumbers& numbers) { return numbers.requests == 1; });
  server.until([](const HttpNumbers& numbers) { return numbers.connections == 0; });
  EXPECT_LT(client.read_all().size(), 32 << 20);
}

TEST(HttpLimits, DoNotStopASlowReaderWhoReads) {
  TestServer server(
      [](const HttpRequest&, Responder responder) {
        responder.send({.body = std::string(8 << 20, 'x')});
      },
      {.limits = {.write_time = 20s}});
  RawClient client(server.port(), 4096);
  client.send(kLastGet);
  EXPECT_EQ(body_in(client.read_all()).size(), 8 << 20);
}

}  // namespace
}  // namespace sallyport
