// Real cells by a launcher in a process of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <future>

#include "launch/launcher_fixture.h"
#include "launch/remote_cell.h"
#include "policy/rules.h"
#include "support/leftovers.h"

namespace sallyport::test {
namespace {

using testing::HasSubstr;

LaunchCeiling ceiling_of(const std::string& yaml = "") {
  const auto policy =
      Policy::parse("version: 1\nroles: {r: {permissions: [p]}}\ntenants: {acme: {}}\n" + yaml);
  if (!policy) {
    ADD_FAILURE() << to_text(policy.error().front());
    return {};
  }
  auto ceiling = make_launch_ceiling(policy->rules(), "", UidRange{});
  EXPECT_TRUE(ceiling);
  ceiling->profiles.emplace_back("default");
  ceiling->limits.timeout = std::chrono::minutes(5);
  return std::move(*ceiling);
}

CellSpec shell(const std::string& script, const std::string& word = "") {
  CellSpec spec;
  spec.command = {"sh", "-c", script, word};
  spec.limits.timeout = std::chrono::minutes(5);
  return spec;
}

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read = Fd(ends[0]);
    write = Fd(ends[1]);
  }
  Fd read, write;
};

std::string read_line(const Fd& fd) {
  std::string line;
  for (char c = 0; ::read(fd.get(), &c, 1) == 1 && c != '\n';)
    line.push_back(c);
  return line;
}

TEST(LauncherCells, RunAndAnswerLikeCellsOfOnesOwn) {
  const LauncherUnderTest launcher(ceiling_of());
  CellSpec spec = shell("echo out; echo err >&2; cat; cat /proc/self/uid_map; exit 3");
  spec.use_stdin = true;
  spec.input = "in\n";
  const Outcome outcome = run_cell_remotely(launcher.path(), "acme", spec, {});
  EXPECT_EQ(outcome.status, Status::error) << outcome.message;
  EXPECT_EQ(outcome.reason, Reason::exit);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.output, HasSubstr("out\nin\n"));
  EXPECT_EQ(outcome.error, "err\n");
  EXPECT_EQ(outcome.call_id.size(), 32U);
  EXPECT_FALSE(outcome.layers.empty());
  EXPECT_FALSE(outcome.timings.empty());
  EXPECT_GT(outcome.usage.wall_us, 0);
}

TEST(LauncherCells, HaveUidsOfTheirTenant) {
  const LaunchCeiling ceiling = ceiling_of();
  const LauncherUnderTest launcher(ceiling);
  for (const auto& [tenant, range] : ceiling.uids) {
    const Outcome outcome =
        run_cell_remotely(launcher.path(), tenant, shell("cat /proc/self/uid_map"), {});
    std::istringstream map(outcome.output);
    uid_t inside = 0, outside = 0;
    map >> inside >> outside;
    EXPECT_EQ(inside, 1000U) << outcome.message;
    EXPECT_GE(outside, range.first);
    EXPECT_LT(outside, range.first + range.count);
  }
}

