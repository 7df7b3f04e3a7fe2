#include "http/server.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <mutex>
#include <set>

#include "http/http_fixture.h"

namespace sallyport {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(HttpServer, AnswersWithTheHeadersThatEveryAnswerHas) {
  TestServer server;
  RawClient client(server.port());
  client.send("GET /a%20b?c=d HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string answer = client.read_answer();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nCache-Control: no-store\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nDate: "));
  EXPECT_THAT(answer, Not(HasSubstr("Connection:")));
  EXPECT_EQ(body_in(answer), "GET /a b?c=d  127.0.0.1 ");
}

TEST(HttpServer, AnswersRequestsThatAreSentAheadInTheirOrder) {
  TestServer server;
  std::string many;
  std::string expected;
  for (int i = 0; i < 500; ++i) {
    many += post("body" + std::to_string(i));
    expected += "POST /x? body" + std::to_string(i) + " 127.0.0.1 ";
  }
  RawClient client(server.port());
  std::thread sender([&] { client.send(many + kLastGet); });
  std::string bodies;
  for (int i = 0; i < 500; ++i)
    bodies += body_in(client.read_answer());
  EXPECT_EQ(bodies, expected);
  EXPECT_THAT(client.read_all(), HasSubstr("Connection: close"));
  sender.join();
  EXPECT_EQ(server.server().numbers().requests, 501);
}

TEST(HttpServer, LeavesTheBodyOfAnAnswerToHeadOut) {
  TestServer server;
  const std::string answers = server.ask("HEAD /x HTTP/1.1\r\nHost: localhost\r\n\r\n" + kLastGet);
  EXPECT_THAT(answers, HasSubstr("Content-Length: 19\r\n"));
  EXPECT_THAT(answers, HasSubstr("\r\n\r\nHTTP/1.1 200 OK"));  // nothing between the two
}

