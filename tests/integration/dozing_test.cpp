// Copies of an image that wait far behind in a large pool have no memory of their own. A call must
// not notice, whether it gets one that was woken in time or not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

#include "support/live_service.h"

namespace sallyport::test {
namespace {

constexpr const char* kPolicy = R"(
version: 1
roles: {worker: [execute:code]}
callers: {will: {role: worker, concurrency: 100}}
tenants: {default: {concurrency: 100}}
defaults: {rate: 100000/min, concurrency: 100, limits: {timeout: 60s}}
pool: {min: 40, max: 40}
tools:
  python: {use: run_python, needs: [execute:code], warm: true, preload: [random]}
)";
constexpr std::size_t kAwake = 32, kAll = 40;
constexpr std::chrono::seconds kSoon{60};
constexpr const char* kCall = R"json({"arguments": {"code":
  "import os, random; print(os.readlink('/proc/self/exe'), random.random())"}})json";

class Dozing : public CellTest {
 protected:
  Dozing() : service_(kPolicy, GetParam()), key_(service_.key("will")) {}

  std::string call() { return service_.post("/v1/tools/python/call", kCall, key_).text("output"); }
  // A copy has its name from the image when it goes on.
  [[nodiscard]] std::size_t count(const char* name) const {
    return static_cast<std::size_t>(
        std::ranges::count(service_.all(), name, [](pid_t pid) { return status_of(pid, "Name"); }));
  }
  void wait_until_full() {
    EXPECT_TRUE(eventually([&] { return !call().empty(); }, kSoon));
    EXPECT_TRUE(eventually(
        [&] { return count("python3") == kAwake && count(".sallyport-rest") == kAll - kAwake; },
        kSoon))
        << count("python3") << " are awake, and " << count(".sallyport-rest") << " doze";
  }

  LiveService service_;
  std::string key_;
};
SALLYPORT_FOR_ROOT_AND_USER(Dozing);

TEST_P(Dozing, CopiesAreWokenWhenTheyMoveUp) {
  wait_until_full();
  for (int i = 0; i < 12; ++i)
    EXPECT_THAT(call(), testing::HasSubstr("restore"));
  wait_until_full();
}

TEST_P(Dozing, CopiesServeACallThatIsQuickerThanTheirWaking) {
  wait_until_full();
  std::mutex mutex;
  std::set<std::string> answers;
  std::vector<std::thread> callers;
  callers.reserve(kAll);
  for (std::size_t i = 0; i < kAll; ++i)
    callers.emplace_back([&] {
      std::string answer = call();
      EXPECT_THAT(answer, testing::HasSubstr("restore"));
      const std::scoped_lock lock(mutex);
      answers.insert(std::move(answer));
    });
  for (std::thread& caller : callers)
    caller.join();
  EXPECT_EQ(answers.size(), kAll) << "each is a copy with chance of its own";
}

}  // namespace
}  // namespace sallyport::test
