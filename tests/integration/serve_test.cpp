// The service over HTTP, with real clients, as root and as an ordinary user.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "base/json.h"
#include "input/schema.h"
#include "support/leftovers.h"
#include "support/live_service.h"

namespace sallyport::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kPolicy = R"(
version: 1
roles:
  viewer: [read:data]
  worker: [read:data, execute:code]
  operator: [admin]
tenants:
  acme: {}
  other: {}
callers:
  vera: { tenant: acme, role: viewer }
  will: { tenant: acme, role: worker }
  boss: { tenant: acme, role: operator }
  otto: { tenant: other, role: worker }
  oona: { tenant: other, role: operator }
defaults: { rate: 600/min }
tools:
  python: { use: run_python, needs: [execute:code], limits: { timeout: 30s }, collect: ["*.txt", "out/*"] }
  hello: { run: [echo, hello], needs: [read:data] }
  slow: { run: [sleep, "30"], needs: [execute:code], limits: { timeout: 60s } }
  scarce: { run: [echo, once], needs: [read:data], rate: 1/h }
)";

class Serve : public CellTest {
 protected:
  // One service for all tests of a launcher that do not change it.
  LiveService& service() {
    static std::map<As, std::unique_ptr<LiveService>> services;
    auto& own = services[GetParam()];
    if (own == nullptr) own = std::make_unique<LiveService>(kPolicy, GetParam());
    return *own;
  }
  std::string key(const std::string& caller) {
    static std::map<std::pair<As, std::string>, std::string> keys;
    std::string& key = keys[{GetParam(), caller}];
    if (key.empty()) key = service().key(caller);
    return key;
  }
};
SALLYPORT_FOR_ROOT_AND_USER(Serve);

std::string python(const std::string& code) {
  return boost::json::serialize(boost::json::object{{"code", code}});
}

// --- calls

TEST_P(Serve, RunsACallAndAnswersWithItsResult) {
  const Reply reply = service().call("python", python("print(2 + 2)"), key("will"));
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.text("status"), "success");
  EXPECT_EQ(reply.text("output"), "4\n");
  EXPECT_EQ(reply.text("caller"), "will");
  EXPECT_EQ(reply.json().at("isolation").at("tier"), "process");
}

TEST_P(Serve, ExecuteAnswersInFourFields) {
  const Reply ran = service().post(
      "/execute", R"x({"tool_name": "python", "code": "print(2 + 2)"})x", key("will"));
  EXPECT_EQ(ran.status, 200);
  const auto body = ran.json();
  EXPECT_EQ(body.size(), 4U);
  EXPECT_EQ(body.at("success"), true);
  EXPECT_EQ(body.at("output"), "4\n");
  EXPECT_EQ(body.at("error"), "");
  EXPECT_TRUE(body.at("execution_time_ms").is_int64());
}

TEST_P(Serve, ExecuteAnswers200WhateverWasDecided) {
  for (const char* body :
       {R"({"tool_name": "nothing", "code": "1"})", R"({"tool_name": "python", "code": ""})"}) {
    const Reply reply = service().post("/execute", body, key("will"));
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.json().at("success"), false);
    EXPECT_THAT(reply.text("output"), StartsWith("Code blocked: "));
  }
  const Reply denied =
      service().post("/execute", R"x({"tool_name": "python", "code": "print(1)"})x", key("vera"));
  EXPECT_EQ(denied.status, 200);
  EXPECT_THAT(denied.text("output"), HasSubstr("execute:code"));
  const Reply malformed = service().post("/execute", "{", key("will"));
  EXPECT_EQ(malformed.status, 200);
  EXPECT_EQ(malformed.json().at("success"), false);
  const Reply failed = service().post(
      "/execute", R"x({"tool_name": "python", "code": "raise SystemExit(3)"})x", key("will"));
  EXPECT_EQ(failed.status, 200);
  EXPECT_EQ(failed.json().at("success"), false);
}