TEST(HttpServer, RefusesAndClosesWhatIsNotHttp) {
  TestServer server;
  const std::pair<std::string, unsigned> cases[] = {
      {"GET / HTTP/1.1\nHost: localhost\n\n", 400},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"GET / HTTP/1.0\r\n\r\n", 505},
      {"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421},
      {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n", 421},
      {"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n", 421},
      {"GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n", 414},
      {"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(17000, 'a') + "\r\n\r\n", 431},
      {kPostHead + "16777217\r\n\r\n", 413},
      {kPostHead + "16777217\r\nExpect: 100-continue\r\n\r\n", 413},
      {kPostHead + "5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello", 400},
      {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n", 413},
      {"DELETE / HTTP/1.1\r\nHost: localhost\r\nExpect: x\r\n\r\n", 417},
  };
  std::uint64_t refused = 0;
  for (const auto& [bytes, status] : cases) {
    // What follows a refused request is not looked at, whatever it is.
    const std::string answer = server.ask(bytes + kGet + kGet);
    EXPECT_EQ(status_in(answer), status) << bytes.substr(0, 100);
    EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
    EXPECT_EQ(answer.find("\nHTTP/1.1 "), std::string::npos) << answer;
    EXPECT_EQ(server.server().numbers().refused, ++refused);
  }
  EXPECT_EQ(server.server().numbers().requests, 0);
  EXPECT_EQ(status_in(server.ask(kLastGet)), 200);
}

TEST(HttpServer, ReadsBodiesOfEveryForm) {
  TestServer server;
  const std::string large(300'000, 'x');
  RawClient client(server.port());
  client.send(post(large));
  EXPECT_EQ(body_in(client.read_answer()), "POST /x? " + large + " 127.0.0.1 ");
  std::string chunks = "POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 30; ++i)
    chunks += "2710\r\n" + large.substr(0, 10'000) + "\r\n";
  client.send(chunks + "0\r\n\r\n");
  EXPECT_EQ(body_in(client.read_answer()), "POST /x? " + large + " 127.0.0.1 ");
  for (const char byte : post("one at a time"))
    client.send({&byte, 1});
  EXPECT_EQ(body_in(client.read_answer()), "POST /x? one at a time 127.0.0.1 ");
}

TEST(HttpServer, SaysContinueToThoseWhoAsk) {
  TestServer server;
  RawClient client(server.port());
  client.send(kPostHead + "5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hello");
  EXPECT_EQ(body_in(client.read_answer()), "POST /x? hello 127.0.0.1 ");
}

TEST(HttpServer, EndsAConnectionAfterItsRequests) {
  TestServer server(echo, {.limits = {.requests_per_connection = 3}});
  RawClient client(server.port());
  client.send(kGet + kGet + kGet + kGet + kGet);
  client.read_answer();
  client.read_answer();
  EXPECT_THAT(client.read_answer(), HasSubstr("Connection: close"));
  EXPECT_EQ(client.read_all(), "");
}

TEST(HttpServer, GivesAnAnswerEvenWhenTheHandlerGivesNone) {
  TestServer server([](const HttpRequest& request, Responder responder) {
    if (request.path == "/throw") throw std::runtime_error("no");
    if (request.path == "/later") std::thread([r = std::move(responder)] {}).detach();
    if (request.path == "/twice") {
      responder.send({.body = "first"});
      responder.send({.body = "second"});
      EXPECT_FALSE(responder.stream({})->write("third"));
    }
  });
  RawClient client(server.port());
  for (const char* path : {"/drop", "/throw", "/later"}) {
    client.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(status_in(client.read_answer()), 500) << path;
  }
  client.send("GET /twice HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(body_in(client.read_answer()), "first");
}

TEST(HttpServer, TakesAnswersFromAnyThread) {
  std::mutex mutex;
  std::vector<Responder> waiting;
  TestServer server([&](const HttpRequest&, Responder responder) {
    const std::lock_guard lock(mutex);
    waiting.push_back(std::move(responder));
  });
  std::vector<RawClient> clients;
  for (int i = 0; i < 20; ++i) {
    clients.emplace_back(server.port());
    clients.back().send(kGet);
  }
  server.until([](const HttpNumbers& numbers) { return numbers.requests == 20; });
  for (std::size_t done = 0; done < 20;) {
    const std::lock_guard lock(mutex);
    for (Responder& responder : waiting)
      responder.send({.body = "late"});
    done += waiting.size();
    waiting.clear();
  }
  for (RawClient& client : clients)
    EXPECT_EQ(body_in(client.read_answer()), "late");
}

TEST(HttpServer, TakesManyAnswersAtOnce) {
  std::mutex mutex;
  std::vector<Responder> waiting;
  TestServer server([&](const HttpRequest&, Responder responder) {
    const std::lock_guard lock(mutex);
    waiting.push_back(std::move(responder));
  });
  std::vector<RawClient> clients;
  for (int i = 0; i < 20; ++i) {
    clients.emplace_back(server.port());
    clients.back().send(kGet);
  }
  server.until([](const HttpNumbers& numbers) { return numbers.requests == 20; });
  {
    const AnswersTogether at_once;
    for (std::size_t done = 0; done < 20;) {
      const std::lock_guard lock(mutex);
      for (Responder& responder : waiting) {
        const AnswersTogether within;  // the outer one decides
        if (++done != 7) responder.send({.body = "late"});
      }
      waiting.clear();
    }
    for (RawClient& client : clients)
      EXPECT_FALSE(client.readable(1));
  }
  std::multiset<unsigned> statuses;
  for (RawClient& client : clients)
    statuses.insert(status_in(client.read_answer()));
  EXPECT_EQ(statuses.count(200), 19U);
  EXPECT_EQ(statuses.count(500), 1U);  // whoever was dropped
}

// Those of its own connections, too: first all are made, and then all go out.
TEST(HttpServer, MakesAllAnswersOfAThreadBeforeItSendsOne) {
  constexpr std::size_t kClients = 5;
  std::vector<RawClient> clients;
  std::vector<Responder> waiting;
  std::vector<bool> early;  // whether somebody had an answer when the next one was made
  TestServer server(
      [&](const HttpRequest&, Responder responder) {
        waiting.push_back(std::move(responder));
        if (waiting.size() < kClients) return;
        after_these_requests([&] {
          const AnswersTogether at_once;
          for (Responder& each : waiting)
            each.send([&]() -> HttpResponse {
              early.push_back(std::ranges::any_of(
                  clients, [](RawClient& client) { return client.readable(1); }));
              if (early.size() == 2) throw std::runtime_error("no");
              return {.body = std::to_string(early.size())};
            });
          waiting.clear();
        });
      },
      {.threads = 1});
  for (std::size_t i = 0; i < kClients; ++i)
    clients.emplace_back(server.port());
  for (RawClient& client : clients)
    client.send(kGet);
  std::multiset<unsigned> statuses;
  for (RawClient& client : clients)
    statuses.insert(status_in(client.read_answer()));
  EXPECT_EQ(statuses.count(200), kClients - 1);
  EXPECT_EQ(statuses.count(500), 1U);
  EXPECT_EQ(early, std::vector<bool>(kClients, false));
  for (RawClient& client : clients)
    client.send(kGet);  // and go on
  for (RawClient& client : clients)
    EXPECT_EQ(status_in(client.read_answer()), 200U);
}

TEST(HttpServer, HasAnswersMadeOnTheThreadOfTheConnection) {
  std::atomic<std::thread::id> handled, made;
  std::vector<std::jthread> threads;
  TestServer server(
      [&](const HttpRequest& request, Responder responder) {
        handled = std::this_thread::get_id();
        threads.emplace_back([&, path = request.path, responder = std::move(responder)]() mutable {
          responder.send([&, path]() -> HttpResponse {
            made = std::this_thread::get_id();
            if (path == "/throw") throw std::runtime_error("no");
            return {.body = "made"};
          });
        });
      },
      {.threads = 1});
  RawClient client(server.port());
  client.send("GET /good HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(body_in(client.read_answer()), "made");
  EXPECT_EQ(made.load(), handled.load());
  client.send("GET /throw HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(status_in(client.read_answer()), 500);
  client.send("GET /good HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(body_in(client.read_answer()), "made");
}

TEST(HttpServer, MakesAnAnswerThoughItsClientHasGone) {
  std::promise<Responder> promise;
  TestServer server(
      [&](const HttpRequest&, Responder responder) { promise.set_value(std::move(responder)); });
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  Responder responder = promise.get_future().get();
  client.close();
  std::promise<void> made;
  responder.send([&]() -> HttpResponse {
    made.set_value();
    return {};
  });
  EXPECT_EQ(made.get_future().wait_for(std::chrono::seconds{30}), std::future_status::ready);
}

TEST(HttpServer, DoesWhatIsLeftForLaterOnTheSameThreadBehindTheHandler) {
  std::vector<std::string> order;  // of one thread
  std::vector<Responder> waiting;
  TestServer server(
      [&](const HttpRequest& request, Responder responder) {
        waiting.push_back(std::move(responder));
        order.push_back(request.path);
        after_these_requests([&] {
          order.emplace_back("later");
          for (Responder& each : waiting)
            each.send({.body = "done"});
          waiting.clear();
        });
        order.emplace_back("handled");
      },
      {.threads = 1});
  RawClient client(server.port());
  client.send("GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(body_in(client.read_answer()), "done");
  server.server().drain(std::chrono::milliseconds(0));
  server.join();
  EXPECT_THAT(order, testing::ElementsAre("/x", "handled", "later"));
  // Elsewhere there is nothing to wait for.
  bool done = false;
  after_these_requests([&] { done = true; });
  EXPECT_TRUE(done);
}

TEST(HttpServer, NamesTheClientBehindATrustedProxy) {
  TestServer server(echo, {.trusted_proxies = {"127.0.0.0/8"}});
  const std::string forwarded =
      "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Forwarded-For: 10.0.0.1, "
      "192.0.2.9\r\n\r\n";
  EXPECT_EQ(body_in(server.ask(forwarded)), "GET /x?  192.0.2.9 ");
  TestServer other;
  EXPECT_EQ(body_in(other.ask(forwarded)), "GET /x?  127.0.0.1 ");
}

TEST(HttpServer, WritesAMappedAddressAsTheOneItIs) {
  TestServer server(echo, {}, AF_INET6);
  EXPECT_EQ(body_in(server.ask(kLastGet)), "GET /x?  127.0.0.1 ");
}

TEST(HttpServer, ServesAUnixSocketUnderAnyHost) {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX};
  // Autobind: the kernel chooses a free abstract name.
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address.sun_family),
            0);
  ASSERT_EQ(::listen(socket.get(), 8), 0);
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  HttpSettings settings;
  settings.listeners.push_back({.socket = std::move(socket)});
  TestServer server(echo, std::move(settings));
  Fd end(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(end.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  RawClient client(std::move(end));
  client.send("GET /x HTTP/1.1\r\nHost: sallyport\r\n\r\n");
  EXPECT_EQ(body_in(client.read_answer()), "GET /x?   ");
}

TEST(HttpServer, RefusesSettingsThatCannotWork) {
  const auto fault = [](HttpSettings settings, bool listen, bool tls = false) {
    std::uint16_t port = 0;
    if (listen) settings.listeners.push_back({.socket = listening_socket(port), .tls = tls});
    const auto server = HttpServer::open(std::move(settings), echo, nullptr);
    return server ? std::string() : server.error().message;
  };
  EXPECT_EQ(fault({}, true), "");
  EXPECT_NE(fault({}, false), "");
  EXPECT_NE(fault({}, true, true), "");
  EXPECT_NE(fault({.hosts = {"not a host"}}, true), "");
  EXPECT_NE(fault({.trusted_proxies = {"10.0.0.0/99"}}, true), "");
  EXPECT_NE(fault({.tls = {.certificate = "rubbish", .key = "rubbish"}}, true), "");
}

// --- Streams -----------------------------------------------------------------------------------

TEST(HttpStreams, ArriveInPiecesAndKeepTheConnection) {
  std::promise<std::shared_ptr<HttpStream>> promise;
  TestServer server([&](const HttpRequest& request, Responder responder) {
    if (request.query.empty()) return echo(request, std::move(responder));
    promise.set_value(responder.stream({.body = "first", .type = "text/event-stream"}));
  });
  RawClient client(server.port());
  client.send("GET /s?s HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const auto stream = promise.get_future().get();
  EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_EQ(client.read_until("first\r\n"), "5\r\nfirst\r\n");
  EXPECT_TRUE(stream->write(""));  // is not the end
  EXPECT_TRUE(stream->write("0123456789abcdef"));
  EXPECT_EQ(client.read_until("f\r\n"), "10\r\n0123456789abcdef\r\n");
  EXPECT_TRUE(stream->write("x"));
  EXPECT_TRUE(stream->write("y"));
  stream->close();
  EXPECT_FALSE(stream->write("z"));
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "1\r\nx\r\n1\r\ny\r\n0\r\n\r\n");
  client.send(kGet);
  EXPECT_EQ(status_in(client.read_answer()), 200);
}

TEST(HttpStreams, DroppedInTheMiddleDoNotLookWhole) {
  TestServer server([](const HttpRequest&, Responder responder) {
    const auto stream = responder.stream({.type = "text/plain"});
    stream->write("half");
  });
  EXPECT_THAT(server.ask(kGet), Not(HasSubstr("0\r\n\r\n")));
}

TEST(HttpStreams, ToHeadAreNothingButAHead) {
  TestServer server([](const HttpRequest&, Responder responder) {
    const auto stream = responder.stream({.body = "first"});
    while (stream->write(std::string(1000, 'x'))) {
    }
  });
  const std::string answer =
      server.ask("HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("first")));
}

TEST(HttpStreams, NeverHoldMoreForASlowReaderThanTheirLimit) {
  std::atomic<bool> ended = false;
  std::atomic<std::size_t> written = 0;
  TestServer server(
      [&](const HttpRequest&, Responder responder) {
        std::thread([&, responder = std::move(responder)]() mutable {
          const auto stream = responder.stream({});
          const std::string piece(10'000, 'x');
          while (stream->write(piece))
            written += piece.size();
          ended = true;
        }).detach();
      },
      {.limits = {.stream_bytes = 100'000}});
  RawClient client(server.port(), 4096);
  client.send(kGet);
  while (!ended)  // the client reads nothing; kernels take a few megabytes at most
    std::this_thread::yield();
  EXPECT_LT(written, 64 << 20);
  EXPECT_FALSE(client.read_all().ends_with("0\r\n\r\n"));
  server.until([](const HttpNumbers& numbers) { return numbers.connections == 0; });
}

TEST(HttpStreams, EndForTheWriterWhenTheClientHasGone) {
  std::promise<std::shared_ptr<HttpStream>> promise;
  TestServer server(
      [&](const HttpRequest&, Responder responder) { promise.set_value(responder.stream({})); });
  std::shared_ptr<HttpStream> stream;
  {
    RawClient client(server.port());
    client.send(kGet);
    stream = promise.get_future().get();
    client.read_until("\r\n\r\n");
  }
  while (stream->write("piece"))
    std::this_thread::yield();
  server.until([](const HttpNumbers& numbers) { return numbers.connections == 0; });
}

// Nothing is written, so only a look at the connection tells. A client that opens streams and
// leaves would have all connections otherwise.
TEST(HttpStreams, LetGoOfAClientThatHasGoneWhileNothingIsWritten) {
  std::promise<std::shared_ptr<HttpStream>> promise;
  TestServer server(
      [&](const HttpRequest&, Responder responder) { promise.set_value(responder.stream({})); });
  std::shared_ptr<HttpStream> stream;
  {
    RawClient client(server.port());
    client.send(kGet);
    stream = promise.get_future().get();
    client.read_until("\r\n\r\n");
  }
  server.until([](const HttpNumbers& numbers) { return numbers.connections == 0; });
  EXPECT_FALSE(stream->write("piece"));
}

TEST(HttpServer, AnswersBeforeItClosesOnAClientThatIsStillSending) {
  TestServer server(echo, {.limits = {.body_bytes = 1000}});
  RawClient client(server.port());
  client.send(kPostHead + "4000000\r\n\r\n");
  client.send(std::string(4'000'000, 'x'));  // would be cut off by a reset
  EXPECT_EQ(status_in(client.read_all()), 413);
}

// --- The end -----------------------------------------------------------------------------------

TEST(HttpDrain, AnswersWhatHasComeInAndEnds) {
  std::promise<Responder> promise;
  TestServer server(
      [&](const HttpRequest&, Responder responder) { promise.set_value(std::move(responder)); });
  RawClient idle(server.port());
  RawClient busy(server.port());
  busy.send(kGet);
  Responder responder = promise.get_future().get();
  server.server().drain(1h);
  EXPECT_EQ(idle.read_all(), "");
  responder.send({.body = "done"});
  const std::string answer = busy.read_all();
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_EQ(body_in(answer), "done");
  busy.close();
  server.join();
  Fd late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(server.port())};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_NE(::connect(late.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
}

TEST(HttpDrain, ClosesEverythingWhenItsTimeIsUp) {
  std::mutex mutex;
  std::vector<Responder> kept;
  std::vector<std::shared_ptr<HttpStream>> streams;
  auto server = std::make_unique<TestServer>([&](const HttpRequest& request, Responder responder) {
    const std::lock_guard lock(mutex);
    if (request.path == "/stream")
      streams.push_back(responder.stream({}));
    else
      kept.push_back(std::move(responder));
  });
  RawClient waiting(server->port());
  waiting.send(kGet);
  RawClient streaming(server->port());
  streaming.send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  RawClient sending(server->port());
  sending.send("GET / HT");
  streaming.read_until("\r\n\r\n");
  server->until([](const HttpNumbers& numbers) { return numbers.requests == 2; });
  server->server().drain(50ms);
  server->join();
  EXPECT_EQ(waiting.read_all(), "");
  EXPECT_EQ(streaming.read_all(), "");
  EXPECT_EQ(sending.read_all(), "");
  EXPECT_FALSE(streams.at(0)->write("too late"));
  // Answers may come when all is gone.
  server.reset();
  kept.at(0).send({.body = "too late"});
  streams.clear();
}

TEST(HttpDrain, BeforeTheStartEndsTheStart) {
  std::uint16_t port = 0;
  HttpSettings settings;
  settings.listeners.push_back({.socket = listening_socket(port)});
  auto server = HttpServer::open(std::move(settings), echo, nullptr);
  ASSERT_TRUE(server);
  (*server)->drain(0ms);
  (*server)->run();
}

TEST(HttpDrain, UnderLoadLosesNoAnswer) {
  TestServer server;
  std::atomic<int> unanswered = 0;
  std::atomic<int> answered = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      RawClient client(server.port());
      for (;;) {
        const std::uint64_t before = server.server().numbers().requests;
        if (!client.send(kGet)) break;
        const std::string answer = client.read_answer();
        if (answer.empty()) break;  // closed while idle: may be sent again
        if (status_in(answer) != 200) ++unanswered;
        if (before > 0) ++answered;
        if (answer.find("Connection: close") != std::string::npos) break;
      }
    });
  server.until([](const HttpNumbers& numbers) { return numbers.requests > 200; });
  server.server().drain(10s);
  for (std::thread& thread : threads)
    thread.join();
  server.join();
  EXPECT_EQ(unanswered, 0);
  EXPECT_GT(answered, 100);
}

}  // namespace
}  // namespace sallyport