TEST(LauncherCells, WorkWithoutRoot) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresgid(kUserGid, kUserGid, kUserGid) != 0 ||
        ::setresuid(kUserUid, kUserUid, kUserUid) != 0)
      ::_exit(1);
    const std::string output = [] {
      const LauncherUnderTest launcher(ceiling_of());
      return run_cell_remotely(launcher.path(), "acme", shell("echo here"), {}).output;
    }();
    ::_exit(output == "here\n" ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(LauncherCells, StreamWhatTheyWriteAndEndWhenTheyAreCancelled) {
  const LauncherUnderTest launcher(ceiling_of());
  const std::string word = unique_word();
  Pipe output, error, cancel;
  auto outcome = std::async(std::launch::async, [&] {
    return run_cell_remotely(
        launcher.path(), "acme",
        shell("echo first; echo second >&2; (setsid sleep 300 &); sleep 300; :", word),
        {.output = output.write.get(), .error = error.write.get(), .cancel = cancel.read.get()});
  });
  EXPECT_EQ(read_line(output.read), "first");
  EXPECT_EQ(read_line(error.read), "second");
  EXPECT_FALSE(processes_with(word).empty()) << "the twin: it can be seen while it lives";
  cancel.write.reset();
  const Outcome ended = outcome.get();
  EXPECT_EQ(ended.status, Status::killed);
  EXPECT_EQ(ended.reason, Reason::cancelled);
  EXPECT_EQ(ended.output, "first\n");
  EXPECT_TRUE(eventually([&] { return processes_with(word).empty(); }));
}

TEST(LauncherCells, EndWithTheFront) {
  const LauncherUnderTest launcher(ceiling_of());
  const std::string word = unique_word();
  Claim claim{.tenant = "acme", .spec = shell("sleep 300; :", word)};
  claim.spec.call_id = plain_claim().spec.call_id;
  Fd connection = launcher.connect();
  send_claim(connection, *encode(claim));
  ASSERT_TRUE(eventually([&] { return !processes_with(word).empty(); }));
  connection.reset();
  EXPECT_TRUE(eventually([&] { return processes_with(word).empty(); }));
}

TEST(LauncherCells, AreNotBegunForAFrontThatIsGone) {
  LauncherUnderTest launcher(ceiling_of());
  const TempDir directory;
  launcher.signal(SIGKILL);
  EXPECT_EQ(launcher.wait(), 128 + SIGKILL);
  // The claim lies in the queue when its sender dies.
  const LaunchCeiling ceiling = ceiling_of("tools: {t: {needs: [p], run: [x], files: {write: [\"" +
                                           directory.path() + ":/data\"]}}}\n");
  Claim claim{.tenant = "acme", .spec = shell("touch /data/ran")};
  claim.spec.call_id = plain_claim().spec.call_id;
  claim.spec.grants = {{.host = directory.path(), .inside = "/data", .write = true}};
  Fd connection = launcher.connect();
  send_claim(connection, *encode(claim));
  connection.reset();
  launcher.start(ceiling);
  // The twin, behind it in the queue, runs.
  claim.spec.command = {"touch", "/data/twin"};
  EXPECT_EQ(run_cell_remotely(launcher.path(), "acme", claim.spec, {}).status, Status::success);
  launcher.signal(SIGTERM);
  EXPECT_EQ(launcher.wait(), 0);
  EXPECT_TRUE(std::filesystem::exists(directory / "twin"));
  EXPECT_FALSE(std::filesystem::exists(directory / "ran"));
}

TEST(LauncherCells, RunNothingBeforeTheFrontSaysSo) {
  const TempDir directory;
  LauncherUnderTest launcher(ceiling_of("tools: {t: {needs: [p], run: [x], files: {write: [\"" +
                                        directory.path() + ":/data\"]}}}\n"));
  Claim claim{.tenant = "acme", .spec = shell("touch /data/ran")};
  claim.spec.call_id = plain_claim().spec.call_id;
  claim.spec.grants = {{.host = directory.path(), .inside = "/data", .write = true}};
  enum { gone, shut, says_something_else };
  for (const auto front : {gone, shut, says_something_else}) {
    Fd connection = launcher.connect();
    ask_only(connection, *encode(claim));
    const auto accepted = next_packet(connection);
    ASSERT_TRUE(accepted);
    EXPECT_EQ(accepted->kind, PacketKind::accepted);
    if (front == gone) continue;
    if (front == shut) ASSERT_EQ(::shutdown(connection.get(), SHUT_WR), 0);
    if (front == says_something_else)
      ASSERT_TRUE(send_packet(connection.get(), PacketKind::hello, 0, {}));
    const auto outcome = outcome_on(connection);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->status, Status::killed);
    EXPECT_EQ(outcome->reason, Reason::cancelled);
    EXPECT_THAT(outcome->message, HasSubstr("before it began"));
  }
  auto asked = ask_for_cell(launcher.path(), "acme", claim.spec, {});
  asked.reset();
  // The twin.
  claim.spec.command = {"touch", "/data/twin"};
  EXPECT_EQ(run_cell_remotely(launcher.path(), "acme", claim.spec, {}).status, Status::success);
  EXPECT_TRUE(std::filesystem::exists(directory / "twin"));
  launcher.signal(SIGTERM);
  EXPECT_EQ(launcher.wait(), 0) << "all of them have ended";
  EXPECT_FALSE(std::filesystem::exists(directory / "ran"));
}