TEST_P(Serve, AnswersWithTheStatusOfTheReason) {
  EXPECT_EQ(service().call("python", "{", key("will")).status, 400);
  EXPECT_EQ(service().call("python", python("1"), "").status, 401);
  EXPECT_EQ(service().call("python", python("1"), "sp_wrong").status, 401);
  EXPECT_EQ(service().call("python", python("1"), key("vera")).status, 403);
  EXPECT_EQ(service().call("nothing", "{}", key("will")).status, 404);
  EXPECT_EQ(service().call("python", R"({"cod": "1"})", key("will")).status, 422);
  EXPECT_EQ(service().call("scarce", "{}", key("vera")).status, 200);
  const Reply limited = service().call("scarce", "{}", key("vera"));
  EXPECT_EQ(limited.status, 429);
  EXPECT_THAT(limited.headers, HasSubstr("Retry-After: "));
  EXPECT_EQ(limited.text("reason"), "rate_limit");
  EXPECT_EQ(service().curl({"-X", "PUT", "-d", "x"}, "/v1/tools").status, 405);
  EXPECT_EQ(service().get("/nothing").status, 404);
}

TEST_P(Serve, EveryRefusalIsARecordWithAReason) {
  for (const Reply& reply :
       {service().call("python", python("1"), ""), service().call("nothing", "{}", key("will")),
        service().get("/nothing"), service().get("/v1/audit", key("vera"))}) {
    EXPECT_EQ(reply.text("status"), "blocked") << reply.body;
    EXPECT_NE(reply.text("reason"), "");
    EXPECT_NE(reply.text("message"), "");
  }
}

TEST_P(Serve, TakesFilesAndGivesArtifactsBack) {
  const Reply reply = service().post(
      "/v1/tools/python/call",
      R"x({"arguments": {"code": "import os; os.mkdir('out'); open('out/b.txt', 'w').write(open('a').read() * 2)"},
          "files": [{"path": "a", "base64": "AAEC"}]})x",
      key("will"));
  ASSERT_EQ(reply.status, 200) << reply.body;
  ASSERT_EQ(reply.text("status"), "success") << reply.body;
  const std::string path = "/v1/calls/" + reply.text("call_id") + "/artifacts/out/b.txt";
  const Reply artifact = service().get(path, key("will"));
  EXPECT_EQ(artifact.status, 200);
  EXPECT_EQ(artifact.body, std::string("\0\1\2\0\1\2", 6));
  EXPECT_THAT(artifact.headers, HasSubstr("attachment"));
  EXPECT_EQ(service().get(path + "x", key("will")).status, 404);
}

TEST_P(Serve, ACallerMayTightenItsLimits) {
  const Reply reply = service().post(
      "/v1/tools/python/call",
      R"({"arguments": {"code": "while True: pass"}, "limits": {"timeout": "1s"}})", key("will"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.text("status"), "killed");
  EXPECT_EQ(reply.text("reason"), "timeout");
}

// --- streams and cancelling

TEST_P(Serve, StreamsOutputAsItComesAndEndsWithTheResult) {
  const std::string code = "import sys\nprint('one', flush=True)\nprint('two', file=sys.stderr)";
  auto args = LiveService::credential(key("will"));
  args.insert(args.end(), {"-N", "-H", "Accept: text/event-stream", "-d",
                           R"({"arguments": )" + python(code) + "}"});
  const Reply reply = service().curl(args, "/v1/tools/python/call");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.headers, HasSubstr("text/event-stream"));
  EXPECT_THAT(reply.body, HasSubstr("event: call\n"));
  EXPECT_THAT(reply.body, HasSubstr("event: stdout\ndata: {\"text\":\"one\\n\"}"));
  EXPECT_THAT(reply.body, HasSubstr("event: stderr\ndata: {\"text\":\"two\\n\"}"));
  const std::size_t result = reply.body.find("event: result\ndata: ");
  ASSERT_NE(result, std::string::npos) << reply.body;
  EXPECT_EQ(boost::json::parse(reply.body.substr(result + 20)).at("status"), "success");
}

// A call that is streamed, in the background: its id, as soon as it has one.
class Streamed {
 public:
  Streamed(LiveService& service, const std::string& tool, const std::string& arguments,
           const std::string& key)
      : process_({"curl", "-s", "-N", "-H", "Accept: text/event-stream", "-H",
                  "Authorization: Bearer " + key, "-d", R"({"arguments": )" + arguments + "}",
                  "http://" + service.address() + "/v1/tools/" + tool + "/call"}) {
    EXPECT_TRUE(process_.says("event: call\ndata: {\"call_id\":\""));
    EXPECT_TRUE(process_.says("\"}\n\n"));
    const std::size_t at = process_.said().find("call_id\":\"") + 10;
    id = process_.said().substr(at, 32);
  }
  std::string id;
  LiveProcess& process() { return process_; }

 private:
  LiveProcess process_;
};

