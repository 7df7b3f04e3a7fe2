// `sallyport policy suggest`: what it proposes is what the command used, and enough for it; and a
// command that is watched gains nothing by it.
#include <gmock/gmock.h>

#include <filesystem>

#include "cell/prepare.h"
#include "kernel/seccomp_compile.h"
#include "kernel/seccomp_profiles.h"
#include "support/live_process.h"

namespace sallyport::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
namespace json = boost::json;

Ran suggest(As as, std::vector<std::string> args) {
  args.insert(args.begin(), {sallyport_path(), "policy", "suggest"});
  return run(args, RunOptions{.as = as});
}

// The observation of a Python program, given as text.
json::object observe_python(As as, const std::string& program, const std::string& word = "") {
  const Ran ran = suggest(as, {"--json", "--", "python3", "-Ic", program, word});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  json::object seen = ran.json();
  EXPECT_EQ(seen["exit_code"], 0) << ran.err;
  return seen;
}

std::vector<std::string> strings(const json::value& list) {
  std::vector<std::string> texts;
  for (const json::value& text : list.as_array())
    texts.emplace_back(text.as_string());
  return texts;
}

// The proposal as options of `sallyport run`.
std::vector<std::string> options_of(const json::object& seen) {
  const json::object& proposal = seen.at("proposal").as_object();
  std::vector<std::string> options = {"--syscalls",
                                      std::string(proposal.at("syscalls").as_string())};
  for (const char* access : {"read", "write"})
    for (const json::value& file : proposal.at("files").at(access).as_array())
      options.insert(options.end(),
                     {"--" + std::string(access), std::string(file.at("host").as_string()) + ":" +
                                                      std::string(file.at("inside").as_string())});
  for (const auto& limit : proposal.at("limits").as_object()) {
    std::string name(limit.key());
    std::ranges::replace(name, '_', '-');
    const json::value& value = limit.value();
    options.insert(options.end(),
                   {"--" + name, value.is_string() ? std::string(value.as_string())
                                                   : std::to_string(value.to_number<int>())});
  }
  return options;
}

class Suggest : public CellTest {};

constexpr const char* kReport = R"(
import socket, sys
here = sys.argv[1]
text = open(here + '/data/orders.csv').read()
open('/tmp/report.txt', 'w').write(text)
open(here + '/out/report.txt', 'w').write(text * 2)
for try_it in (lambda: socket.getaddrinfo('api.example.com', 443),
               lambda: socket.create_connection(('db.example.com', 5432)),
               lambda: socket.create_connection(('203.0.113.7', 443))):
    try:
        try_it()
    except OSError:
        pass
print('done')
)";

struct Shop {
  explicit Shop(As as) : directory(as) {
    for (const char* name : {"data", "out"}) {
      std::filesystem::create_directory(directory / name);
      if (as == As::user) EXPECT_EQ(::chown((directory / name).c_str(), kUserUid, kUserGid), 0);
    }
    write_file(directory / "data/orders.csv", "1,2,3\n", as);
    write_file(directory / "data/unused.csv", "4,5,6\n", as);
    write_file(directory / "report.py", kReport, as);
  }
  [[nodiscard]] std::vector<std::string> command() const {
    return {"--", "python3", "-I", directory / "report.py", directory.path()};
  }
  TempDir directory;
};

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST_P(Suggest, ProposesWhatTheCommandUsedAndNothingElse) {
  const Shop shop(GetParam());
  const std::string top = shop.directory.path();
  const Ran ran =
      suggest(GetParam(), joined({"--name", "report", "--write", top + "/out"}, shop.command()));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("done"));  // its output, out of the proposal's way
  EXPECT_THAT(ran.out, HasSubstr("tools:\n  report:\n    run: [\"python3\", \"-I\", \"" + top));
  EXPECT_THAT(ran.out,
              HasSubstr("      read:\n        - \"" + top + "/data/orders.csv\"\n        - \"" +
                        top + "/report.py\"\n      write:\n        - \"" + top + "/out\"\n"));
  EXPECT_THAT(ran.out,
              HasSubstr("      allow:\n"
                        "        - \"api.example.com\"  # only looked up; https on 443 is a guess\n"
                        "        - { host: \"db.example.com\", port: 5432, scheme: postgres }\n"));
  EXPECT_THAT(ran.out, HasSubstr("#   203.0.113.7:443\n"));
  EXPECT_THAT(ran.out, HasSubstr("    syscalls: node"));
  EXPECT_THAT(ran.out, HasSubstr("    limits: { timeout: "));
  EXPECT_THAT(ran.out, Not(HasSubstr("unused")));
  EXPECT_THAT(ran.out, Not(HasSubstr("INCOMPLETE")));
  EXPECT_EQ(read_file(top + "/out/report.txt"), "1,2,3\n1,2,3\n");
}

