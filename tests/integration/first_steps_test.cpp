// What somebody does first: `./start` with the three commands that it prints, and `sallyport demo`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/live_service.h"

namespace sallyport::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

class FirstSteps : public CellTest {
 protected:
  FirstSteps() : directory_(GetParam()) {
    std::filesystem::permissions(directory_.path(), std::filesystem::perms{0755});
    std::filesystem::copy_file(SALLYPORT_SOURCE_DIR "/scripts/serve.sh", directory_ / "serve.sh");
  }

  // What `./start` does once it has built the program.
  [[nodiscard]] LiveProcess start(int port) const {
    return LiveProcess({"env", "SALLYPORT_HOME=" + (directory_ / "home"),
                        "SALLYPORT_LISTEN=127.0.0.1:" + std::to_string(port), "bash",
                        directory_ / "serve.sh", sallyport_path()},
                       GetParam());
  }
  // The lines behind "Try, in another terminal", which stand by themselves.
  static std::vector<std::string> commands_in(const std::string& text) {
    std::vector<std::string> commands;
    std::istringstream lines(text.substr(std::min(text.find("Try, in"), text.size())));
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("  ")) commands.push_back(line.substr(2));
    return commands;
  }
  [[nodiscard]] Ran paste(const std::string& command) const {
    return run({"bash", "-c", command}, {.as = GetParam()});
  }

  TempDir directory_;
};
SALLYPORT_FOR_ROOT_AND_USER(FirstSteps);

TEST_P(FirstSteps, TheThreeCommandsOfStartWorkWhenPasted) {
  const int port = free_port();
  std::string key;
  for (const char* time : {"first", "second"}) {
    SCOPED_TRACE(time);
    LiveProcess service = start(port);
    ASSERT_TRUE(service.says("audit tail"));
    const std::string ready = "http://127.0.0.1:" + std::to_string(port) + "/readyz";
    ASSERT_TRUE(eventually([&] {
      return !service.alive() || run({"curl", "-sf", ready}).exit_code == 0;
    })) << service.said();
    const std::vector<std::string> commands = commands_in(service.said());
    ASSERT_THAT(commands, SizeIs(3)) << service.said();

    const Ran ran = paste(commands[0]);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(ran.json().at("output"), "4\n") << ran.out;
    const Ran blocked = paste(commands[1]);
    EXPECT_EQ(blocked.exit_code, 0) << blocked.err;
    EXPECT_EQ(blocked.json().at("success"), false) << blocked.out;
    const Ran audit = paste(commands[2]);
    EXPECT_EQ(audit.exit_code, 0) << audit.err;
    EXPECT_THAT(audit.out, AllOf(HasSubstr("agent python success"), HasSubstr("agent shell")));

    // The key is made once, and others cannot read it.
    const std::string file = directory_ / "home/key";
    EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms{0600});
    if (key.empty()) key = read_file(file);
    EXPECT_EQ(read_file(file), key);
    service.signal(SIGTERM);
    EXPECT_EQ(service.wait(), 0);
  }
}

TEST_P(FirstSteps, TheDemoLeavesProductionIntact) {
  const Ran ran = run({sallyport_path(), "demo"}, {.as = GetParam()});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("rm -rfv /tmp/* /data/*"),
                             HasSubstr("Read-only file system"), HasSubstr("blocked, permission"),
                             HasSubstr("drop_table"), HasSubstr("production is intact")));
  const auto fingerprint = [&](const std::string& when) {
    const std::size_t at = ran.out.find("    " + when + " ");
    return at == std::string::npos ? when
                                   : ran.out.substr(at + 12, ran.out.find('\n', at) - at - 12);
  };
  EXPECT_THAT(fingerprint("before"), HasSubstr("4 files, "));
  EXPECT_EQ(fingerprint("before"), fingerprint("after"));
}

}  // namespace
}  // namespace sallyport::test
