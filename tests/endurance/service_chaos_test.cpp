// A service under load whose processes are killed one after the other, and one whose disk is full:
// no intent is lost, nothing runs twice or goes on running, the log verifies, and it answers again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <atomic>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "http/client.h"
#include "support/leftovers.h"
#include "support/live_service.h"

namespace sallyport::test {
namespace {

namespace fs = std::filesystem;

// Each run adds a line to a file of the call's own, so that a second run would show.
std::string policy_for(const std::string& marks) {
  return R"(
version: 1
roles: { worker: [execute:code] }
callers: { will: { role: worker, rate: 100000/min } }
defaults: { rate: 100000/min }
audit: { arguments: full }
tools:
  mark:
    run: [sh, -c, 'echo ran >>"/marks/$1"; sleep 0.1', sh, "{name}"]
    needs: [execute:code]
    args: { name: { type: string, pattern: "^[a-z0-9-]+$" } }
    files: { write: [)" +
         marks + R"(:/marks] }
)";
}

Result<HttpReply> call(const LiveService& service, const std::string& key,
                       const std::string& name) {
  return fetch({.url = "http://" + service.address() + "/v1/tools/mark/call",
                .socket = {},
                .method = "POST",
                .headers = {{"Authorization", "Bearer " + key}},
                .body = R"({"arguments": {"name": ")" + name + "\"}}",
                .deadline = std::chrono::seconds{20}});
}

// The records of all streams.
std::vector<boost::json::object> records(const LiveService& service) {
  std::vector<boost::json::object> all;
  for (const auto& entry : fs::recursive_directory_iterator(service.state() + "/audit")) {
    if (entry.path().extension() != ".jsonl") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      all.push_back(boost::json::parse(line).as_object());
  }
  return all;
}

class ServiceChaos : public CellTest {};
SALLYPORT_FOR_ROOT_AND_USER(ServiceChaos);

TEST_P(ServiceChaos, KillingItsProcessesUnderLoadLosesNothing) {
  TempDir marks(GetParam());
  const std::string word = unique_word();
  LiveService service(policy_for(marks.path()), GetParam());
  const std::string key = service.key("will");

  std::atomic<bool> stop = false;
  std::atomic<int> made = 0, answered = 0;
  std::vector<std::thread> clients;
  for (int client = 0; client < 4; ++client)
    clients.emplace_back([&, client] {
      for (int i = 0; !stop; ++i) {
        ++made;
        const auto reply = call(service, key, std::to_string(client) + "-" + std::to_string(i));
        if (reply && reply->status == 200) ++answered;
      }
    });

  // Every process below the keeper: the launcher, supervisors with their cells, the front.
  std::minstd_rand random(7);
  for (int round = 0; round < 12; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300 + random() % 300));
    const auto all = service.all();
    if (!all.empty()) ::kill(all[random() % all.size()], SIGKILL);
  }
  // The whole service at once, and again from the beginning.
  for (const pid_t pid : service.all())
    ::kill(pid, SIGKILL);
  service.signal(SIGKILL);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  service.begin();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  stop = true;
  for (std::thread& client : clients)
    client.join();

  EXPECT_TRUE(eventually([&] {
    const auto reply = call(service, key, "after");
    return reply && reply->status == 200;
  })) << "the service answers again";
  EXPECT_GT(answered, 0);
  EXPECT_EQ(service.end(), 0);
  // What a kill cut off gets its outcome at the latest at the next start.
  service.begin();
  EXPECT_EQ(service.end(), 0);
  const Ran verified = service.command({"audit", "verify"});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;

  std::map<std::string, int> intents, outcomes;
  std::set<std::string> intended;
  for (const auto& record : records(service)) {
    const std::string kind(record.at("record").as_string());
    if (kind != "intent" && kind != "outcome") continue;
    const std::string id(record.at("call_id").as_string());
    ++(kind == "intent" ? intents : outcomes)[id];
    if (kind == "intent") intended.emplace(record.at("arguments").at("name").as_string());
  }
  for (const auto& [id, count] : intents) {
    EXPECT_EQ(count, 1) << id;
    EXPECT_EQ(outcomes[id], 1) << id << " has an intent";
  }
  int ran = 0;
  for (const auto& entry : fs::directory_iterator(marks.path())) {
    ++ran;
    EXPECT_TRUE(intended.contains(entry.path().filename())) << "ran without an intent";
    // Killed before it wrote, it has left an empty one.
    EXPECT_LE(read_file(entry.path()).size(), 4U) << "ran twice";
  }
  EXPECT_GT(ran, 0);
  EXPECT_GE(made, ran - 1);
  EXPECT_TRUE(eventually([&] { return processes_with("echo ran >>").empty(); }));
}

// Twelve megabytes for everything that the service keeps, and a file that fills them.
TEST(ServiceOnASmallDisk, RefusesCallsWhileItIsFullAndRecovers) {
  TempDir marks, small;
  ASSERT_EQ(::mount("tmpfs", small.path().c_str(), "tmpfs", 0, "size=12m,mode=0755"), 0);
  struct Unmount {
    std::string path;
    ~Unmount() { ::umount2(path.c_str(), MNT_DETACH); }
  } unmount{small.path()};
  LiveService service(policy_for(marks.path()), As::root, {}, small / "state");
  const std::string key = service.key("will");
  ASSERT_EQ(call(service, key, "before")->status, 200U);

  std::ofstream(small / "filler", std::ios::binary) << std::string(16 << 20, 'x');
  // What is left of the last page of each file may still take a few records.
  int refused = 0;
  for (int i = 0; i < 100 && refused < 5; ++i) {
    const std::string name = "full-" + std::to_string(i);
    const auto reply = call(service, key, name);
    ASSERT_TRUE(reply);
    if (reply->status == 200) continue;
    ++refused;
    EXPECT_THAT(reply->body, testing::HasSubstr("unavailable"));
    // Told before it ran that it could not be recorded, or, after it ran, that its end cannot be.
    if (reply->status == 503) {
      EXPECT_FALSE(fs::exists(marks / name)) << "nothing runs without a record";
    }
  }
  EXPECT_EQ(refused, 5);

  fs::remove(small / "filler");
  EXPECT_TRUE(eventually([&] { return call(service, key, "after")->status == 200; }));
  EXPECT_EQ(service.end(), 0);
  const Ran verified = service.command({"audit", "verify"});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
}

}  // namespace
}  // namespace sallyport::test
