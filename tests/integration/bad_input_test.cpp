// A request that is wrong: a clear error on standard error, exit code 125, and nothing done.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "support/live_process.h"

namespace sallyport::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct BadInput {
  std::vector<std::string> options;
  const char* error;  // that must be on standard error
};

// Wrong in themselves, on any machine.
const BadInput kBadOptions[] = {
    {{"--memroy", "1MiB"}, "did you mean --memory?"},
    {{"--jsno"}, "did you mean --json?"},
    {{"--no-such-option-at-all"}, "unknown option '--no-such-option-at-all'"},
    {{"-x"}, "unknown option"},
    {{"--=value"}, "unknown option"},
    {{"--json=yes"}, "--json takes no value"},
    {{"--timeout", "1s", "--timeout", "2s"}, "--timeout is given more than once"},
    {{"--memory="}, "--memory needs a value"},

    {{"--memory", "256"}, "--memory: '256'"},
    {{"--memory", "256M"}, "--memory: '256M'"},
    {{"--memory", "256 parsec"}, "--memory: '256 parsec'"},
    {{"--memory", "-1MiB"}, "--memory: '-1MiB'"},
    {{"--memory", "1KiB"}, "is too small"},
    {{"--memory", "99999999999999999999GB"}, "--memory: "},
    {{"--memory", "0x10MiB"}, "--memory: "},
    {{"--memory", "nanMiB"}, "--memory: "},
    {{"--timeout", "10"}, "--timeout: '10'"},
    {{"--timeout", "0s"}, "is too small"},
    {{"--timeout", "-5s"}, "--timeout: "},
    {{"--timeout", "10 fortnights"}, "--timeout: "},
    {{"--cpu", "1e9s"}, "--cpu: "},
    {{"--cpus", "0"}, "--cpus: "},
    {{"--cpus", "nan"}, "--cpus: "},
    {{"--cpus", "inf"}, "--cpus: "},
    {{"--cpus", "-1"}, "--cpus: "},
    {{"--cpus", "1e9"}, "--cpus: "},
    {{"--processes", "0"}, "out of range"},
    {{"--processes", "1.5"}, "is not a whole number"},
    {{"--processes", "4294967297"}, "out of range"},
    {{"--open-files", "1"}, "out of range"},
    {{"--disk", "1B"}, "is too small"},
    {{"--inodes", "-1"}, "--inodes: "},
    {{"--file-size", "0B"}, "is too small"},
    {{"--max-output", "2GB"}, "is too large"},
    {{"--max-output", "20MB", "--max-output-hard", "10MB"}, "is more than --max-output-hard"},
    {{"--io", "20MB"}, "--io: "},

    {{"--write-mode", "sideways"}, "--write-mode: 'sideways'"},
    {{"--read", "/etc:"}, "ends in ':'"},
    {{"--read", ":/etc"}, "has no PATH"},
    {{"--read", "/etc:/proc/etc"}, "the cell has its own /proc"},
    {{"--read", "/etc:/dev"}, "the cell has its own /dev"},
    {{"--read", "/etc:/sys/x"}, "the cell has its own /sys"},
    {{"--read", "/etc:/usr"}, "would hide what programs need"},
    {{"--read", "/etc:/"}, "the cell's own root"},
    {{"--read", "/etc:/a/../b"}, "contains '..'"},
    {{"--in", "/etc/hostname:../up"}, "contains '..'"},
    {{"--in", "/etc/hostname:/up"}, "is relative"},
    {{"--in", "/etc/hostname", "--in", "/etc/hosts:hostname"}, "two files would both be"},
    {{"--out", "["}, "without its ']'"},
    {{"--out", "/etc/*"}, "begins with '/'"},
    {{"--out", "../*"}, "has the component '..'"},
    {{"--cwd", "relative"}, "is not an absolute path"},
    {{"--cwd", "/a//b"}, "contains '//'"},
    {{"--env", "WITHOUT"}, "has no '='"},
    {{"--env", "=value"}, "is not a name"},
    {{"--env", "1A=value"}, "is not a name"},
    {{"--env", "A=1", "--env", "A=2"}, "is given more than once"},
    {{"--read", "/usr/share:/workspace", "--in", "/etc/hostname"}, "a grant lies over it"},
    {{"--read", "/usr/share:/workspace", "--out", "*.txt"}, "a grant lies over it"},
    {{"--hostname", "under_score"}, "is not a host name"},
    {{"--hostname", "-"}, "is not a host name"},
    {{"--syscalls", "../default"}, "is not a profile name"},
    {{"--syscalls", "nosuch"}, "there is no syscall profile"},
    {{"--require", "cgruop"}, "did you mean cgroup?"},
    {{"--require", "landlock:0"}, "is not a level"},
    {{"--require", "pid:2"}, "has no levels"},
    {{"--require", "landlock:99"}, "the layer landlock:99 is required and cannot be had"},

    {{"--read", "/no/such/path"}, "'/no/such/path'"},
    {{"--write", "/no/such/path"}, "'/no/such/path'"},
    {{"--in", "/no/such/file"}, "'/no/such/file'"},
    {{"--in", "/etc"}, "is not a regular file"},
    {{"--read", "/dev/null:/null"}, "is neither a file nor a directory"},
    {{"--root", "/no/such/root"}, "'/no/such/root'"},
    {{"--root", "/etc/hostname"}, "is not a directory"},
    {{"--cwd", "/no/such/place"}, "the working directory '/no/such/place' cannot be used"},
    {{"--cwd", "/etc/hostname"}, "the working directory '/etc/hostname' cannot be used"},
    {{"--result-file", "/no/such/directory/file"}, "/no/such/directory/file"},
};