TEST(LauncherCells, ThatWereNotLetRunHaveNotRunWhenTheLauncherDies) {
  LauncherUnderTest launcher(ceiling_of());
  auto asked = ask_for_cell(launcher.path(), "acme", shell("true"), {});
  launcher.signal(SIGKILL);
  EXPECT_EQ(launcher.wait(), 128 + SIGKILL);
  const Outcome outcome = asked->run();
  EXPECT_EQ(outcome.status, Status::blocked) << "it cannot have done anything";
  EXPECT_EQ(outcome.reason, Reason::unavailable);
}

TEST(LauncherCells, ThatAreCancelledBeforeTheyAreLetRunDoNotRun) {
  const LauncherUnderTest launcher(ceiling_of());
  Pipe cancel, output;
  const CellStreams streams{.output = output.write.get(), .cancel = cancel.read.get()};
  auto asked = ask_for_cell(launcher.path(), "acme", shell("echo ran"), streams);
  cancel.write.reset();
  const Outcome outcome = asked->run();
  EXPECT_EQ(outcome.status, Status::killed);
  EXPECT_EQ(outcome.reason, Reason::cancelled);
  EXPECT_THAT(outcome.message, HasSubstr("before it began"));
  output.write.reset();
  EXPECT_EQ(read_line(output.read), "") << "the end of the stream, and nothing before it";
}

TEST(LauncherCells, AreGoneWhenTheLauncherIsKilled) {
  const std::string word = unique_word();
  const auto before = traces(word);
  for (int i = 0; i < 5; ++i) {
    LauncherUnderTest launcher(ceiling_of());
    Pipe output;
    auto outcome = std::async(std::launch::async, [&] {
      return run_cell_remotely(launcher.path(), "acme",
                               shell("(setsid sleep 300 &); echo up; sleep 300; :", word),
                               {.output = output.write.get()});
    });
    EXPECT_EQ(read_line(output.read), "up");
    launcher.signal(SIGKILL);
    EXPECT_EQ(launcher.wait(), 128 + SIGKILL);
    const Outcome ended = outcome.get();
    EXPECT_EQ(ended.status, Status::error) << "it may have done something";
    EXPECT_EQ(ended.reason, Reason::unavailable);
    EXPECT_TRUE(eventually([&] { return processes_with(word).empty(); }));
  }
  // The next start sweeps.
  {
    const LauncherUnderTest launcher(ceiling_of());
  }
  LauncherUnderTest launcher(ceiling_of());
  EXPECT_EQ(run_cell_remotely(launcher.path(), "acme", shell(":"), {}).status, Status::success);
  // Its own cell is taken down after the answer; one that is killed meanwhile leaves that as well.
  launcher.signal(SIGTERM);
  EXPECT_EQ(launcher.wait(), 0);
  EXPECT_EQ(left_since(before, word), std::set<std::string>{});
}

TEST(LauncherCells, FinishWhenTheLauncherIsToldToEnd) {
  LauncherUnderTest launcher(ceiling_of());
  Pipe output;
  auto outcome = std::async(std::launch::async, [&] {
    return run_cell_remotely(launcher.path(), "acme", shell("echo up; sleep 1; echo done"),
                             {.output = output.write.get()});
  });
  EXPECT_EQ(read_line(output.read), "up");
  launcher.signal(SIGTERM);
  EXPECT_TRUE(launcher.has_stopped_accepting());
  EXPECT_EQ(outcome.get().output, "up\ndone\n");
  EXPECT_EQ(launcher.wait(), 0);
}

TEST(LauncherCells, AreNoMoreAtOnceThanTheCeilingSays) {
  LaunchCeiling ceiling = ceiling_of();
  ceiling.cells = 1;
  const LauncherUnderTest launcher(ceiling);
  Pipe output, cancel;
  auto first = std::async(std::launch::async, [&] {
    return run_cell_remotely(launcher.path(), "acme", shell("echo up; sleep 300"),
                             {.output = output.write.get(), .cancel = cancel.read.get()});
  });
  EXPECT_EQ(read_line(output.read), "up");
  const Outcome second = run_cell_remotely(launcher.path(), "acme", shell(":"), {});
  EXPECT_EQ(second.status, Status::blocked);
  EXPECT_EQ(second.reason, Reason::unavailable);
  cancel.write.reset();
  EXPECT_EQ(first.get().reason, Reason::cancelled);
  EXPECT_TRUE(eventually([&] {
    return run_cell_remotely(launcher.path(), "acme", shell(":"), {}).status == Status::success;
  }));
}