TEST_P(Suggest, ProposesEnoughForTheNextRun) {
  const Shop shop(GetParam());
  const std::string out = shop.directory / "out";
  const Ran ran = suggest(GetParam(), joined({"--json", "--write", out}, shop.command()));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  std::filesystem::remove(out + "/report.txt");
  const Ran again =
      run_cell(joined(options_of(ran.json()), shop.command()), RunOptions{.as = GetParam()});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, "done\n");
  EXPECT_EQ(read_file(out + "/report.txt"), "1,2,3\n1,2,3\n");
}

TEST_P(Suggest, ProposesAProgramOfTheUsersOwn) {
  const TempDir directory(GetParam());
  std::filesystem::copy_file("/bin/true", directory / "mine");
  const Ran ran = suggest(GetParam(), {"--json", "--", directory / "mine"});
  const json::object seen = ran.json();
  EXPECT_EQ(seen.at("proposal").at("files").at("read").at(0).at("host").as_string(),
            directory / "mine");
  EXPECT_EQ(
      run_cell(joined(options_of(seen), {"--", directory / "mine"}), RunOptions{.as = GetParam()})
          .exit_code,
      0);
}

TEST_P(Suggest, MakesAProposalAlsoWhenTheCommandFails) {
  const Ran ran = suggest(GetParam(), {"--", "sh", "-c", "exit 3"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, HasSubstr("exit code 3"));
  EXPECT_THAT(ran.err, HasSubstr("the command failed in the observed run"));
}

TEST_P(Suggest, ProposesNothingForACommandThatIsNotThere) {
  const Ran ran = suggest(GetParam(), {"--", "nosuchcmd"});
  EXPECT_EQ(ran.exit_code, 127);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("'nosuchcmd' was not found in the cell"));
  EXPECT_EQ(suggest(GetParam(), {"--", "/usr/share"}).exit_code, 126);
  const json::object problem = suggest(GetParam(), {"--json", "--", "nosuchcmd"}).json();
  EXPECT_EQ(problem.at("ok"), false);
  EXPECT_THAT(std::string(problem.at("message").as_string()), HasSubstr("nosuchcmd"));
  // One that ends with such a code of its own has been watched.
  EXPECT_EQ(suggest(GetParam(), {"--", "sh", "-c", "exit 127"}).exit_code, 0);
}

TEST_P(Suggest, RunsNothingWhenTheCellCannotBeMade) {
  const Ran ran = suggest(GetParam(), {"--read", "/nowhere", "--", "true"});
  EXPECT_EQ(ran.exit_code, 125);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(suggest(GetParam(), {"--odd"}).exit_code, 125);
}

// ---- the watched command as an attacker

TEST_P(Suggest, LetsNothingBeWrittenThatWasNotGiven) {
  const Shop shop(GetParam());
  const std::string file = shop.directory / "data/orders.csv";
  const json::object seen = observe_python(GetParam(), R"(
import os, sys
for change in (lambda: open(sys.argv[1], 'a'), lambda: os.unlink(sys.argv[1]),
               lambda: os.rename(sys.argv[1], sys.argv[1] + '2'), lambda: os.chmod(sys.argv[1], 0)):
    try:
        change()
        sys.exit('changed')
    except OSError:
        pass
)",
                                           file);
  EXPECT_EQ(read_file(file), "1,2,3\n");
  EXPECT_THAT(strings(seen.at("files").at("written")), ElementsAre(file, file + "2"));
}

// Refused calls are answered by the same listener as observed ones.
TEST_P(Suggest, LetsNoRefusedCallThrough) {
  const json::object seen = observe_python(GetParam(), R"(
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
for number, arguments in ((165, (b'none', b'/mnt', b'tmpfs', 0, None)),  # mount
                          (101, (0, 1, 0, 0)),                           # ptrace
                          (272, (0x10000000,)),                          # unshare(CLONE_NEWUSER)
                          (41, (40, 1, 0)),                              # socket(AF_VSOCK)
                          (257, (-100, b'/tmp/x', 0o101, 0o4755))):      # openat with a set-id mode
    if libc.syscall(number, *arguments) != -1 or ctypes.get_errno() not in (1, 38, 97):
        sys.exit(f'{number} was let through')
)");
  for (const char* name : {"mount", "ptrace", "unshare", "socket", "openat"})
    EXPECT_TRUE(seen.at("refused_syscalls").as_object().contains(name)) << name;
}

