// Tools of a service that may reach hosts: through which process, and what is known afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "support/live_service.h"

namespace sallyport::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Reads what is posted before it answers: an early answer would race with the bounds of an upload.
constexpr const char* kServer =
    "import functools, http.server, sys\n"
    "class Handler(http.server.SimpleHTTPRequestHandler):\n"
    "  def do_POST(self):\n"
    "    self.rfile.read(int(self.headers['Content-Length']))\n"
    "    self.send_error(501)\n"
    "http.server.test(functools.partial(Handler, directory=sys.argv[1]),\n"
    "                 bind='127.0.0.1', port=int(sys.argv[2]))\n";

// A web server of this machine, which a rule with an address leads to.
class ServeEgress : public CellTest {
 protected:
  ServeEgress() {
    write_file(www_ / "hello.txt", "hello from the host\n");
    write_file(www_ / "large", std::string(2'000'000, 'x'));
    server_.emplace(std::vector<std::string>{"python3", "-u", "-c", kServer, www_.path(),
                                             std::to_string(port_)});
    EXPECT_TRUE(server_->says("Serving HTTP"));
  }

  // A policy whose tools may reach it as web.example.
  [[nodiscard]] std::string policy(const std::string& tenants = "acme: {}") const {
    return R"(
version: 1
roles: { worker: [go] }
tenants: { )" +
           tenants + R"( }
callers: { will: { role: worker, tenant: acme } }
defaults: { rate: 600/min }
tools:
  shell:
    use: run_shell
    needs: [go]
    screen: none
    network:
      allow: [{ host: web.example, port: )" +
           std::to_string(port_) +
           R"(, scheme: http, internal: true, address: 127.0.0.1, paths: [/hello.txt, /large] }]
      upload: 600kB
      download: 1MB
    output: { redact: [ip_addresses] }
  brief:
    use: run_shell
    needs: [go]
    screen: none
    network:
      allow:
        - { host: web.example, port: )" +
           std::to_string(port_) +
           R"(, scheme: http, internal: true, address: 127.0.0.1 }
        - { host: mute.example, port: )" +
           std::to_string(mute_port_) +
           R"(, scheme: http, internal: true, address: 127.0.0.1 }
        - { host: opaque.example, port: )" +
           std::to_string(mute_port_) +
           R"(, scheme: tcp, internal: true, address: 127.0.0.1 }
      time: 1s
  narrow:
    use: run_shell
    needs: [go]
    screen: none
    network:
      allow: [{ host: narrow.example, port: )" +
           std::to_string(port_) +
           R"(, scheme: http, internal: true, address: 127.0.0.1, paths: [/hello.txt] }]
)";
  }
  [[nodiscard]] std::string fetch(const std::string& path = "/hello.txt",
                                  const std::string& more = "") const {
    return R"({"code": "curl -sS )" + more + " http://web.example:" + std::to_string(port_) + path +
           R"("})";
  }

  TempDir www_;
  int port_ = free_port(), mute_port_ = free_port();
  std::optional<LiveProcess> server_;
};
SALLYPORT_FOR_ROOT_AND_USER(ServeEgress);

TEST_P(ServeEgress, IsInTheResultTheRecordAndTheLog) {
  LiveService service(policy(), GetParam());
  const std::string key = service.key("will");
  const Reply reply = service.call("shell", fetch(), key);
  EXPECT_EQ(reply.text("output"), "hello from the host\n") << reply.body;
  EXPECT_THAT(reply.body, HasSubstr(R"("verdict":"allowed","host":"web.example")"));
  // Addresses are for the record; the model's copy is redacted as everything is.
  EXPECT_THAT(reply.body, AllOf(HasSubstr("[IP_ADDR]"), Not(HasSubstr("127.0.0.1"))));

  const Reply refused = service.call("shell", fetch("/other.txt"), key);
  EXPECT_THAT(refused.text("output"), HasSubstr("Sallyport refused this request"));

  const Ran record = service.command({"audit", "search", "--json", "--tenant", "acme"});
  EXPECT_THAT(record.out, HasSubstr(R"("address":"127.0.0.1")"));
  EXPECT_THAT(record.out, HasSubstr("raw addresses are refused by the kernel"));
  EXPECT_THAT(record.out, HasSubstr(R"("rule":"tools.shell.network.allow[0]")"));
  const Ran log = service.command({"egress", "log"});
  EXPECT_EQ(log.exit_code, 0) << log.err;
  EXPECT_THAT(log.out, HasSubstr("will shell allowed request web.example:" + std::to_string(port_) +
                                 " at 127.0.0.1"));
  EXPECT_THAT(log.out, HasSubstr("refused request web.example"));
  EXPECT_EQ(service.end(), 0);
}

