// What a command writes, on its way to the caller: streamed, bounded, never in the way of a limit.
// And what the caller gives it to read.
#include <gmock/gmock.h>
#include <sys/ioctl.h>

#include <cstdlib>

#include "support/cell_result.h"
#include "support/live_process.h"

namespace sallyport::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::EndsWith;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::Not;
using testing::StartsWith;

class Output : public CellTest {
 protected:
  static Ran cell(const std::vector<std::string>& args, std::string input = {}) {
    return run_cell(args, RunOptions{.as = GetParam(), .input = std::move(input)});
  }
};

// Bytes of every value, in an order that a lost or doubled piece would break.
std::string binary(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

// "0\n1\n2\n…"
std::string count_up_to(int last) {
  std::string text;
  for (int i = 0; i <= last; ++i)
    text.append(std::to_string(i)).append("\n");
  return text;
}

// ---- Streaming

TEST_P(Output, ArrivesWhileTheCommandRuns) {
  LiveProcess cell =
      start_cell(GetParam(), {"--timeout", "100s", "--", "sh", "-c", "echo first; sleep 99"});
  EXPECT_TRUE(cell.says("first\n"));
  EXPECT_TRUE(cell.alive());
}

TEST_P(Output, ArrivesAlsoOfACommandThatHasClosedItsStreams) {
  LiveProcess cell = start_cell(GetParam(), {"--timeout", "100s", "--", "sh", "-c",
                                             "sleep 0.1; echo first; exec >&- 2>&-; sleep 99"});
  EXPECT_TRUE(cell.says("first\n"));
  EXPECT_TRUE(cell.alive());
}

TEST_P(Output, KeepsTheStreamsApartAndEachInOrder) {
  const Ran ran =
      cell({"--", "sh", "-c", "for i in $(seq 0 5000); do echo $i; done; seq 0 3000 >&2"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, count_up_to(5000));
  EXPECT_EQ(ran.err, count_up_to(3000));
}

TEST_P(Output, MayBeOnStandardErrorAlone) {
  const Ran ran = cell({"--", "sh", "-c", "echo complaint >&2"});
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "complaint\n");
  const CellResult result(cell({"--json", "--", "sh", "-c", "echo complaint >&2"}));
  EXPECT_EQ(result.text("output"), "");
  EXPECT_EQ(result.text("error"), "complaint\n");
}

TEST_P(Output, MayBeWrittenAndReadByPath) {
  const Ran ran = cell(
      {"--stdin", "--", "sh", "-c", "cat /dev/stdin >/dev/stdout; echo complaint >/dev/stderr"},
      "text");
  EXPECT_EQ(ran.out, "text");
  EXPECT_EQ(ran.err, "complaint\n");
}

TEST_P(Output, IsPassedOnByteByByte) {
  const std::string bytes = binary(3'000'000);
  const Ran ran = cell({"--stdin", "--", "cat"}, bytes);
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_TRUE(ran.out == bytes) << ran.out.size() << " bytes came back";
}

TEST_P(Output, IsValidTextInTheResultWhateverItsBytesAre) {
  const CellResult odd(cell({"--json", "--", "printf", "a\\000b\\377c\\342\\202\\254\\342\\202"}));
  EXPECT_EQ(odd.text("output"), std::string("a\0b\uFFFDc\u20AC\uFFFD", 13));
  EXPECT_EQ(odd.usage("output_bytes"), 10);

  const Ran noise =
      cell({"--json", "--stdin", "--max-output", "2MB", "--", "cat"}, binary(1 << 20));
  EXPECT_EQ(CellResult(noise).usage("output_bytes"), 1 << 20);
  EXPECT_EQ(noise.out.find('\0'), std::string::npos);
  EXPECT_EQ(std::ranges::count(noise.out, '\n'), 1) << "the result is one line";
}

// ---- Bounds

TEST_P(Output, PastTheSoftLimitAStreamPassesItsHeadAndSaysSo) {
  const Ran ran = cell({"--max-output", "1kB", "--", "sh", "-c", "seq 0 5000; exit 3"});
  EXPECT_EQ(ran.exit_code, 3) << "it went on to its own end";
  EXPECT_EQ(ran.out, count_up_to(5000).substr(0, 1000));
  EXPECT_THAT(ran.err, AllOf(HasSubstr("sallyport: output was cut at 1kB"),
                             HasSubstr(std::to_string(count_up_to(5000).size()))));
}

TEST_P(Output, PastTheSoftLimitTheResultHasHeadAndTail) {
  const CellResult result(
      cell({"--json", "--max-output", "1kB", "--", "sh", "-c", "seq 0 5000; echo short >&2"}));
  const std::string all = count_up_to(5000);
  EXPECT_THAT(result.text("output"),
              AllOf(StartsWith(all.substr(0, 500)), EndsWith(all.substr(all.size() - 500)),
                    HasSubstr(std::to_string(all.size() - 1000) + " bytes left out")));
  EXPECT_LT(result.text("output").size(), 1100u);
  EXPECT_EQ(result.text("error"), "short\n") << "each stream has its own limit";
  EXPECT_TRUE(result.json.at("truncated").as_bool());
  EXPECT_THAT(result.limits_hit(), Contains("output"));
  EXPECT_EQ(result.exit_code, 0);
}

TEST_P(Output, ThatFitsExactlyIsNotTruncated) {
  const CellResult result(
      cell({"--json", "--max-output", "1kB", "--", "head", "-c", "1000", "/dev/zero"}));
  EXPECT_EQ(result.text("output"), std::string(1000, '\0'));
  EXPECT_FALSE(result.json.at("truncated").as_bool());
  EXPECT_THAT(result.limits_hit(), IsEmpty());
}

TEST_P(Output, PastTheHardLimitEverythingIsKilled) {
  const CellResult result(
      cell({"--json", "--max-output-hard", "1MB", "--timeout", "100s", "--", "yes"}));
  EXPECT_TRUE(killed_for(result, "output"));
  EXPECT_THAT(result.usage("output_bytes"), AllOf(Ge(1'000'000), Le(1'500'000)));

  const Ran ran = cell({"--max-output-hard", "1MB", "--timeout", "100s", "--", "yes"});
  EXPECT_EQ(ran.exit_code, 137);
  EXPECT_LE(ran.out.size(), 1'000'000u);
  EXPECT_THAT(ran.err, HasSubstr("more than 1MB of output"));
}

// It has ended before anybody has looked at what it wrote.
TEST_P(Output, PastTheHardLimitIsNoExcuseForAnyoneWhoWasQuick) {
  const auto write = [](const char* bytes) {
    return CellResult(cell({"--json", "--max-output", "1kB", "--max-output-hard", "10kB", "--",
                            "head", "-c", bytes, "/dev/zero"}));
  };
  EXPECT_TRUE(killed_for(write("20000"), "output"));
  EXPECT_EQ(write("10000").exit_code, 0) << "the twin";
}

TEST_P(Output, BothStreamsCountTogetherAgainstTheHardLimit) {
  const auto flood = [](const char* hard_limit) {
    std::vector<std::string> args = probe_grant();
    for (const char* word : {"--json", "--max-output-hard", hard_limit, "--", "sh", "-c"})
      args.emplace_back(word);
    args.push_back(probe_inside() + " flood stdout 600000; " + probe_inside() +
                   " flood stderr 600000; sleep 1");
    return CellResult(run_cell(GetParam(), args));
  };
  EXPECT_TRUE(killed_for(flood("1MB"), "output"));
  EXPECT_EQ(flood("2MB").exit_code, 0) << "the twin";
}

TEST(OutputOutside, NothingEndsAFloodOutsideACell) {
  EXPECT_EQ(probe_outside({"flood", "stdout", "20000000"}).out.size(), 20'000'000u);
}

// A cell that writes `bytes` of output, of which the supervisor may keep `kept` for the result.
LiveProcess start_flood(As as, const std::string& bytes, const std::string& kept) {
  std::vector<std::string> args = probe_grant();
  for (const char* word : {"--json", "--max-output-hard", "3GB", "--timeout", "100s", "--cpu",
                           "100s", "--max-output", kept.c_str(), "--"})
    args.emplace_back(word);
  args.push_back(probe_inside());
  args.insert(args.end(), {"flood", "stdout", bytes});
  return start_cell(as, args);
}

// The most memory that the supervisor had by the end of its cell. It then waits for us to read the
// result, which is longer than a pipe holds.
std::int64_t peak_memory_of(const LiveProcess& supervisor) {
  EXPECT_TRUE(eventually([&] { return !descendants_of(supervisor.pid()).empty(); }));
  // For a while: before the cell there are shorter-lived ones.
  const auto childless = [&] { return descendants_of(supervisor.pid()).empty(); };
  EXPECT_TRUE(eventually(
      [&] {
        if (!childless()) return false;
        std::this_thread::sleep_for(500ms);
        return childless();
      },
      120s));
  EXPECT_TRUE(supervisor.alive());
  return std::atoll(status_of(supervisor.pid(), "VmHWM").c_str()) * 1024;
}

TEST_P(Output, OfTwoGigabytesCostsTheSupervisorLittleMemory) {
  LiveProcess bounded = start_flood(GetParam(), "2000000000", "100kB");
  EXPECT_LT(peak_memory_of(bounded), 30 << 20);
  EXPECT_TRUE(bounded.says("\"output_bytes\":2000000000"));
  EXPECT_EQ(bounded.wait(), 0);
  const LiveProcess hoarder = start_flood(GetParam(), "60000000", "100MB");
  EXPECT_GT(peak_memory_of(hoarder), 60'000'000) << "the twin, which may keep it all";
}

// ---- Readers

TEST_P(Output, WithoutAReaderEndsTheCell) {
  const std::string word = unique_word();
  const std::string script = "\"$0\" run --timeout 100s -- yes " + word + " | head -1";
  const Ran ran =
      run({"bash", "-o", "pipefail", "-c", script, sallyport_path()}, RunOptions{.as = GetParam()});
  EXPECT_EQ(ran.out, word + "\n");
  EXPECT_EQ(ran.exit_code, 130);
  EXPECT_LT(ran.took, 30s);
  EXPECT_THAT(processes_with(word), IsEmpty());
}

TEST_P(Output, ThatNobodyReadsDoesNotDelayTheEnd) {
  LiveProcess cell(
      {"sh", "-c", "exec \"$0\" run --timeout 500ms -- yes 2>/dev/null", sallyport_path()},
      GetParam());
  ASSERT_TRUE(eventually([&] { return !descendants_of(cell.pid()).empty(); }));
  EXPECT_TRUE(eventually([&] { return descendants_of(cell.pid()).empty(); }, 20s))
      << "the cell outlived its timeout";
  // What is left to say waits for the reader, as with any program, and can be interrupted.
  EXPECT_TRUE(cell.alive());
  cell.signal(SIGTERM);
  EXPECT_EQ(cell.wait(), 124);
}

// A terminal calls itself writable when it has room for a single byte.
TEST_P(Output, ThatATerminalDoesNotTakeDoesNotDelayTheEnd) {
  const Fd terminal(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(terminal && ::grantpt(terminal.get()) == 0 && ::unlockpt(terminal.get()) == 0);
  const Fd theirs(::ioctl(terminal.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(theirs);
  ASSERT_EQ(::fchown(theirs.get(), GetParam() == As::user ? kUserUid : 0, 0), 0);
  LiveProcess cell =
      start_cell(GetParam(), {"--timeout", "500ms", "--", "yes", "a line of text"}, theirs.get());
  ASSERT_TRUE(eventually([&] { return !descendants_of(cell.pid()).empty(); }));
  EXPECT_TRUE(eventually([&] { return descendants_of(cell.pid()).empty(); }, 20s))
      << "the cell outlived its timeout";
}

// ---- Input

TEST_P(Output, IsOfNothingWhenNoInputIsPassedOn) {
  const Ran ran = cell({"--", "wc", "-c"}, "text that stays outside");
  EXPECT_EQ(ran.out, "0\n");
}

TEST_P(Output, OfACommandThatDoesNotReadItsInputComesAtOnce) {
  const std::string much = binary(3'000'000);
  const Ran some = cell({"--stdin", "--", "head", "-c", "10"}, much);
  EXPECT_EQ(some.exit_code, 0) << some.err;
  EXPECT_EQ(some.out, much.substr(0, 10));
  const Ran none = cell({"--stdin", "--", "true"}, much);
  EXPECT_EQ(none.exit_code, 0) << none.err;
  const Ran closed = cell({"--stdin", "--", "sh", "-c", "exec <&-; sleep 0.3; echo done"}, much);
  EXPECT_EQ(closed.out, "done\n");
}

TEST_P(Output, DoesNotWaitForInputThatNeverEnds) {
  // A pipe whose reader also holds a writing end.
  const Ran ran = run(
      {"bash", "-c", "exec 3<> <(:); exec \"$0\" run --stdin -- echo done <&3", sallyport_path()},
      RunOptions{.as = GetParam()});
  EXPECT_EQ(ran.out, "done\n") << ran.err;
  EXPECT_LT(ran.took, 30s);
}

TEST_P(Output, OfAnEmptyInputIsEmpty) {
  const Ran ran = cell({"--stdin", "--", "cat"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, "");
}

// ---- Where the result goes

TEST_P(Output, WithJsonIsTheResultAlone) {
  const Ran ran = cell({"--json", "--", "sh", "-c", "echo out; echo err >&2"});
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, AllOf(StartsWith("{"), EndsWith("}\n")));
  EXPECT_EQ(CellResult(ran).text("error"), "err\n");
}

TEST_P(Output, StreamsBesideAResultFile) {
  TempDir directory(GetParam());
  const std::string file = directory / "result";
  Ran ran = cell({"--result-file", file, "--", "sh", "-c", "echo out; echo err >&2; exit 5"});
  EXPECT_EQ(ran.exit_code, 5);
  EXPECT_EQ(ran.out, "out\n");
  EXPECT_EQ(ran.err, "err\n");
  ran.out = read_file(file);
  const CellResult result(ran);
  EXPECT_EQ(result.text("output"), "out\n");
  EXPECT_EQ(result.text("error"), "err\n");
  EXPECT_EQ(result.json.at("exit_code"), 5);
}

SALLYPORT_FOR_ROOT_AND_USER(Output);

}  // namespace
}  // namespace sallyport::test