TEST_P(Suggest, SurvivesBadPointersAndEndlessPaths) {
  const json::object seen = observe_python(GetParam(), R"(
import ctypes, mmap, sys
libc = ctypes.CDLL(None, use_errno=True)
openat, connect, sendmsg, execve, rename = 257, 42, 46, 59, 82
endless = ctypes.create_string_buffer(b'a' * 1000000)
for address in (0, 1, 4096, 2**63, 2**64 - 1, ctypes.addressof(endless)):
    for number in (openat, execve, rename):
        if libc.syscall(number, ctypes.c_ulong(-100 % 2**64), ctypes.c_ulong(address), 0, 0) >= 0:
            sys.exit('opened')
    for size in (0, 1, 16, 128, 2**31, 2**32 - 1):
        libc.syscall(connect, 0, ctypes.c_ulong(address), ctypes.c_uint(size))
    libc.syscall(sendmsg, 0, ctypes.c_ulong(address), 0)
)");
  EXPECT_GT(seen.at("unreadable").to_number<int>(), 0);
  EXPECT_THAT(seen.at("proposal").at("files").at("read").as_array(), IsEmpty());
}

TEST_P(Suggest, HoldsNoTextThatTheCommandWrote) {
  const TempDir directory(GetParam());
  const std::string evil = "x\ntools:\n  evil: { run: [sh], needs: [] }\n#\x1b[31m\xe2\x80\xae";
  write_file(directory / evil, "x", GetParam());
  const Ran ran = suggest(GetParam(), {"--", "python3", "-Ic", R"(
import sys
open(sys.argv[1]).read()
for place in ('/etc/', '/srv/', '/home/'):
    try:
        open(place + sys.argv[2] + '/y', 'w')
    except OSError:
        pass
)",
                                       directory / evil, evil});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, Not(HasSubstr("\n  evil:")));
  EXPECT_THAT(ran.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(ran.out, Not(HasSubstr("\xe2\x80\xae")));
}

TEST_P(Suggest, IsBoundedUnderAFloodOfPathsAndNames) {
  const json::object seen = observe_python(GetParam(), R"(
import socket
for i in range(12000):
    try: open(f'/srv/{i}')
    except OSError: pass
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(3000):
    label = b'%08d' % i
    s.sendto(b'\0\1\1\0\0\1\0\0\0\0\0\0\x08' + label + b'\0\0\1\0\1', ('127.0.0.1', 53))
    if i % 50 == 0:
        s.settimeout(5)
        try: s.recv(600)
        except OSError: pass
s.sendto(b'rubbish' * 9000, ('127.0.0.1', 53))
)");
  EXPECT_LE(seen.at("files").at("read").as_array().size(), 10'000U);
  EXPECT_LE(seen.at("names").as_array().size(), 1'000U);
  EXPECT_GT(seen.at("left_out").to_number<int>(), 1'900);
}

// The notes may be wrong then, but nothing is gained: what was read decides nothing.
TEST_P(Suggest, IsNotFooledIntoAnythingByMemoryThatChanges) {
  const Shop shop(GetParam());
  const std::string file = shop.directory / "data/orders.csv";
  observe_python(GetParam(), R"(
import ctypes, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
target = sys.argv[1].encode()
names = [b'/tmp/' + b'x' * (len(target) - 5), target]
path = ctypes.create_string_buffer(names[0])
stop = False
def swap():
    i = 0
    while not stop:
        path.value = names[i % 2]
        i += 1
threads = [threading.Thread(target=swap) for _ in range(2)]
for thread in threads: thread.start()
for i in range(200):
    libc.syscall(87, path)  # unlink
stop = True
for thread in threads: thread.join()
)",
                 file);
  EXPECT_EQ(read_file(file), "1,2,3\n");
}

TEST_P(Suggest, SurvivesThreadsAndProcessesThatDieUnderTheLook) {
  const json::object seen = observe_python(GetParam(), R"(
import os, signal
for i in range(60):
    child = os.fork()
    if child == 0:
        while True:
            try: open('/srv/nothing')
            except OSError: pass
    for _ in range(200): pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
)");
  EXPECT_EQ(seen.at("status"), "success");
}

// The name server is the supervisor's: the tool has the socket of nobody.
TEST_P(Suggest, LeavesNothingOpenInTheCommand) {
  observe_python(GetParam(), R"(
import os, sys
if sorted(os.listdir('/proc/self/fd'))[:3] != ['0', '1', '2'] or len(os.listdir('/proc/self/fd')) > 4:
    sys.exit(str(os.listdir('/proc/self/fd')))
)");
}

SALLYPORT_FOR_ROOT_AND_USER(Suggest);

TEST(Observation, LeavesTheFilterOfEveryOtherCellAsItWas) {
  CellSpec spec;
  spec.command = {"true"};
  const auto cell = prepare(spec, "0123456789abcdef");
  ASSERT_TRUE(cell) << cell.error().message;
  const auto plain = compile(make_profile("default", cell->profile_options).value());
  ASSERT_EQ(cell->plan.filter.size(), plain->size());
  EXPECT_EQ(
      std::memcmp(cell->plan.filter.data(), plain->data(), plain->size() * sizeof(sock_filter)), 0);
  EXPECT_FALSE(cell->plan.observe);
}

}  // namespace
}  // namespace sallyport::test