// `-f` goes on with what comes, beside the log as a whole.
TEST_P(ServeEgress, IsFollowedAsCallsEnd) {
  LiveService service(policy(), GetParam());
  const std::string key = service.key("will");
  EXPECT_EQ(service.call("shell", fetch(), key).text("output"), "hello from the host\n");
  LiveProcess network({sallyport_path(), "egress", "log", "-f", "--state", service.state()},
                      GetParam());
  LiveProcess records({sallyport_path(), "audit", "tail", "-f", "--state", service.state()},
                      GetParam());
  ASSERT_TRUE(network.says("will shell allowed request web.example"));
  ASSERT_TRUE(records.says("outcome will shell success"));
  EXPECT_THAT(network.said(), Not(HasSubstr("refused request")));
  service.call("shell", fetch("/other.txt"), key);
  EXPECT_TRUE(network.says("will shell refused request web.example"));
  service.call("nothing", "{}", key);
  EXPECT_TRUE(records.says("outcome will nothing blocked"));
  EXPECT_EQ(service.end(), 0);
}

TEST_P(ServeEgress, ProcessHasNoPrivilegesAndIsStartedAgain) {
  LiveService service(policy(), GetParam());
  const std::string key = service.key("will");
  ASSERT_TRUE(eventually([&] { return service.named("sally-egress") > 0; }));
  const pid_t first = service.named("sally-egress");
  EXPECT_THAT(status_of(first, "CapEff"), HasSubstr("0000000000000000"));
  EXPECT_THAT(status_of(first, "NoNewPrivs"), HasSubstr("1"));
  EXPECT_EQ(status_of(first, "Seccomp"), "2");
  if (GetParam() == As::root) {
    EXPECT_THAT(status_of(first, "Uid"), Not(HasSubstr("\t0\t")));
    EXPECT_NE(status_of(first, "Uid"), status_of(service.named("sally-front"), "Uid"));
  }
  ::kill(first, SIGKILL);
  // Whether the call meets the old one, none or the new one: it is answered.
  EXPECT_NE(service.call("shell", fetch(), key).status, 0);
  ASSERT_TRUE(eventually([&] {
    const pid_t now = service.named("sally-egress");
    return now > 0 && now != first;
  }));
  EXPECT_EQ(service.call("shell", fetch(), key).text("output"), "hello from the host\n");
  EXPECT_EQ(service.end(), 0);
  EXPECT_TRUE(eventually([&] { return status_of(first, "Name").empty(); }));
}

// "Relayed CONNECT": all cells are served by one process, and at the same addresses. Which rules
// hold is a matter of the socket that a connection came to, and of nothing that a client says.
TEST_P(ServeEgress, EachCellHasItsOwnRules) {
  LiveService service(policy(), GetParam());
  const std::string key = service.key("will");
  const std::string port = std::to_string(port_);
  const auto call = [&](const char* tool, const std::string& own, const std::string& others) {
    const std::string mine = " http://" + own + ":" + port + "/hello.txt";
    const std::string theirs = " http://" + others + ":" + port + "/hello.txt; ";
    const std::string script =
        "curl -sS" + mine +
        "; for header in 'Proxy-Authorization: Basic d2lsbDp4' 'Forwarded: for=198.18.0.1'; do "
        "curl -s -o /dev/null -w '%{http_code} ' -H \"$header\"" +
        theirs + "curl -s -o /dev/null -w '%{http_connect} ' -p --proxy-header \"$header\"" +
        theirs + "done; curl -s -o /dev/null -w '%{http_code}' --noproxy '*' --resolve " + others +
        ":" + port + ":198.18.0.2" + theirs + "sleep 1";  // for the other one to begin
    return service.call(tool, boost::json::serialize(boost::json::object{{"code", script}}), key)
        .text("output");
  };
  std::string narrow;
  std::thread other([&] { narrow = call("narrow", "narrow.example", "web.example"); });
  const std::string wide = call("shell", "web.example", "narrow.example");
  other.join();
  EXPECT_EQ(wide, "hello from the host\n403 403 403 403 421");
  EXPECT_EQ(narrow, wide);
}