TEST_P(Serve, ShowsWhatIsWrittenBeforeTheCallHasEnded) {
  Streamed call(service(), "python",
                python("print('early', flush=True)\nimport time; time.sleep(25)"), key("will"));
  EXPECT_TRUE(call.process().says("early"));
  EXPECT_EQ(service().get("/v1/calls/" + call.id, key("will")).text("status"), "running");
  EXPECT_EQ(service()
                .curl({"-X", "DELETE", "-H", "Authorization: Bearer " + key("will")},
                      "/v1/calls/" + call.id)
                .status,
            202);
  EXPECT_TRUE(call.process().says("event: result"));
  const Reply ended = service().get("/v1/calls/" + call.id, key("will"));
  EXPECT_EQ(ended.text("status"), "killed");
  EXPECT_EQ(ended.text("reason"), "cancelled");
}

TEST_P(Serve, CancellingKillsTheWholeTree) {
  const std::string word = unique_word();
  const std::string code =
      "import subprocess, time\n"
      "for i in range(3): subprocess.Popen(['sh', '-c', 'sleep 300; : " +
      word +
      "'], start_new_session=True)\n"
      "print('up', flush=True); time.sleep(25)";
  Streamed call(service(), "python", python(code), key("will"));
  ASSERT_TRUE(call.process().says("up"));
  EXPECT_FALSE(processes_with("sleep 300; : " + word).empty());
  service().curl({"-X", "DELETE", "-H", "Authorization: Bearer " + key("will")},
                 "/v1/calls/" + call.id);
  EXPECT_TRUE(eventually([&] { return processes_with("sleep 300; : " + word).empty(); }));
}

TEST_P(Serve, AStreamIsTakenUpAgainWhereItBroke) {
  const Reply first =
      service().post("/v1/tools/python/call",
                     R"({"arguments": )" + python("for i in range(3): print(i, flush=True)") + "}",
                     key("will"), {"-N", "-H", "Accept: text/event-stream"});
  const std::size_t at = first.body.find("call_id\":\"") + 10;
  const std::string path = "/v1/calls/" + first.body.substr(at, 32);
  auto args = LiveService::credential(key("will"));
  args.insert(args.end(), {"-N", "-H", "Accept: text/event-stream", "-H", "Last-Event-ID: 1"});
  const Reply again = service().curl(args, path);
  EXPECT_EQ(again.status, 200);
  EXPECT_THAT(again.body, Not(HasSubstr("id: 1\n")));
  EXPECT_THAT(again.body, HasSubstr("event: result"));
}

// --- tenants

TEST_P(Serve, AnotherTenantNeitherSeesNorCancelsACall) {
  Streamed call(service(), "slow", "{}", key("will"));
  const Reply unknown = service().get("/v1/calls/" + std::string(32, '0'), key("oona"));
  EXPECT_EQ(unknown.status, 404);
  for (const char* stranger : {"otto", "oona"}) {
    const Reply seen = service().get("/v1/calls/" + call.id, key(stranger));
    EXPECT_EQ(seen.status, 404);
    EXPECT_EQ(seen.body, unknown.body) << "nothing to tell it from a call that is not there";
    const Reply cancelled = service().curl(
        {"-X", "DELETE", "-H", "Authorization: Bearer " + key(stranger)}, "/v1/calls/" + call.id);
    EXPECT_EQ(cancelled.status, 404);
    EXPECT_THAT(service().get("/v1/calls", key(stranger)).body, Not(HasSubstr(call.id)));
  }
  // A colleague without the right to administer does not either; its own caller and the tenant's
  // administrator do.
  EXPECT_EQ(service().get("/v1/calls/" + call.id, key("vera")).status, 404);
  EXPECT_EQ(service().get("/v1/calls/" + call.id, key("will")).text("status"), "running");
  EXPECT_EQ(service().get("/v1/calls/" + call.id, key("boss")).text("status"), "running");
  service().curl({"-X", "DELETE", "-H", "Authorization: Bearer " + key("boss")},
                 "/v1/calls/" + call.id);
  EXPECT_TRUE(call.process().says("event: result"));
}

