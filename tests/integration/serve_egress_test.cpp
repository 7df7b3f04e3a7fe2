// Tools of a service that may reach hosts: through which process, and what is known afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/live_service.h"

namespace sallyport::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A web server of this machine, which a rule with an address leads to.
class ServeEgress : public CellTest {
 protected:
  ServeEgress() {
    write_file(www_ / "hello.txt", "hello from the host\n");
    write_file(www_ / "large", std::string(2'000'000, 'x'));
    server_.emplace(std::vector<std::string>{"python3", "-u", "-m", "http.server", "--bind",
                                             "127.0.0.1", "--directory", www_.path(),
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
)";
  }
  [[nodiscard]] std::string fetch(const std::string& path = "/hello.txt",
                                  const std::string& more = "") const {
    return R"({"code": "curl -sS )" + more + " http://web.example:" + std::to_string(port_) + path +
           R"("})";
  }

  TempDir www_;
  int port_ = free_port();
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

TEST_P(ServeEgress, ProcessHasNoPrivilegesAndIsStartedAgain) {
  LiveService service(policy(), GetParam());
  const std::string key = service.key("will");
  ASSERT_TRUE(eventually([&] { return service.named("sally-egress") > 0; }));
  const pid_t first = service.named("sally-egress");
  EXPECT_THAT(status_of(first, "CapEff"), HasSubstr("0000000000000000"));
  EXPECT_THAT(status_of(first, "NoNewPrivs"), HasSubstr("1"));
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