class BadInputs : public CellTest {
 protected:
  BadInputs() : directory_(GetParam()) {}

  // The command would leave a file, if it ran.
  Ran try_with(std::vector<std::string> options) const {
    options.insert(options.end(), {"--write", directory_.path(), "--", "touch", canary()});
    return run_cell(GetParam(), options);
  }
  [[nodiscard]] std::string canary() const { return directory_ / "canary"; }
  [[nodiscard]] bool ran() const { return std::filesystem::exists(canary()); }

  void expect_refused(const Ran& ran_cell, const std::string& error) const {
    EXPECT_EQ(ran_cell.exit_code, 125) << ran_cell.err;
    EXPECT_EQ(ran_cell.out, "");
    EXPECT_THAT(ran_cell.err, AllOf(StartsWith("sallyport: "), HasSubstr(error)));
    EXPECT_FALSE(ran()) << "the command was run";
  }

  TempDir directory_;
};

TEST_P(BadInputs, AreRefusedWithAClearError) {
  for (const BadInput& bad : kBadOptions) {
    SCOPED_TRACE(testing::PrintToString(bad.options));
    expect_refused(try_with(bad.options), bad.error);
  }
  EXPECT_EQ(try_with({}).exit_code, 0) << "the twin";
  EXPECT_TRUE(ran());
}

TEST_P(BadInputs, AreAlsoWhatIsMissing) {
  const auto sallyport = [](std::vector<std::string> args) {
    args.insert(args.begin(), sallyport_path());
    return run(args, RunOptions{.as = GetParam()});
  };
  expect_refused(sallyport({"run"}), "no command was given");
  expect_refused(sallyport({"run", "--json", "--"}), "no command was given");
  expect_refused(sallyport({"run", "--memory"}), "--memory needs a value");
  expect_refused(sallyport({"run", "--"}), "no command was given");
  expect_refused(sallyport({"run", "--", ""}), "empty");
  expect_refused(sallyport({"rnu", "--", "true"}), "there is no command 'rnu'");
  const Ran nothing = sallyport({});
  EXPECT_EQ(nothing.exit_code, 125);
  EXPECT_EQ(nothing.out, "");
  EXPECT_THAT(nothing.err, HasSubstr("sallyport run"));
}

TEST_P(BadInputs, CannotReachTheTerminalThroughTheErrorMessage) {
  const std::string hostile = "\x1b]0;owned\x07\r\n\x9b\x7f\xe2\x80\xae";
  const auto plain = [](char c) { return c == '\n' || (c >= ' ' && c < '\x7f'); };
  for (const std::string& option :
       {std::string("--memory"), std::string("--read"), std::string("--root"), std::string("--in"),
        std::string("--hostname"), std::string("--require"), std::string("--" + hostile),
        std::string("--cwd")}) {
    const std::string value = option == "--cwd" ? "/" + hostile : hostile;
    const Ran ran_cell = try_with({option, value});
    EXPECT_EQ(ran_cell.exit_code, 125) << option;
    EXPECT_THAT(ran_cell.err, StartsWith("sallyport: ")) << option;
    EXPECT_THAT(std::vector<char>(ran_cell.err.begin(), ran_cell.err.end()),
                Each(testing::Truly(plain)))
        << option;
  }
  EXPECT_FALSE(ran());
  const Ran command = run_cell(GetParam(), {"--", hostile});
  EXPECT_EQ(command.exit_code, 127);
  EXPECT_THAT(std::vector<char>(command.err.begin(), command.err.end()),
              Each(testing::Truly(plain)));
}