TEST_P(Serve, ToolsAreThoseOfTheCaller) {
  EXPECT_THAT(service().get("/v1/tools", key("vera")).body, Not(HasSubstr("python")));
  for (const char* format : {"openai", "anthropic", "mcp", "json"}) {
    const Reply reply = service().get(std::string("/v1/tools?format=") + format, key("will"));
    EXPECT_EQ(reply.status, 200);
    EXPECT_THAT(reply.body, HasSubstr("python"));
  }
  EXPECT_EQ(service().get("/v1/tools?format=xml", key("will")).status, 400);
}

// --- keys

TEST_P(Serve, AKeyIsRefusedFromTheMomentItIsRevoked) {
  const std::string mine = service().key("vera");
  EXPECT_EQ(service().call("hello", "{}", mine).status, 200);
  const std::string id = mine.substr(3, mine.find('_', 3) - 3);
  EXPECT_EQ(service().command({"key", "revoke", id}).exit_code, 0);
  EXPECT_EQ(service().call("hello", "{}", mine).status, 401);
  EXPECT_EQ(service().command({"key", "revoke", id}).exit_code, 1);
}

TEST_P(Serve, AKeyMayBeNarrowedToSomePermissions) {
  const std::string narrow = service().key("will", {"--scope", "read:data"});
  EXPECT_EQ(service().call("hello", "{}", narrow).status, 200);
  const Reply refused = service().call("python", python("1"), narrow);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.text("rule"), "key.scopes");
  // The operator's key too.
  const std::string boss = service().key("boss", {"--scope", "read:data"});
  EXPECT_EQ(service().get("/v1/lockouts", boss).status, 403);
}

TEST_P(Serve, AKeyEnds) {
  const std::string brief = service().key("vera", {"--expires", "1ms"});
  EXPECT_EQ(service().call("hello", "{}", brief).status, 401);
}

TEST_P(Serve, KeyAddWritesTheKeyAloneAndRefusesACallerThatIsNotThere) {
  const Ran made = service().command({"key", "add", "vera", "--policy", service().policy_file()});
  EXPECT_EQ(made.exit_code, 0);
  EXPECT_THAT(made.out, testing::MatchesRegex("sp_[A-Za-z0-9]+_[A-Za-z0-9]+\n"));
  const Ran wrong = service().command({"key", "add", "vear", "--policy", service().policy_file()});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(wrong.out, "");
  EXPECT_THAT(wrong.err, HasSubstr("did you mean vera?"));
}

// --- the description

TEST_P(Serve, AnswersAreWhatTheDescriptionSays) {
  const auto description = service().get("/openapi.json").json();
  EXPECT_EQ(description.at("openapi"), "3.1.0");
  const auto check = [&](const std::string& path, const std::string& method, const Reply& reply) {
    SCOPED_TRACE(method + " " + path + ": " + std::to_string(reply.status) + " " + reply.body);
    const auto& responses = description.at("paths").at(path).at(method).at("responses").as_object();
    ASSERT_TRUE(responses.contains(std::to_string(reply.status)));
    boost::json::object schema = responses.at(std::to_string(reply.status))
                                     .at("content")
                                     .at("application/json")
                                     .at("schema")
                                     .as_object();
    schema["components"] = description.at("components");
    const auto compiled = Schema::compile(boost::json::value(schema));
    ASSERT_TRUE(compiled) << compiled.error().message;
    for (const Violation& violation : compiled->check(boost::json::parse(reply.body)))
      ADD_FAILURE() << violation.instance_place << ": " << violation.message;
  };
  const std::string call = "/v1/tools/{tool}/call";
  check(call, "post", service().call("python", python("print(1)"), key("will")));
  check(call, "post", service().call("python", python("raise SystemExit(2)"), key("will")));
  check(call, "post", service().call("python", "{}", key("will")));
  check(call, "post", service().call("python", "{", key("will")));
  check(call, "post", service().call("python", python("1"), ""));
  check(call, "post", service().call("python", python("1"), key("vera")));
  check(call, "post", service().call("nothing", "{}", key("vera")));
  check("/execute", "post",
        service().post("/execute", R"({"tool_name": "python", "code": "1"})", key("will")));
  check("/execute", "post", service().post("/execute", "{}", key("vera")));
  check("/execute", "post", service().post("/execute", "{}", ""));
  check("/v1/tools", "get", service().get("/v1/tools", key("will")));
  check("/v1/tools", "get", service().get("/v1/tools?format=x", key("will")));
  check("/v1/calls", "get", service().get("/v1/calls", key("will")));
  check("/v1/calls/{id}", "get", service().get("/v1/calls/x", key("will")));
  check("/v1/audit", "get", service().get("/v1/audit", key("boss")));
  check("/v1/audit", "get", service().get("/v1/audit", key("will")));
  check("/v1/lockouts", "get", service().get("/v1/lockouts", key("boss")));
  check("/healthz", "get", service().get("/healthz"));
  check("/readyz", "get", service().get("/readyz"));
  check("/openapi.json", "get", service().get("/openapi.json"));
}

