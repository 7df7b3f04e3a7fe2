// `sallyport call --via`: a tool of a service that runs, by its socket and by its address.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/live_service.h"

namespace sallyport::test {
namespace {

using testing::HasSubstr;

constexpr const char* kPolicy = R"(
version: 1
roles:
  worker: [execute:code]
callers:
  will: { role: worker }
defaults: { rate: 600/min }
tools:
  python: { use: run_python, needs: [execute:code], limits: { timeout: 30s } }
  count: { run: [seq, "{last}"], needs: [execute:code], args: { last: { type: integer, minimum: 1 } } }
  secret: { run: [echo, secret], needs: [admin] }
)";

class CallVia : public CellTest {
 protected:
  CallVia() : service(kPolicy, GetParam()), key(service.key("will")) {}

  Ran call(std::vector<std::string> words, const std::string& via, const std::string& with) {
    words.insert(words.begin(), {sallyport_path(), "call"});
    words.insert(words.end(), {"--via", via});
    RunOptions options{.as = GetParam(), .cwd = service.directory().path()};
    if (!with.empty()) options.environment = {"SALLYPORT_KEY=" + with};
    return run(words, options);
  }
  Ran call(std::vector<std::string> words) {
    return call(std::move(words), service.unix_socket(), key);
  }

  LiveService service;
  std::string key;
};
SALLYPORT_FOR_ROOT_AND_USER(CallVia);

TEST_P(CallVia, GivesWhatTheServiceGives) {
  const Ran ran = call({"python", "code=print(6 * 7)"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "42\n");
  EXPECT_EQ(call({"python", "code=raise SystemExit(3)"}).exit_code, 3);
  // The service has recorded it: it was not run here.
  const Ran records = service.command({"audit", "search", "--tool", "python"});
  EXPECT_THAT(records.out, HasSubstr("will"));
}

TEST_P(CallVia, AnAddressIsAsGoodAsASocket) {
  EXPECT_EQ(call({"count", "last=3"}, "http://" + service.address(), key).out, "1\n2\n3\n");
}

TEST_P(CallVia, ArgumentsAreWhatTheToolWants) {
  EXPECT_EQ(call({"count", "last=2"}).out, "1\n2\n");
  EXPECT_EQ(call({"count", "--args", R"({"last": 1})"}).out, "1\n");
  const Ran wrong = call({"count", "last=zero"});
  EXPECT_EQ(wrong.exit_code, 125);
  EXPECT_THAT(wrong.err, HasSubstr("last"));
}

TEST_P(CallVia, FilesGoAndComeBack) {
  write_file(service.directory() / "in.txt", "from outside", GetParam());
  const Ran ran = call({"python", "--in", "in.txt", "--out", "*.out",
                        "code=open('a b.out', 'w').write(open('in.txt').read().upper())"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(read_file(service.directory() / "a b.out"), "FROM OUTSIDE");
}

TEST_P(CallVia, RefusalsSayWhy) {
  const Ran denied = call({"secret"});
  EXPECT_EQ(denied.exit_code, 125);
  EXPECT_THAT(denied.err, HasSubstr("permission"));
  EXPECT_THAT(call({"nothing"}).err, HasSubstr("there is no tool 'nothing'"));
  EXPECT_EQ(call({"secret", "--json"}).json().at("reason").as_string(), "permission");
}

TEST_P(CallVia, WithoutAKeyOrAServiceNothingIsRun) {
  const Ran without = call({"python", "code=print(1)"}, service.unix_socket(), "");
  EXPECT_EQ(without.exit_code, 125);
  EXPECT_THAT(without.err, HasSubstr("SALLYPORT_KEY"));
  const Ran unknown = call({"python", "code=print(1)"}, service.unix_socket(), "sp_x_y");
  EXPECT_EQ(unknown.exit_code, 125);
  EXPECT_EQ(unknown.out, "");
  const Ran nobody = call({"python", "code=print(1)"}, service.directory() / "nobody", key);
  EXPECT_EQ(nobody.exit_code, 125);
  EXPECT_EQ(nobody.out, "");
}

TEST_P(CallVia, APolicyOfOnesOwnIsAnotherMatter) {
  const Ran both = call({"python", "--policy", service.policy_file(), "code=print(1)"});
  EXPECT_EQ(both.exit_code, 125);
  EXPECT_THAT(both.err, HasSubstr("--via"));
}

}  // namespace
}  // namespace sallyport::test
