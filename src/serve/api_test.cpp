#include "serve/api.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <thread>

#include "http/http_fixture.h"
#include "input/schema.h"
#include "serve/routes.h"

namespace sallyport {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// What a client would see.
class Client final : public Responder::Connection {
 public:
  void send(HttpResponse response) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(answer_) << "two answers to one request";
    answer_ = std::move(response);
    changed_.notify_all();
  }
  void send(std::move_only_function<HttpResponse()> make) override { send(make()); }
  std::shared_ptr<HttpStream> stream(HttpResponse) override { return nullptr; }

  HttpResponse wait() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds{60}, [&] { return answer_.has_value(); }));
    return answer_.value_or(HttpResponse{.status = 0});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<HttpResponse> answer_;
};

class Api : public testing::Test {
 protected:
  // Whatever else the machine does, nothing takes so long that is not meant to.
  static constexpr std::chrono::seconds kHeldUp{2};
  static constexpr std::string_view kPolicy = R"(
version: 1
roles: { reader: [read:data], chief: [admin], scraper: [read:metrics] }
tenants: { acme: {}, other: {} }
callers:
  vera: { tenant: acme, role: reader }
  boss: { tenant: acme, role: chief }
  oona: { tenant: other, role: chief }
  prom: { role: scraper }
lockout: { after: 3 denials, within: 5min, for: 5min, by: [caller, address] }
defaults: { rate: 1000/min }
tools: {}
)";

  Api() {
    std::string name = fs::temp_directory_path() / "sallyport-api-XXXXXX";
    path_ = ::mkdtemp(name.data());
    state_ = Fd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    keys_ = *KeyRing::open(state_.get());
    boundary_ = std::make_unique<Boundary>(*Boundary::open(
        *Policy::parse(kPolicy), {.quick = {.usual = std::chrono::hours{1}, .most = kHeldUp}}));
    EXPECT_TRUE(boundary_->add({.name = "echo",
                                .description = "",
                                .needs = {"read:data"},
                                .args = {{"text", {{"type", "string"}}}},
                                .tier = FunctionTier::inline_call,
                                .body = [](const json::object& arguments) -> Result<json::value> {
                                  return arguments.at("text");
                                }}));
    service_.reset(new Service{.boundary = *boundary_,
                               .keys = *keys_,
                               .board = board_,
                               .queue = *queue_,
                               .metrics = metrics_,
                               .state = state_.get(),
                               .http = [] { return HttpNumbers{}; },
                               .reload = [] { return Result<void>(); },
                               .can_run = [] { return Result<void>(); },
                               .ready = ready_});
  }
  ~Api() override {
    queue_.reset();  // its workers use all of the others
    fs::remove_all(path_);
  }

  std::string key(const std::string& caller, std::optional<std::vector<std::string>> scopes = {}) {
    return *add_key(state_.get(), {.id = {},
                                   .caller = caller,
                                   .created = Moment(1),
                                   .expires = {},
                                   .scopes = std::move(scopes),
                                   .hash = {}});
  }
  HttpResponse ask(HttpRequest request) {
    const auto client = std::make_shared<Client>();
    answer(*service_, std::move(request), Responder(client));
    return client->wait();
  }
  HttpResponse ask(std::string method, std::string path, const std::string& key = "",
                   std::string body = "", std::string query = "") {
    HttpRequest request{.method = std::move(method),
                        .path = std::move(path),
                        .query = std::move(query),
                        .headers = {},
                        .body = std::move(body),
                        .address = "203.0.113.7",
                        .client_certificate = {},
                        .by_operator = false};
    if (!key.empty()) request.headers.emplace_back("authorization", "Bearer " + key);
    return ask(std::move(request));
  }
  static json::object body(const HttpResponse& response) {
    return json::parse(response.body).as_object();
  }

  fs::path path_;
  Fd state_;
  std::unique_ptr<KeyRing> keys_;
  std::unique_ptr<Boundary> boundary_;
  CallBoard board_;
  ServiceMetrics metrics_;
  std::atomic<bool> ready_ = true;
  std::unique_ptr<CallQueue> queue_ =
      std::make_unique<CallQueue>(QueueLimits{.workers = 4, .workers_of_one = 4});
  std::unique_ptr<Service> service_;
};