// --- the policy, again

TEST_P(Serve, APolicyIsReadAgainAndABadOneLeavesTheOldOneInForce) {
  LiveService own(kPolicy, GetParam());
  const std::string boss = own.key("boss"), vera = own.key("vera");
  std::string changed = kPolicy;
  changed += "  bye: { run: [echo, bye], needs: [read:data] }\n";
  own.write_policy(changed);
  EXPECT_EQ(own.call("bye", "{}", vera).status, 404);
  own.signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return own.call("bye", "{}", vera).status == 200; }));

  own.write_policy("version: 1\ntools: nonsense\n");
  const Reply refused = own.post("/v1/policy/reload", "", boss);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.text("message"), HasSubstr("policy.yaml:2:"));
  EXPECT_EQ(own.call("bye", "{}", vera).status, 200);

  // A file whose own tests fail is bad too.
  own.write_policy(changed + "tests: [{ as: vera, call: bye, expect: blocked }]\n");
  EXPECT_EQ(own.post("/v1/policy/reload", "", boss).status, 422);
  // All that was logged of the file before has been read with this.
  ASSERT_TRUE(own.says("test failed"));
  const std::string log = own.log();
  const std::size_t told = log.find("policy.yaml:2:");
  ASSERT_NE(told, std::string::npos) << log;
  EXPECT_THAT(log.substr(log.rfind('\n', told), told - log.rfind('\n', told)),
              HasSubstr("the old one stays in force"));
  EXPECT_EQ(log.find("policy.yaml:2:", log.find('\n', told)), std::string::npos) << "once: " << log;
  own.write_policy(kPolicy);
  EXPECT_EQ(own.post("/v1/policy/reload", "", vera).status, 403);
  EXPECT_EQ(own.post("/v1/policy/reload", "", boss).status, 200);
  EXPECT_EQ(own.call("bye", "{}", vera).status, 404);
}

TEST_P(Serve, ACallInFlightKeepsThePolicyThatItBeganWith) {
  LiveService own(kPolicy, GetParam());
  const std::string boss = own.key("boss"), will = own.key("will");
  const std::string before = own.get("/readyz").text("policy");
  Streamed call(own, "python", python("import time; print('on', flush=True); time.sleep(3)"), will);
  ASSERT_TRUE(call.process().says("on"));
  own.write_policy(std::string(kPolicy) + "  bye: { run: [echo, bye], needs: [read:data] }\n");
  ASSERT_EQ(own.post("/v1/policy/reload", "", boss).status, 200);
  EXPECT_NE(own.get("/readyz").text("policy"), before);
  EXPECT_TRUE(call.process().says("event: result"));
  const Reply ended = own.get("/v1/calls/" + call.id, will);
  EXPECT_EQ(ended.text("status"), "success");
  EXPECT_EQ(ended.text("policy"), before);
}

TEST_P(Serve, EndsWithItsCallsAndLeavesNothing) {
  const std::string word = unique_word();
  const auto before = traces(word);
  {
    LiveService own(kPolicy, GetParam(), {"--drain", "1s"});
    const std::string will = own.key("will");
    Streamed call(own, "python",
                  python("print('on', flush=True)\nimport time; time.sleep(25)  # " + word), will);
    ASSERT_TRUE(call.process().says("on"));
    EXPECT_EQ(own.end(), 0) << own.log();
    EXPECT_TRUE(call.process().says("event: result")) << "cut, and told so";
    EXPECT_THAT(call.process().said(), HasSubstr("cancelled"));
    EXPECT_THAT(call.process().said(), HasSubstr("the service was stopping"));
    EXPECT_THAT(call.process().said(), Not(HasSubstr("the caller ended it")));
    EXPECT_EQ(own.command({"audit", "verify"}).exit_code, 0);
  }
  EXPECT_THAT(left_since(before, word), testing::IsEmpty());
}

