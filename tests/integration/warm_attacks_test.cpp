// What one call could leave for the next one of its class, and what it could find of an earlier
// one: in the cell, and in the memory of the interpreter that waited for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <thread>

#include "support/live_service.h"

namespace sallyport::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kPolicy = R"(
version: 1
roles: {worker: [execute:code]}
callers: {will: {role: worker}}
defaults: {rate: 100000/min, limits: {timeout: 60s}}
pool: {min: 2, max: 4}
tools:
  python: {use: run_python, needs: [execute:code], warm: true}
  loaded: {use: run_python, needs: [execute:code], warm: true, preload: [json, random, ssl, uuid]}
  shell: {use: run_shell, needs: [execute:code]}
  keeps: {use: run_shell, needs: [execute:code], collect: ["*.txt"]}
  missing: {use: run_python, needs: [execute:code], warm: true, preload: [json, sallyport_no_such_module]}
)";
constexpr std::chrono::seconds kSoon{20};

class WarmAttacks : public CellTest {
 protected:
  WarmAttacks() : service_(kPolicy, GetParam()), key_(service_.key("will")) {}

  std::string run_code(const std::string& tool, const std::string& code,
                       const std::string& more = "") {
    const std::string body = R"({"arguments": {"code": )" +
                             boost::json::serialize(boost::json::value(code)) + "}" + more + "}";
    const Reply reply = service_.post("/v1/tools/" + tool + "/call", body, key_);
    return reply.text("output") + reply.text("error");
  }
  static constexpr const char* kKind =
      "import os as _o; print('warm' if 'restore' in _o.readlink('/proc/self/exe') else 'cold')\n";
  // In a copy of the image, which all that follow are as well.
  void wait_until_warm(const std::string& tool) {
    ASSERT_TRUE(eventually([&] { return run_code(tool, kKind).starts_with("warm"); }, kSoon));
  }
  // What a script prints in a warm cell.
  std::string run_warm(const std::string& tool, const std::string& code,
                       const std::string& more = "") {
    std::string said;
    EXPECT_TRUE(eventually(
        [&] {
          said = run_code(tool, kKind + code, more);
          return said.starts_with("warm\n");
        },
        kSoon))
        << said;
    return said.substr(std::min<std::size_t>(said.size(), 5));
  }

  LiveService service_;
  std::string key_;
};
SALLYPORT_FOR_ROOT_AND_USER(WarmAttacks);

// Leaves a word wherever there is a place for it.
std::string leave(const std::string& word) {
  return "word = '" + word + R"('
import builtins, ctypes, json, os, socket, sys
for place in ('/tmp', '/workspace', '/dev/shm', '/var/tmp', os.path.expanduser('~')):
    try: open(place + '/' + word, 'w').write(word)
    except OSError: pass
libc = ctypes.CDLL(None, use_errno=True)
for ring in (-2, -3, -4, -5):
    libc.syscall(248, b'user', word.encode(), word.encode(), len(word), ring)
os.environ[word] = word
setattr(builtins, word.replace('-', '_'), word); json.loads = lambda text: word
sys.modules[word] = word; sys.path.append(word)
listener = socket.socket(socket.AF_UNIX); listener.bind('\0' + word); listener.listen()
libc.shmget(4711, 4096, 0o1666)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        import time; time.sleep(600)
    os._exit(0)
)";
}

// Looks for it in the same places, and says where it is.
std::string look(const std::string& word) {
  return "word = '" + word + R"('
import builtins, ctypes, json, os, socket, sys
found = []
for place in ('/tmp', '/workspace', '/dev/shm', '/var/tmp', os.path.expanduser('~')):
    if os.path.exists(place + '/' + word): found.append(place)
libc = ctypes.CDLL(None, use_errno=True)
for ring in (-2, -3, -4, -5):
    if libc.syscall(250, 10, ring, b'user', word.encode(), 0) >= 0: found.append('keyring %d' % ring)
if word in os.environ: found.append('environment')
if hasattr(builtins, word.replace('-', '_')): found.append('builtins')
if json.loads('1') == word: found.append('json')
if word in sys.modules or word in sys.path: found.append('modules')
try:
    socket.socket(socket.AF_UNIX).connect('\0' + word); found.append('socket')
except OSError: pass
if libc.shmget(4711, 4096, 0) >= 0: found.append('shared memory')
if len([p for p in os.listdir('/proc') if p.isdigit()]) > 2: found.append('processes')
print(found)
)";
}