TEST_F(Api, AnswersManyInlineCallsAtOnceEachWithItsOwn) {
  const std::string key = this->key("vera");
  TestServer server([this](HttpRequest request, Responder responder) {
    answer(*service_, std::move(request), std::move(responder));
  });
  const auto run_client = [&](int number) {
    RawClient client(server.port());
    const auto call = [&](const std::string& body) {
      client.send("POST /v1/tools/echo/call HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
                  key + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
      return client.read_answer();
    };
    for (int i = 0; i < 20; ++i) {
      const std::string own = std::to_string(number) + "-" + std::to_string(i);
      // The larger one passes the gates on another thread.
      for (const std::size_t more : {0, 5000}) {
        const std::string said =
            call(R"({"arguments": {"text": ")" + own + "\"}}" + std::string(more, ' '));
        ASSERT_EQ(status_in(said), 200U) << said;
        EXPECT_EQ(json::parse(body_in(said)).at("data").as_string(), own);
      }
      if (number > 0) continue;  // more than two denials would lock the caller out
      if (i == 5) EXPECT_EQ(status_in(call(R"({"arguments": {"text": 1}})")), 422U);
      if (i == 9) EXPECT_EQ(status_in(call("{")), 400U);
    }
  };
  {
    std::vector<std::jthread> clients;
    for (int number = 0; number < 8; ++number)
      clients.emplace_back(run_client, number);
  }
  EXPECT_EQ(board_.in_flight(), 0U);
}

// A call of a function that has been quick goes all the way on the thread that read it, and one
// that has held that thread up does not do so again.
TEST_F(Api, RunsQuickFunctionsWhereTheirCallsAreReadAndOthersElsewhere) {
  std::atomic<std::thread::id> reads, runs;
  std::atomic<bool> slow = false;
  EXPECT_TRUE(boundary_->add({.name = "where",
                              .description = "",
                              .needs = {"read:data"},
                              .args = {},
                              .tier = FunctionTier::inline_call,
                              .body = [&](const json::object&) -> Result<json::value> {
                                runs = std::this_thread::get_id();
                                if (slow)
                                  std::this_thread::sleep_for(kHeldUp +
                                                              std::chrono::milliseconds{1});
                                return nullptr;
                              }}));
  const std::string key = this->key("vera");
  TestServer server([&](HttpRequest request, Responder responder) {
    reads = std::this_thread::get_id();
    answer(*service_, std::move(request), std::move(responder));
  });
  RawClient client(server.port());
  const auto call = [&] {
    client.send("POST /v1/tools/where/call HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
                key + "\r\nContent-Length: 2\r\n\r\n{}");
    EXPECT_EQ(status_in(client.read_answer()), 200U);
    return runs.load() == reads.load();
  };
  for (int i = 0; i < 64; ++i)
    EXPECT_FALSE(call()) << i;
  EXPECT_TRUE(call());
  slow = true;
  EXPECT_TRUE(call());
  slow = false;
  for (int i = 0; i < 64; ++i)
    EXPECT_FALSE(call()) << i;
  EXPECT_EQ(board_.in_flight(), 0U);
}

TEST_F(Api, TakesACallThroughTheGates) {
  const auto response =
      ask("POST", "/v1/tools/echo/call", key("vera"), R"({"arguments": {"text": "hi"}})");
  EXPECT_EQ(response.status, 200U) << response.body;
  EXPECT_EQ(body(response).at("data"), "hi");
  EXPECT_EQ(body(response).at("caller"), "vera");
}

TEST_F(Api, ShowsACallToItsOwnTenantAfterwards) {
  const auto made =
      ask("POST", "/v1/tools/echo/call", key("vera"), R"({"arguments": {"text": "hi"}})");
  const std::string path = "/v1/calls/" + std::string(body(made).at("call_id").as_string());
  EXPECT_EQ(body(ask("GET", path, key("vera"))).at("data"), "hi");
  EXPECT_EQ(ask("GET", path, key("boss")).status, 200U);
  EXPECT_EQ(ask("GET", path, key("oona")).status, 404U);
  EXPECT_EQ(ask("DELETE", path, key("oona")).status, 404U);
}