TEST_P(Serve, RefusesToStartOnABadPolicy) {
  TempDir directory(GetParam());
  write_file(directory / "policy.yaml", "version: 1\ntols: {}\n", GetParam());
  const Ran ran = run({sallyport_path(), "serve", "--policy", directory / "policy.yaml", "--state",
                       directory / "state", "--listen", "127.0.0.1:" + std::to_string(free_port())},
                      {.as = GetParam()});
  EXPECT_NE(ran.exit_code, 0);
  EXPECT_THAT(ran.err, HasSubstr("policy.yaml:2:1"));
}

// --- other clients

TEST_P(Serve, PythonAndNodeSpeakToItWithTheirOwnLibraries) {
  const std::string url = "http://" + service().address();
  const Ran python_client = run({"python3", "-c",
                                 "import json, sys, urllib.request as u\n"
                                 "r = u.Request(sys.argv[1] + '/v1/tools/python/call', "
                                 "data=json.dumps({'arguments': {'code': 'print(6*7)'}}).encode(), "
                                 "headers={'Authorization': 'Bearer ' + sys.argv[2]})\n"
                                 "print(json.load(u.urlopen(r))['output'].strip())",
                                 url, key("will")});
  EXPECT_EQ(python_client.out, "42\n") << python_client.err;
  const Ran node_client = run(
      {"node", "-e",
       "fetch(process.argv[1] + '/execute', {method: 'POST', headers: {authorization: 'Bearer ' + "
       "process.argv[2]}, body: JSON.stringify({tool_name: 'python', code: 'print(6*7)'})})"
       ".then(r => r.json()).then(r => console.log(r.output.trim()))",
       url, key("will")});
  EXPECT_EQ(node_client.out, "42\n") << node_client.err;
}

TEST_P(Serve, AnswersOnItsUnixSocketToo) {
  const Ran ran = run(
      {"curl", "-s", "-i", "--unix-socket", service().unix_socket(), "http://localhost/readyz"});
  EXPECT_EQ(LiveService::reply(ran.out).status, 200) << ran.out;
}

// A page of another site that the browser of somebody on this machine shows must not be able to
// call: neither by its own name resolving to us, nor across origins.
TEST_P(Serve, RefusesForeignHostsAndOrigins) {
  const Reply foreign = service().curl({"-H", "Host: evil.example.com"}, "/healthz");
  EXPECT_EQ(foreign.status, 421);
  EXPECT_THAT(foreign.text("hint"), HasSubstr("--host"));
  EXPECT_EQ(service().curl({"-H", "Origin: http://evil.example.com"}, "/healthz").status, 421);
  EXPECT_EQ(service().curl({"-H", "Host: localhost"}, "/healthz").status, 200);
}

TEST_P(Serve, SaysHowMuchItTakesToThoseWhoSendMore) {
  const Reply body = service().post("/execute", std::string(65 << 10, 'x'), "");
  EXPECT_EQ(body.status, 413);
  EXPECT_THAT(body.text("hint"), HasSubstr("64 KiB"));
  const Reply headers = service().curl({"-H", "X-Long: " + std::string(17 << 10, 'x')}, "/healthz");
  EXPECT_EQ(headers.status, 431);
  EXPECT_THAT(headers.text("hint"), HasSubstr("16 KiB"));
  const Reply target = service().get("/" + std::string(17 << 10, 'x'));
  EXPECT_EQ(target.status, 414);
  EXPECT_THAT(target.text("hint"), HasSubstr("8 KiB"));
}

TEST_P(Serve, TheFrontHasNoPrivilegesAndTheLauncherListensToNobodyElse) {
  for (const pid_t pid : service().all()) {
    if (GetParam() == As::user) {
      EXPECT_THAT(status_of(pid, "CapEff"), StartsWith("0000000000000000"));
      continue;
    }
    // The one with the open TCP socket is the front.
    const Ran sockets = run({"ss", "-Htlnp", "sport", "=", std::to_string(service().port())});
    if (sockets.out.find("pid=" + std::to_string(pid) + ",") == std::string::npos) continue;
    if (status_of(pid, "Uid").starts_with("0\t")) continue;  // the keeper holds it open too
    EXPECT_THAT(status_of(pid, "CapEff"), StartsWith("0000000000000000"));
    EXPECT_THAT(status_of(pid, "CapPrm"), StartsWith("0000000000000000"));
    EXPECT_EQ(status_of(pid, "NoNewPrivs"), "1");
    EXPECT_EQ(status_of(pid, "Groups"), " ");
  }
}

}  // namespace
}  // namespace sallyport::test