// Nobody reads the stream: the tool waits for its reader, and the deadline does not.
TEST(LauncherCells, KeepTheirDeadlineWhateverTheFrontDoesWithTheirStreams) {
  const LauncherUnderTest launcher(ceiling_of());
  const std::string word = unique_word();
  Pipe output, cancel;
  CellSpec spec = shell("head -c 9000000 /dev/zero; sleep 300; :", word);
  spec.limits.timeout = std::chrono::seconds(1);
  spec.limits.max_output = 40_kB;
  auto outcome = std::async(std::launch::async, [&] {
    return run_cell_remotely(launcher.path(), "acme", spec,
                             {.output = output.write.get(), .cancel = cancel.read.get()});
  });
  ASSERT_TRUE(eventually([&] { return !processes_with(word).empty(); }));
  EXPECT_TRUE(eventually([&] { return processes_with(word).empty(); }));
  cancel.write.reset();
  EXPECT_EQ(outcome.get().reason, Reason::timeout) << "the first cause";
}

TEST(LauncherCells, LeaveArtifactsInTheDirectoryOfTheFront) {
  const LauncherUnderTest launcher(ceiling_of());
  const TempDir directory;
  CellSpec spec = shell("echo 1 > a.csv; ln -s /etc/passwd b.csv; mkdir d; echo 2 > d/c.csv");
  spec.outputs = {"**"};
  spec.output_directory = directory.path();
  const Outcome outcome = run_cell_remotely(launcher.path(), "acme", spec, {});
  EXPECT_EQ(outcome.status, Status::success) << outcome.message;
  ASSERT_EQ(outcome.artifacts.size(), 2U);
  EXPECT_EQ(read_file(directory / "a.csv"), "1\n");
  EXPECT_EQ(read_file(directory / "d/c.csv"), "2\n");
  EXPECT_FALSE(std::filesystem::exists(directory / "b.csv"));
  EXPECT_FALSE(outcome.findings.empty());
}

class LauncherGrants : public testing::Test {
 protected:
  LauncherGrants() {
    std::filesystem::create_directory(directory_ / "data");
    write_file(directory_ / "data/x", "content");
  }
  // What the cell says whose one grant is the directory.
  [[nodiscard]] Outcome read(const std::string& more = "") const {
    const LauncherUnderTest launcher(ceiling_of(
        "tools: {t: {needs: [p], run: [x], files: {read: [\"" + host() + ":/data\"]}}}\n" + more));
    CellSpec spec = shell("cat /data/x");
    spec.grants = {{.host = host(), .inside = "/data", .write = false}};
    return run_cell_remotely(launcher.path(), "acme", spec, {});
  }
  [[nodiscard]] std::string host() const { return directory_ / "data"; }
  const TempDir directory_;
};

TEST_F(LauncherGrants, ShowWhatThePolicyGrants) {
  EXPECT_EQ(read().output, "content");
}

TEST_F(LauncherGrants, AreNotLedElsewhereByALink) {
  std::filesystem::rename(host(), directory_ / "moved");
  std::filesystem::create_directory_symlink("/etc", host());
  const Outcome outcome = read();
  EXPECT_EQ(outcome.status, Status::blocked);
  EXPECT_THAT(outcome.message, HasSubstr("symlink"));
}

// The front cannot see the tree; the launcher can.
TEST_F(LauncherGrants, DoNotShowWhatTheCeilingDenies) {
  const std::string deny = "ceiling: {files: {deny: [\"/**/.ssh/**\"]}}\n";
  EXPECT_EQ(read(deny).output, "content");
  std::filesystem::create_directory(host() + "/.ssh");
  std::filesystem::permissions(host() + "/.ssh", std::filesystem::perms(0700));
  write_file(host() + "/.ssh/id", "secret");
  const Outcome outcome = read(deny);
  EXPECT_EQ(outcome.status, Status::blocked);
  EXPECT_EQ(outcome.reason, Reason::cannot_enforce);
  EXPECT_THAT(outcome.message, HasSubstr("ceiling.files.deny"));
}

}  // namespace
}  // namespace sallyport::test