TEST_F(Api, RefusesStrangersAndLocksTheirAddressOut) {
  for (int i = 0; i < 3; ++i) {
    const auto response = ask("POST", "/v1/tools/echo/call", "", "{}");
    EXPECT_EQ(response.status, 401U);
    EXPECT_THAT(response.headers,
                testing::Contains(testing::Pair(std::string("WWW-Authenticate"), "Bearer")));
  }
  const auto locked = ask("POST", "/v1/tools/echo/call", "sp_wrong", "{}");
  EXPECT_EQ(locked.status, 429U) << locked.body;
  EXPECT_EQ(body(locked).at("reason"), "locked_out");
  EXPECT_THAT(locked.headers, testing::Contains(testing::Pair("Retry-After", testing::_)));
  // Who shows a key is not kept out by others at the same address.
  EXPECT_EQ(
      ask("POST", "/v1/tools/echo/call", key("vera"), R"({"arguments": {"text": "hi"}})").status,
      200U);
  // Addresses are the operator's business, not that of a tenant's administrator.
  EXPECT_THAT(ask("GET", "/v1/lockouts", key("boss")).body, Not(HasSubstr("address/")));
  EXPECT_EQ(ask("DELETE", "/v1/lockouts/address/203.0.113.7", key("boss")).status, 404U);
  HttpRequest request{.method = "DELETE",
                      .path = "/v1/lockouts/address/203.0.113.7",
                      .query = {},
                      .headers = {},
                      .body = {},
                      .address = {},
                      .client_certificate = {},
                      .by_operator = true};
  EXPECT_EQ(ask(request).status, 200U);
  EXPECT_EQ(ask("POST", "/v1/tools/echo/call", "", "{}").status, 401U);
}

TEST_F(Api, AsksForPermissionsOfItsOwnRoutes) {
  EXPECT_EQ(ask("GET", "/metrics", key("vera")).status, 403U);
  EXPECT_EQ(ask("GET", "/metrics", key("prom")).status, 200U);
  EXPECT_EQ(ask("GET", "/metrics", key("boss")).status, 200U) << "admin implies all";
  EXPECT_EQ(ask("GET", "/metrics", key("boss", {{"read:data"}})).status, 403U);
  EXPECT_EQ(ask("GET", "/metrics").status, 401U);
  EXPECT_EQ(ask("POST", "/v1/policy/reload", key("vera")).status, 403U);
  EXPECT_EQ(ask("POST", "/v1/policy/reload", key("boss")).status, 200U);
}

TEST_F(Api, TakesOneCredentialAndOnlyOne) {
  const std::string mine = key("vera");
  HttpRequest request{.method = "GET",
                      .path = "/v1/tools",
                      .query = {},
                      .headers = {},
                      .body = {},
                      .address = {},
                      .client_certificate = {},
                      .by_operator = false};
  request.headers = {{"x-api-key", mine}};
  EXPECT_EQ(ask(request).status, 200U);
  request.headers = {{"x-api-key", mine}, {"authorization", "Bearer " + mine}};
  EXPECT_EQ(ask(request).status, 400U);
  request.headers = {{"authorization", "bEARER " + mine}};
  EXPECT_EQ(ask(request).status, 200U);
  for (const std::string& wrong :
       {"Basic " + mine, mine, std::string("Bearer "), std::string("Bearer"), "Bearer  " + mine}) {
    request.headers = {{"authorization", wrong}};
    EXPECT_EQ(ask(request).status, 401U) << wrong;
  }
  // A certificate's name is a caller's, and no key's.
  request.headers = {};
  request.client_certificate = "vera";
  EXPECT_EQ(ask(request).status, 200U);
  request.client_certificate = "nobody";
  EXPECT_EQ(ask(request).status, 403U);
}