TEST_P(ServeEgress, BeginsWithThePolicyThatNeedsIt) {
  const std::string plain =
      "version: 1\nroles: { worker: [go] }\ncallers: { will: { role: worker } }\n"
      "tools: { hi: { run: [echo, hi], needs: [go] } }\n";
  LiveService service(plain, GetParam());
  EXPECT_EQ(service.named("sally-egress"), -1);
  service.write_policy(policy());
  service.signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return service.named("sally-egress") > 0; }));
  const std::string key = service.key("will");
  EXPECT_EQ(service.call("shell", fetch(), key).text("output"), "hello from the host\n");
}

// What is over is cut, and noted; what was within has gone through.
TEST_P(ServeEgress, IsBoundedInBytesEachWay) {
  LiveService service(policy(), GetParam());
  const std::string key = service.key("will");
  const std::string url = "http://web.example:" + std::to_string(port_);
  const Reply down =
      service.call("shell", R"({"code": "curl -sS )" + url + R"(/large | wc -c"})", key);
  EXPECT_LT(std::atoll(down.text("output").c_str()), 1'000'000) << down.body;
  EXPECT_THAT(down.body, HasSubstr("used up its bytes"));
  const Reply up = service.call(
      "shell",
      R"({"code": "head -c 1000000 /dev/zero | curl -sS --data-binary @- )" + url + R"(/large"})",
      key);
  EXPECT_THAT(up.body, AllOf(HasSubstr("used up its bytes"), HasSubstr(R"("status":"error")")));
  EXPECT_EQ(service.call("shell", fetch(), key).text("output"), "hello from the host\n");
}

// A tunnel that is held open, a host that takes a request and never answers, and a client that
// never asks: none of them lasts as long as the call.
TEST_P(ServeEgress, IsBoundedInTheTimeOfAConnection) {
  LiveProcess mute({"python3", "-c",
                    "import socket, time\n"
                    "one = socket.create_server(('127.0.0.1', " +
                        std::to_string(mute_port_) +
                        "))\n"
                        "held = [print('ready', flush=True)]\n"
                        "while True: held.append(one.accept())\n"});
  ASSERT_TRUE(mute.says("ready"));
  LiveService service(policy(), GetParam());
  const std::string key = service.key("will"), port = std::to_string(mute_port_);
  for (const std::string& script :
       {"curl -sS --max-time 25 http://mute.example:" + port + "/",
        "timeout 25 bash -c 'cat </dev/tcp/opaque.example/" + port + "; exit 3'",
        "timeout 25 bash -c 'cat </dev/tcp/web.example/" + std::to_string(port_) + "; exit 3'"}) {
    const Reply reply = service.call(
        "brief", boost::json::serialize(boost::json::object{{"code", script + "; echo $?"}}), key);
    EXPECT_THAT(reply.text("output"), testing::AnyOf("3\n", "52\n", "56\n"))
        << script << reply.body;
    EXPECT_THAT(reply.body, HasSubstr("a connection has lasted as long as it may")) << script;
  }
  EXPECT_EQ(service.call("brief", fetch(), key).text("output"), "hello from the host\n");
}

TEST_P(ServeEgress, IsBoundedByTheDaysBudgetOfTheTenant) {
  LiveService service(policy("acme: { budget: { egress: 1MB/day } }"), GetParam());
  const std::string key = service.key("will");
  const std::string post = "-o /dev/null -H Expect: --data-binary @/bin/true";
  std::string last;
  // A call may send 600 kB, and each sends some 40: after ten of them there is not enough left.
  for (int i = 0; i < 40 && last != "budget"; ++i)
    last = service.call("shell", fetch("/hello.txt", post), key).text("reason");
  EXPECT_EQ(last, "budget");
}

}  // namespace
}  // namespace sallyport::test