TEST_P(WarmAttacks, NothingIsLeftForTheNextCallOfTheClass) {
  for (const char* tool : {"python", "loaded"}) {
    wait_until_warm(tool);
    const std::string word = unique_word();
    const std::string own = run_warm(tool, leave(word) + look(word));
    for (const char* place : {"/tmp", "/workspace", "environment", "builtins", "json", "modules",
                              "socket", "processes"})
      EXPECT_THAT(own, HasSubstr(place)) << "the twin: who left it finds it";
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(run_warm(tool, look(word)), "[]\n") << tool;
  }
}

// The word is spelled so that looking for it does not put it into memory.
std::string search(const std::string& word, bool hold) {
  std::string pattern;
  for (const char letter : word)
    pattern += std::string("[") + letter + "]";
  return std::string(hold ? "held = '" + word + "' * 2\n" : "") +
         "import re\npattern = re.compile(rb'" + pattern + R"(')
count = size = 0
memory = open('/proc/self/mem', 'rb', 0)
for line in open('/proc/self/maps'):
    begin, end = (int(n, 16) for n in line.split()[0].split('-'))
    if line.split()[1][0] != 'r' or '[v' in line: continue
    try:
        memory.seek(begin); data = memory.read(end - begin)
    except (OSError, ValueError): continue
    size += len(data)
    count += len(pattern.findall(data))
    del data
print('found' if count else 'none', size > 4_000_000)
)";
}

TEST_P(WarmAttacks, NothingOfAnEarlierCallIsInTheMemoryOfALaterOne) {
  for (const char* tool : {"python", "loaded"}) {
    wait_until_warm(tool);
    const std::string word = unique_word();
    const std::string more =
        R"(, "stdin": ")" + word + R"(", "files": [{"path": "f", "content": ")" + word + R"("}])";
    EXPECT_EQ(run_warm(tool, search(word, true)), "found True\n") << "the twin";
    run_warm(tool, "x = ['" + word + "'] * 1000; print(open('f').read(), input())", more);
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(run_warm(tool, search(word, false)), "none True\n") << tool;
  }
}

// The init of a cell is a copy of the process that made it, and that may have served calls before.
// Nothing of them is in it when a tool can run beside it.
std::size_t count_named(const LiveService& service, const char* name) {
  return static_cast<std::size_t>(
      std::ranges::count(service.all(), name, [](pid_t pid) { return status_of(pid, "Name"); }));
}

std::size_t count_holding(const LiveService& service, const char* name, const std::string& word) {
  std::size_t count = 0;
  for (const pid_t pid : service.all()) {
    if (status_of(pid, "Name") != name) continue;
    const std::string proc = "/proc/" + std::to_string(pid) + "/";
    std::ifstream maps(proc + "maps");
    std::ifstream memory(proc + "mem", std::ios::binary);
    for (std::string line; std::getline(maps, line);) {
      std::uintptr_t begin = 0, end = 0;
      if (std::sscanf(line.c_str(), "%lx-%lx rw", &begin, &end) != 2) continue;
      std::string bytes(end - begin, '\0');
      memory.clear();
      memory.seekg(static_cast<std::streamoff>(begin));
      memory.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      if (bytes.find(word) != std::string::npos) {
        ++count;
        break;
      }
    }
  }
  return count;
}

TEST_P(WarmAttacks, NoInitHasAnythingOfAnEarlierCall) {
  const std::string word = unique_word();
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(run_code("shell", "echo " + word), word + "\n");
  EXPECT_TRUE(eventually([&] { return count_holding(service_, "sally-supervise", word) > 0; }))
      << "the twin: those who served them";
  EXPECT_TRUE(eventually([&] { return count_named(service_, "sallyport-init") >= 2; }));
  // A cell that is being made has it still, and no tool yet; one that waits would keep it.
  EXPECT_TRUE(eventually([&] { return count_holding(service_, "sallyport-init", word) == 0; }));
}