TEST_F(Api, KnowsItsPathsExactly) {
  for (const char* path :
       {"/", "/v1", "/v1/", "/v1/tools/", "/v1/tools//call", "/v1/tools/a/b/call", "/V1/tools",
        "/healthz/", "//healthz", "/v1/calls/", "/execute/x"})
    EXPECT_EQ(ask("GET", path, key("vera")).status, 404U) << path;
  const auto wrong = ask("POST", "/healthz");
  EXPECT_EQ(wrong.status, 405U);
  EXPECT_THAT(wrong.headers, testing::Contains(testing::Pair(std::string("Allow"), "GET")));
}

TEST_F(Api, SaysThatItIsEnding) {
  EXPECT_EQ(ask("GET", "/readyz").status, 200U);
  ready_ = false;
  EXPECT_EQ(ask("GET", "/readyz").status, 503U);
  EXPECT_EQ(ask("GET", "/healthz").status, 200U);
}

TEST_F(Api, AnswersManyAtTheSameTime) {
  const std::string mine = key("vera");
  std::vector<std::thread> callers;
  std::atomic<int> good = 0;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 25; ++i) {
        const std::string text = std::to_string(caller * 100 + i);
        const auto response =
            ask("POST", "/v1/tools/echo/call", mine, R"({"arguments": {"text": ")" + text + "\"}}");
        good += response.status == 200 && body(response).at("data") == json::value(text) ? 1 : 0;
      }
    });
  for (std::thread& caller : callers)
    caller.join();
  EXPECT_EQ(good, 100);
  queue_.reset();  // an answer is sent before its call is put aside
  EXPECT_EQ(board_.in_flight(), 0U);
}

TEST(Openapi, DescribesEveryRouteWithSchemasThatCompile) {
  const json::object description = openapi();
  const json::object& paths = description.at("paths").as_object();
  std::size_t operations = 0;
  for (const auto& path : paths)
    operations += path.value().as_object().size();
  EXPECT_EQ(operations, routes().size());
  for (const auto& [name, schema] : description.at("components").at("schemas").as_object()) {
    json::object whole = schema.as_object();
    whole["components"] = description.at("components");
    const auto compiled = Schema::compile(json::value(whole));
    EXPECT_TRUE(compiled) << name << ": " << compiled.error().message;
  }
  const std::string text = json::serialize(description);
  EXPECT_THAT(text, Not(HasSubstr("$defs")));
  EXPECT_THAT(text, Not(HasSubstr("schemas/\"")));
}

TEST(ServerProblem, SaysWhatWouldBeAllowed) {
  HttpLimits limits;
  const auto hint = [&limits](unsigned status) {
    const HttpResponse response = server_problem(status, "No.", limits);
    EXPECT_EQ(response.status, status);
    const auto body = json::parse(response.body).as_object();
    EXPECT_EQ(body.at("message"), "No.");
    return body.contains("hint") ? std::string(body.at("hint").as_string()) : std::string();
  };
  EXPECT_THAT(hint(408), HasSubstr("within 10 seconds, and the body within 30 seconds"));
  EXPECT_THAT(hint(413), HasSubstr("16 MiB, and 64 KiB without a key"));
  EXPECT_THAT(hint(414), HasSubstr("8 KiB"));
  EXPECT_THAT(hint(421), HasSubstr("--host NAME"));
  EXPECT_THAT(hint(431), HasSubstr("16 KiB, and 100 headers"));
  EXPECT_THAT(hint(503), HasSubstr("again"));
  EXPECT_EQ(hint(400), "") << "the sentence says it all";
  limits.header_bytes = 4096;
  EXPECT_THAT(hint(431), HasSubstr("4 KiB")) << "as it is set";
}

TEST(HttpStatus, IsSaidForEveryReason) {
  for (const ReasonText& row : kReasons) {
    CallResult result;
    result.status = Status::blocked;
    result.reason = row.reason;
    const unsigned status = http_status(result);
    EXPECT_TRUE(status >= 403 && status <= 503) << row.name;
    result.status = Status::killed;
    EXPECT_EQ(http_status(result), 200U) << row.name;
  }
}

}  // namespace
}  // namespace sallyport