TEST_P(BadInputs, OfAnyLengthAreRefused) {
  const std::string endless(100'000, 'x');
  for (const char* option :
       {"--memory", "--read", "--root", "--in", "--hostname", "--require", "--syscalls"})
    EXPECT_EQ(try_with({option, endless}).exit_code, 125) << option;
  EXPECT_EQ(try_with({"--cwd", "/" + endless}).exit_code, 125);
  EXPECT_EQ(try_with({"--read", "/etc:/" + endless}).exit_code, 125);
  EXPECT_FALSE(ran());
  std::string deep;
  for (int i = 0; i < 3000; ++i)
    deep.append("/d");
  EXPECT_EQ(try_with({"--read", "/etc:" + deep}).exit_code, 125);
  EXPECT_FALSE(ran());
}

TEST_P(BadInputs, AreClosedStreams) {
  struct {
    const char* redirection;
    const char* error;
  } constexpr kClosed[] = {{"<&-", "standard input is closed"},
                           {">&-", "standard output is closed"},
                           {"2>&-", ""},
                           {"<&- >&-", "standard input and output is closed"},
                           {"<&- >&- 2>&-", ""}};
  for (const auto& closed : kClosed) {
    const std::string script =
        "\"$0\" run --write \"$1\" -- touch \"$1/canary\" " + std::string(closed.redirection);
    const Ran ran_cell = run({"sh", "-c", script, sallyport_path(), directory_.path()},
                             RunOptions{.as = GetParam()});
    EXPECT_EQ(ran_cell.exit_code, 125) << closed.redirection;
    EXPECT_THAT(ran_cell.err, HasSubstr(closed.error)) << closed.redirection;
    EXPECT_FALSE(ran()) << closed.redirection;
  }
}

TEST_P(BadInputs, StopAtTheCommandWhoseOptionsAreItsOwn) {
  const Ran after = run_cell(GetParam(), {"--", "echo", "--memory", "nonsense", "--json"});
  EXPECT_EQ(after.exit_code, 0);
  EXPECT_EQ(after.out, "--memory nonsense --json\n");
  const Ran without = run_cell(GetParam(), {"echo", "--memory", "nonsense"});
  EXPECT_EQ(without.out, "--memory nonsense\n");
}

TEST_P(BadInputs, IncludeAResultFileThatIsNotOne) {
  TempDir place(GetParam());
  ASSERT_EQ(::mkfifo((place / "fifo").c_str(), 0666), 0);
  for (const std::string& path : {place.path(), place / "fifo"})
    expect_refused(try_with({"--result-file", path}), path);
}

TEST_P(BadInputs, IncludeRequirementsThatOtherOptionsMakeImpossible) {
  expect_refused(try_with({"--require", "disk"}), "the layer disk is required");
  EXPECT_EQ(try_with({"--require", "disk", "--write-mode", "copy"}).exit_code, 0) << "the twin";
}

TEST(BadInputsOfUser, IncludeLayersThatOnlyRootCanHave) {
  const auto cgroup = [](const Ran& ran) {
    return ran.json().at("isolation").at("layers").at("cgroup").as_string();
  };
  const bool delegated = cgroup(run_cell(As::user, {"--json", "--", "true"})) != "none";
  for (const char* layer : {"cgroup", "memory"}) {
    const Ran ran = run_cell(As::user, {"--require", layer, "--", "echo", "ran"});
    EXPECT_EQ(ran.exit_code, delegated ? 0 : 125) << layer;
    EXPECT_EQ(ran.out, delegated ? "ran\n" : "") << layer;
    EXPECT_EQ(run_cell(As::root, {"--require", layer, "--", "true"}).exit_code, 0) << layer;
  }
  const Ran member = run_cell({"--require", "groups", "--", "echo", "ran"},
                              RunOptions{.as = As::user, .groups = {54321}});
  EXPECT_EQ(member.exit_code, 125);
  EXPECT_EQ(member.out, "");
  EXPECT_EQ(run_cell(As::user, {"--require", "groups", "--", "true"}).exit_code, 0) << "the twin";
}

TEST(BadInputsOfUser, IncludeWhatTheUserMayNotRead) {
  TempDir closed;
  ASSERT_EQ(::chmod(closed.path().c_str(), 0700), 0);
  write_file(closed / "secret", "secret");
  for (const std::vector<std::string>& options : {std::vector<std::string>{"--root", closed.path()},
                                                  {"--in", closed / "secret"},
                                                  {"--read", closed / "secret"},
                                                  {"--write", closed.path()},
                                                  {"--write", closed / "secret"}}) {
    std::vector<std::string> args = options;
    args.insert(args.end(), {"--", "echo", "ran"});
    const Ran ran = run_cell(As::user, args);
    EXPECT_EQ(ran.exit_code, 125) << testing::PrintToString(options);
    EXPECT_EQ(ran.out, "") << testing::PrintToString(options);
    EXPECT_THAT(ran.err, HasSubstr(closed.path()));
  }
}

TEST(BadInputsOfRoot, IncludeAnUnusableRangeOfUids) {
  for (const char* range : {"", "0:10", "1000:10", "1879048192:0", "1879048192", "x:y",
                            "4294967295:2", "1879048192:4294967295", "-1:5"}) {
    const Ran ran =
        run_cell({"--", "echo", "ran"},
                 RunOptions{.environment = {std::string("SALLYPORT_UID_RANGE=") + range}});
    EXPECT_EQ(ran.exit_code, 125) << range;
    EXPECT_EQ(ran.out, "") << range;
    EXPECT_THAT(ran.err, HasSubstr("SALLYPORT_UID_RANGE")) << range;
  }
}

SALLYPORT_FOR_ROOT_AND_USER(BadInputs);

}  // namespace
}  // namespace sallyport::test