TEST_P(WarmAttacks, CopiesAreDifferentFromEachOther) {
  wait_until_warm("loaded");
  const char* draw =
      "import os, random, ssl, uuid, tempfile\nprint(random.random(), os.urandom(8).hex(), "
      "ssl.RAND_bytes(8).hex(), uuid.uuid4(), next(tempfile._get_candidate_names()), "
      "os.getpid())\n";
  std::set<std::string> drawn;
  std::set<std::string> pids;
  constexpr int kCalls = 30;
  for (int i = 0; i < kCalls; ++i) {
    std::istringstream words(run_warm("loaded", draw));
    std::vector<std::string> values{std::istream_iterator<std::string>(words), {}};
    ASSERT_EQ(values.size(), 6U);
    pids.insert(values.back());
    values.pop_back();
    drawn.insert(values.begin(), values.end());
  }
  EXPECT_EQ(drawn.size(), 5U * kCalls);
  EXPECT_EQ(pids.size(), 1U) << "the twin: to each of them it looks the same";
}

TEST_P(WarmAttacks, AModuleThatIsNotThereIsNamedAndCallsWorkAllTheSame) {
  EXPECT_TRUE(run_code("missing", kKind).starts_with("cold")) << "started for the call";
  EXPECT_TRUE(service_.says("the module sallyport_no_such_module cannot be imported"))
      << service_.log();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(run_code("missing", "import json; print(json.dumps([1]))"), "[1]\n");
}

std::vector<pid_t> supervisors_of(const LiveService& service) {
  std::vector<pid_t> found;
  for (const pid_t pid : service.all())
    if (status_of(pid, "Name") == "sally-supervise") found.push_back(pid);
  return found;
}

TEST_P(WarmAttacks, AReloadRetiresTheCellsOfTheOldPolicy) {
  wait_until_warm("python");
  ASSERT_TRUE(eventually([&] { return supervisors_of(service_).size() >= 2; }));
  const std::vector<pid_t> before = supervisors_of(service_);
  std::string changed = kPolicy;
  changed.replace(changed.find("max: 4"), 6, "max: 5");
  service_.write_policy(changed);
  service_.signal(SIGHUP);
  EXPECT_TRUE(eventually([&] {
    const std::vector<pid_t> now = supervisors_of(service_);
    return std::ranges::none_of(
        before, [&](pid_t pid) { return std::ranges::find(now, pid) != now.end(); });
  }));
  wait_until_warm("python");
}

TEST_P(WarmAttacks, AKilledLauncherTakesTheParkedCellsWithIt) {
  wait_until_warm("python");
  ASSERT_TRUE(eventually([&] { return supervisors_of(service_).size() >= 2; }));
  std::vector<pid_t> before, inside;
  ASSERT_TRUE(eventually([&] {
    before = supervisors_of(service_);
    inside.clear();
    for (const pid_t pid : before)
      std::ranges::copy(descendants_of(pid), std::back_inserter(inside));
    return inside.size() >= 4;  // the init of each, and what waits in it
  })) << "the twin: cells are there";
  ASSERT_EQ(::kill(service_.named("sally-launcher"), SIGKILL), 0);
  const auto alive = [](pid_t pid) {
    const std::string state = status_of(pid, "State");
    return !state.empty() && !state.starts_with("Z") && !state.starts_with("X");
  };
  EXPECT_TRUE(eventually(
      [&] { return std::ranges::none_of(before, alive) && std::ranges::none_of(inside, alive); }));
  wait_until_warm("python");
}

// Whoever writes artifacts as their owner loses the signal that it had asked for.
TEST_P(WarmAttacks, AKilledLauncherTakesSupervisorsAlongThatHaveWrittenArtifacts) {
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(run_code("keeps", "echo a > a.txt; echo done"), "done\n");
  std::string said;
  std::thread call([&] { said = run_code("keeps", "exec sleep 20"); });
  const auto sleeps = [&] { return count_named(service_, "sleep") > 0; };
  EXPECT_TRUE(eventually(sleeps)) << "the twin";
  ASSERT_EQ(::kill(service_.named("sally-launcher"), SIGKILL), 0);
  const auto killed = std::chrono::steady_clock::now();
  call.join();
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(15));
  EXPECT_TRUE(eventually([&] { return !sleeps(); }));
}

TEST_P(WarmAttacks, NoneIsMadeWhereThePolicySaysSo) {
  std::string policy = kPolicy;
  policy.replace(policy.find("min: 2, max: 4"), 14, "max: 0");
  LiveService none(policy, GetParam());
  const std::string key = none.key("will");
  const std::string code = "{\"code\": \"print(1)\"}";
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(none.call("python", code, key).text("output"), "1\n");
  EXPECT_TRUE(eventually([&] { return supervisors_of(none).empty(); }))
      << "and none comes after the last call";
}

}  // namespace
}  // namespace sallyport::test
