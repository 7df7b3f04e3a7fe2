// A service that is killed while cells wait for calls leaves none of them behind.
#include <gtest/gtest.h>

#include "support/leftovers.h"
#include "support/live_service.h"

namespace sallyport::test {
namespace {

constexpr const char* kPolicy = R"(
version: 1
roles: {worker: [execute:code]}
callers: {will: {role: worker}}
defaults: {rate: 100000/min}
pool: {min: 2, max: 4}
tools:
  python: {use: run_python, needs: [execute:code], warm: true}
  node: {use: run_javascript, needs: [execute:code], warm: true}
  shell: {use: run_shell, needs: [execute:code]}
)";

class WarmLeftovers : public CellTest {};
SALLYPORT_FOR_ROOT_AND_USER(WarmLeftovers);

std::size_t count_parked(const LiveService& service) {
  std::size_t count = 0;
  for (const pid_t pid : service.all())
    if (status_of(pid, "Name") == "sally-supervise" && descendants_of(pid).size() >= 1) ++count;
  return count;
}

TEST_P(WarmLeftovers, AreNoneOfAServiceThatIsKilled) {
  const std::string word = unique_word();
  const auto before = traces(word);
  for (const char* victim : {"keeper", "sally-launcher", "sally-front"}) {
    LiveService service(kPolicy, GetParam());
    const std::string key = service.key("will");
    for (const char* tool : {"python", "node", "shell"})
      (void)service.call(tool, R"({"code": "1"})", key);
    ASSERT_TRUE(eventually([&] { return count_parked(service) >= 6; }));
    std::set<std::string> now = traces(word);
    std::erase_if(now, [&](const std::string& line) { return before.contains(line); });
    EXPECT_GE(now.size(), 6U) << "the twin: they can be seen while they live";
    const bool keeper = std::string_view(victim) == "keeper";
    ASSERT_EQ(::kill(keeper ? service.keeper() : service.named(victim), SIGKILL), 0);
    if (keeper) {
      EXPECT_TRUE(eventually([&] { return !service.alive(); }));
      continue;
    }
    EXPECT_TRUE(eventually(
        [&] { return service.call("shell", R"({"code": "true"})", key).status == 200; }));
    EXPECT_EQ(service.end(), 0);
  }
  // The next start sweeps.
  EXPECT_EQ(run_cell(GetParam(), {"--", "true"}).exit_code, 0);
  EXPECT_EQ(left_since(before, word), std::set<std::string>{});
}

}  // namespace
}  // namespace sallyport::test
