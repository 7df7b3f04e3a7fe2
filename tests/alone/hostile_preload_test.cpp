// Modules that the policy has imported ahead of calls and that are not what they should be. They
// lie where the machine's own Python finds them, for as long as the test runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/live_service.h"

namespace sallyport::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class HostilePreload : public CellTest {
 protected:
  HostilePreload() {
    const Ran asked = run({"/usr/bin/python3", "-c",
                           "import sys; print([p for p in sys.path if "
                           "p.endswith('-packages')][0])"});
    packages_ = asked.out.substr(0, asked.out.find('\n'));
    EXPECT_FALSE(packages_.empty());
    std::filesystem::create_directories(packages_);
  }
  ~HostilePreload() override {
    for (const std::string& file : files_)
      std::filesystem::remove(file);
  }

  // A tool with the module of that text, which is called like the tool.
  void add(const std::string& name, const std::string& text) {
    const std::string module = "sallyport_test_" + name;
    files_.push_back(packages_ + "/" + module + ".py");
    write_file(files_.back(), text);
    tools_ += "  " + name + ": {use: run_python, needs: [execute:code], warm: true, preload: [" +
              module + "]}\n";
  }
  void start() {
    service_.emplace(
        "version: 1\nroles: {worker: [execute:code]}\ncallers: {will: {role: worker}}\n"
        "defaults: {rate: 100000/min, limits: {timeout: 20s}}\npool: {min: 1, max: 2}\ntools:\n"
        "  plain: {use: run_python, needs: [execute:code], warm: true}\n" +
            tools_,
        GetParam());
    key_ = service_->key("will");
  }
  std::string run_code(const std::string& tool, const std::string& code) {
    const Reply reply = service_->call(
        tool, R"({"code": )" + boost::json::serialize(boost::json::value(code)) + "}", key_);
    return reply.text("output") + reply.text("error") + reply.text("message");
  }
  bool becomes_warm(const std::string& tool) {
    return eventually([&] { return run_code(tool, kKind) == "warm\n"; }, std::chrono::seconds(20));
  }
  static constexpr const char* kKind =
      "import os; print('warm' if 'restore' in os.readlink('/proc/self/exe') else 'cold')";

  std::optional<LiveService> service_;
  std::string key_;

 private:
  std::string packages_, tools_;
  std::vector<std::string> files_;
};
SALLYPORT_FOR_ROOT_AND_USER(HostilePreload);

TEST_P(HostilePreload, IsNamedAndCallsWorkAllTheSame) {
  add("threads",
      "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n");
  add("keeps", "f = open('/etc/hostname')\n");
  add("raises", "raise ValueError('of its own')\n");
  add("ends", "import os\nos._exit(0)\n");
  add("shares",
      "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\n"
      "libc.mmap(None, ctypes.c_size_t(4096), 3, 0x21, -1, ctypes.c_long(0))\n");
  add("fine", "x = 7\n");
  start();
  for (const char* tool : {"threads", "keeps", "raises", "ends", "shares"})
    EXPECT_EQ(run_code(tool, kKind), "cold\n") << tool;
  EXPECT_TRUE(service_->says("the module sallyport_test_threads starts threads"));
  EXPECT_TRUE(service_->says("the module sallyport_test_keeps keeps a file open"));
  EXPECT_TRUE(service_->says("the module sallyport_test_raises cannot be imported: ValueError"));
  EXPECT_TRUE(service_->says("it has ended"));
  EXPECT_TRUE(service_->says("it shares memory"));
  for (const char* tool : {"threads", "keeps", "raises", "ends", "shares"})
    EXPECT_EQ(run_code(tool, kKind), "cold\n") << tool << ", and again";
  EXPECT_TRUE(becomes_warm("fine")) << "the twin";
  EXPECT_TRUE(becomes_warm("plain"));
}

// A template that is never ready is nobody's loss; one that leaves children has none of them in its
// image.
TEST_P(HostilePreload, ThatNeverReturnsOrForksHoldsNothingUp) {
  add("sleeps", "import time\ntime.sleep(3600)\n");
  add("forks", "import os, time\nif os.fork() == 0:\n    time.sleep(3600)\n");
  start();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run_code("sleeps", kKind), "cold\n");
    EXPECT_THAT(run_code("forks", kKind), testing::AnyOf("cold\n", "warm\n"));
  }
  EXPECT_TRUE(becomes_warm("plain"));
  EXPECT_EQ(
      run_code("forks", "import os; print(len([p for p in os.listdir('/proc') if p.isdigit()]))"),
      "2\n")
      << "init and the tool";
}

TEST_P(HostilePreload, ThatChangesTheInterpreterIsAMatterOfItsOwnClass) {
  add("changes",
      "import builtins, json, os\nbuiltins.planted = 'here'\njson.loads = lambda t: 'here'\n"
      "os.environ['PLANTED'] = 'here'\nopen('/tmp/planted', 'w').write('here')\n"
      "open('/workspace/main.py', 'w').write('print(\"mine\")')\n");
  add("other", "x = 1\n");
  start();
  ASSERT_TRUE(becomes_warm("changes"));
  ASSERT_TRUE(becomes_warm("plain"));
  ASSERT_TRUE(becomes_warm("other"));
  const char* look =
      "import builtins, json, os\nprint(getattr(builtins, 'planted', None), "
      "json.loads('1'), os.environ.get('PLANTED'), os.path.exists('/tmp/planted'))";
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run_code("changes", look), "here here None False\n")
        << "the twin; and files and variables are of the template's own cell";
    EXPECT_EQ(run_code("plain", look), "None 1 None False\n");
    EXPECT_EQ(run_code("other", look), "None 1 None False\n");
  }
}

// What it has registered for children of a fork runs in every copy, before there is an order.
TEST_P(HostilePreload, ThatActsInCopiesGetsNoOrderOfAnother) {
  add("acts",
      "import os\ndef act():\n    os.symlink('/etc/passwd', '/workspace/main.py')\n"
      "os.register_at_fork(after_in_child=act)\n");
  add("leaves", "import os\nos.register_at_fork(after_in_child=lambda: os._exit(3))\n");
  start();
  ASSERT_TRUE(becomes_warm("plain"));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(run_code("acts", "print('own')"), "own\n") << "never the file behind the link";
    EXPECT_EQ(run_code("leaves", "print('own')"), "own\n");
    EXPECT_EQ(run_code("plain", "print('own')"), "own\n");
  }
}

}  // namespace
}  // namespace sallyport::test
