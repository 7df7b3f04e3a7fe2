// Both doors of a call over HTTP: what is streamed is looked through as it comes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/live_service.h"

namespace sallyport::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kPolicy = R"(
version: 1
roles: { agent: { permissions: [run] } }
callers: { ann: { role: agent } }
tools:
  open:     { use: run_python, needs: [run] }
  python:   { use: run_python, needs: [run], screen: block }
  redacted: { use: run_python, needs: [run], collect: [out/*], output: { redact: [secrets] } }
  held:     { use: run_python, needs: [run], output: { redact: block } }
)";

class ServeInspected : public CellTest {
 protected:
  ServeInspected() : service_(kPolicy, GetParam()), key_(service_.key("ann")) {}

  Reply stream(const std::string& tool, const std::string& code) {
    const boost::json::object body{{"arguments", {{"code", code}}}};
    return service_.post("/v1/tools/" + tool + "/call", boost::json::serialize(body), key_,
                         {"-N", "-H", "Accept: text/event-stream"});
  }
  Reply execute(const std::string& code) {
    return service_.post(
        "/execute",
        boost::json::serialize(boost::json::object{{"tool_name", "python"}, {"code", code}}), key_);
  }

  LiveService service_;
  std::string key_;
  // Put together only when the code runs, and written in two pieces.
  const std::string secret_ = std::string("ghp") + "_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
  const std::string code_ =
      "import sys, time\nkey = 'gh' + 'p_A1b2C3d4E5f6G7h8' + 'I9j0K1l2M3n4O5p6Q7r8'\n"
      "sys.stdout.write('key ' + key[:17]); sys.stdout.flush(); time.sleep(0.3)\n"
      "sys.stdout.write(key[17:] + ' end\\n')\n";
};

TEST_P(ServeInspected, ASecretThatComesInTwoPiecesIsTakenOutOfTheStream) {
  const Reply reply = stream("redacted", code_);
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, HasSubstr("[REDACTED_SECRET:"));
  EXPECT_THAT(reply.body, HasSubstr("event: result"));
  EXPECT_THAT(reply.body, Not(HasSubstr(secret_.substr(0, 12))));
  EXPECT_THAT(reply.body, Not(HasSubstr(secret_.substr(20))));
  // The twin: without the rule it comes through, in its pieces.
  EXPECT_THAT(stream("open", code_).body, HasSubstr(secret_.substr(0, 17)));
}

TEST_P(ServeInspected, AFileIsFetchedByTheNameThatIsShown) {
  const std::string code =
      "import os\nos.makedirs('out')\nkey = 'gh' + 'p_A1b2C3d4E5f6G7h8' + "
      "'I9j0K1l2M3n4O5p6Q7r8'\nopen('out/' + key, 'w').write('content')\n";
  const Reply called =
      service_.call("redacted", boost::json::serialize(boost::json::object{{"code", code}}), key_);
  const std::string id = called.text("call_id");
  EXPECT_THAT(called.body, Not(HasSubstr(secret_)));
  EXPECT_THAT(called.body, HasSubstr("out/[REDACTED_SECRET:github-token]"));
  const std::string path = "/v1/calls/" + id + "/artifacts/out/";
  EXPECT_EQ(service_.get(path + "%5BREDACTED_SECRET%3Agithub-token%5D", key_).body, "content");
  EXPECT_EQ(service_.get(path + secret_, key_).status, 404);
}

TEST_P(ServeInspected, WhereAResultMayBeRefusedNothingIsStreamedBefore) {
  const Reply reply = stream("held", code_);
  EXPECT_THAT(reply.body, Not(HasSubstr("event: stdout")));
  EXPECT_THAT(reply.body, HasSubstr("withheld"));
  EXPECT_THAT(reply.body, Not(HasSubstr(secret_.substr(0, 12))));
  EXPECT_THAT(stream("held", "print('fine')").body, HasSubstr("fine"));
}

TEST_P(ServeInspected, ExecuteSaysThatCodeWasBlocked) {
  const Reply blocked = execute("import subprocess; subprocess.run(['ls'])");
  EXPECT_EQ(blocked.status, 200);
  EXPECT_EQ(blocked.json().at("success"), false);
  EXPECT_TRUE(blocked.text("output").starts_with("Code blocked: line 1")) << blocked.body;
  const Reply ran = execute("print(2 + 2)");
  EXPECT_EQ(ran.text("output"), "4\n");
  const auto answer = service_.call("python", R"j({"code": "eval('1')"})j", key_);
  EXPECT_EQ(answer.status, 422);
}

SALLYPORT_FOR_ROOT_AND_USER(ServeInspected);

}  // namespace
}  // namespace sallyport::test
