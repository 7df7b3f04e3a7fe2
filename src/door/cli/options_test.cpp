#include "door/cli/options.h"

#include <gtest/gtest.h>

#include <sstream>

namespace sallyport {
namespace {

using Words = std::vector<const char*>;

void expect_refused(const Words& words, std::string_view message, std::string_view hint) {
  std::string line;
  for (const char* word : words)
    line.append(word).append(" ");
  SCOPED_TRACE(line);
  const auto result = parse_run(words);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().reason, Reason::argument);
  EXPECT_NE(result.error().message.find(message), std::string::npos) << result.error().message;
  EXPECT_NE(result.error().hint.find(hint), std::string::npos) << result.error().hint;
}

RunRequest parsed(const Words& words) {
  auto result = parse_run(words);
  if (!result) {
    ADD_FAILURE() << result.error().message;
    return {};
  }
  return std::move(*result);
}

TEST(RunOptions, ACommandAloneGetsTheDefaultsOfAShell) {
  const RunRequest request = parsed({"true"});
  EXPECT_EQ(request.spec.command, std::vector<std::string>{"true"});
  EXPECT_EQ(request.spec.cwd, "/workspace");
  EXPECT_EQ(request.spec.hostname, "sallyport");
  EXPECT_EQ(request.spec.syscalls, "default");
  EXPECT_EQ(request.spec.root, "");
  EXPECT_EQ(request.spec.write_mode, WriteMode::direct);
  EXPECT_FALSE(request.spec.use_stdin);
  EXPECT_EQ(to_text(request.spec.limits.timeout), "10s");
  EXPECT_EQ(to_text(request.spec.limits.max_output), "10MB");
  EXPECT_EQ(to_text(request.spec.limits.max_output_hard), "100MB");
  EXPECT_TRUE(request.spec.environment.empty());
  EXPECT_TRUE(request.spec.grants.empty());
  EXPECT_FALSE(request.json || request.timings || request.verbose || request.help);
  EXPECT_FALSE(request.result_file.has_value());
}

TEST(RunOptions, EveryOptionReachesItsField) {
  const RunRequest request = parsed({"--read",
                                     "/data",
                                     "--read=/models:/m",
                                     "--write",
                                     ".:/workspace",
                                     "--write-mode",
                                     "copy",
                                     "--in",
                                     "dir/a.csv",
                                     "--in",
                                     "b.csv:in/c.csv",
                                     "--out",
                                     "*.png",
                                     "--out=plots/**",
                                     "--root",
                                     "rootfs",
                                     "--cwd",
                                     "/workspace/src/",
                                     "--env",
                                     "A=1",
                                     "--env",
                                     "_B2==x=",
                                     "--env",
                                     "EMPTY=",
                                     "--stdin",
                                     "--timeout",
                                     "1.5s",
                                     "--cpu",
                                     "2s",
                                     "--cpus",
                                     "0.5",
                                     "--memory",
                                     "1GiB",
                                     "--processes",
                                     "32768",
                                     "--open-files",
                                     "1024",
                                     "--disk",
                                     "1MB",
                                     "--inodes",
                                     "99",
                                     "--file-size",
                                     "5kB",
                                     "--max-output",
                                     "0B",
                                     "--max-output-hard",
                                     "1MB",
                                     "--io",
                                     "20MB/s",
                                     "--syscalls",
                                     "strict-2",
                                     "--hostname",
                                     "Box-1",
                                     "--json",
                                     "--result-file",
                                     "r.json",
                                     "--require",
                                     "cgroup",
                                     "--require",
                                     "landlock:3",
                                     "--timings",
                                     "--verbose",
                                     "--",
                                     "ls",
                                     "--json",
                                     "--"});
  const CellSpec& spec = request.spec;
  EXPECT_EQ(spec.command, (std::vector<std::string>{"ls", "--json", "--"}));

  ASSERT_EQ(spec.grants.size(), 3u);
  EXPECT_EQ(spec.grants[0].host, "/data");
  EXPECT_EQ(spec.grants[0].inside, "");
  EXPECT_FALSE(spec.grants[0].write);
  EXPECT_EQ(spec.grants[1].host, "/models");
  EXPECT_EQ(spec.grants[1].inside, "/m");
  EXPECT_FALSE(spec.grants[1].write);
  EXPECT_EQ(spec.grants[2].host, ".");
  EXPECT_EQ(spec.grants[2].inside, "/workspace");
  EXPECT_TRUE(spec.grants[2].write);
  EXPECT_EQ(spec.write_mode, WriteMode::copy);

  ASSERT_EQ(spec.inputs.size(), 2u);
  EXPECT_EQ(spec.inputs[0].host, "dir/a.csv");
  EXPECT_EQ(spec.inputs[0].name, "a.csv");
  EXPECT_EQ(spec.inputs[1].host, "b.csv");
  EXPECT_EQ(spec.inputs[1].name, "in/c.csv");
  EXPECT_EQ(spec.outputs, (std::vector<std::string>{"*.png", "plots/**"}));
  EXPECT_EQ(spec.root, "rootfs");
  EXPECT_EQ(spec.cwd, "/workspace/src");
  const std::vector<std::pair<std::string, std::string>> environment = {
      {"A", "1"}, {"_B2", "=x="}, {"EMPTY", ""}};
  EXPECT_EQ(spec.environment, environment);
  EXPECT_TRUE(spec.use_stdin);

  EXPECT_EQ(to_text(spec.limits.timeout), "1.5s");
  EXPECT_EQ(to_text(spec.limits.cpu), "2s");
  EXPECT_EQ(spec.limits.cpus, 0.5);
  EXPECT_EQ(to_text(spec.limits.memory), "1GiB");
  EXPECT_EQ(spec.limits.processes, 32'768u);
  EXPECT_EQ(spec.limits.open_files, 1024u);
  EXPECT_EQ(to_text(spec.limits.disk), "1MB");
  EXPECT_EQ(spec.limits.inodes, 99u);
  EXPECT_EQ(to_text(spec.limits.file_size), "5kB");
  EXPECT_EQ(to_text(spec.limits.max_output), "0B");
  EXPECT_EQ(to_text(spec.limits.max_output_hard), "1MB");
  ASSERT_TRUE(spec.limits.io.has_value());
  EXPECT_EQ(to_text(*spec.limits.io), "20MB/s");

  EXPECT_EQ(spec.syscalls, "strict-2");
  EXPECT_EQ(spec.hostname, "Box-1");
  EXPECT_TRUE(request.json);
  EXPECT_EQ(request.result_file, "r.json");
  ASSERT_EQ(spec.requirements.size(), 2u);
  EXPECT_EQ(spec.requirements[0].layer, "cgroup");
  EXPECT_EQ(spec.requirements[1].layer, "landlock");
  EXPECT_EQ(spec.requirements[1].level, 3u);
  EXPECT_TRUE(request.timings);
  EXPECT_TRUE(request.verbose);
}

TEST(RunOptions, OptionsEndAtTheFirstWordThatIsNone) {
  const RunRequest request = parsed({"--json", "ls", "--json", "--nonsense"});
  EXPECT_TRUE(request.json);
  EXPECT_EQ(request.spec.command, (std::vector<std::string>{"ls", "--json", "--nonsense"}));
  EXPECT_EQ(parsed({"--", "-strange"}).spec.command, std::vector<std::string>{"-strange"});
}

TEST(RunOptions, HelpNeedsNoCommand) {
  EXPECT_TRUE(parsed({"--help"}).help);
  EXPECT_TRUE(parsed({"-h"}).help);
  EXPECT_TRUE(parsed({"--json", "--help", "--nonsense"}).help);
  EXPECT_FALSE(parsed({"ls", "--help"}).help);
}

TEST(RunOptions, AColonDividesAGrantOnlyBeforeASlash) {
  struct Row {
    const char *text, *host, *inside;
  };
  const Row rows[] = {
      {"a:b", "a:b", ""},      {"a:b:/c", "a:b", "/c"},      {"/a:/b:/c", "/a:/b", "/c"},
      {"/a::/c", "/a:", "/c"}, {"/a/b:c/d", "/a/b:c/d", ""}, {"/a:/data/", "/a", "/data"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.text);
    const RunRequest request = parsed({"--read", row.text, "true"});
    ASSERT_EQ(request.spec.grants.size(), 1u);
    EXPECT_EQ(request.spec.grants[0].host, row.host);
    EXPECT_EQ(request.spec.grants[0].inside, row.inside);
  }
}

TEST(RunOptions, AWrongOptionIsAnsweredWithTheRightOne) {
  expect_refused({"--timeuot", "5s", "ls"}, "unknown option '--timeuot'",
                 "did you mean --timeout?");
  expect_refused({"--mem=1GiB", "ls"}, "unknown option '--mem'", "did you mean --memory?");
  expect_refused({"-json", "ls"}, "unknown option '-json'", "did you mean --json?");
  expect_refused({"---json", "ls"}, "unknown option '---json'", "did you mean --json?");
  expect_refused({"--zzzzzz", "ls"}, "unknown option '--zzzzzz'", "--help lists all options");
  expect_refused({"-", "ls"}, "unknown option '-'", "--help");
  expect_refused({"--=x", "ls"}, "unknown option '--'", "--help");
  expect_refused({"--\x1b[2J", "ls"}, "unknown option '--\\x1b[2J'", "--help");
}

TEST(RunOptions, AValueIsThereWhereItBelongsAndNowhereElse) {
  expect_refused({"--memory"}, "--memory needs a value", "write --memory SIZE");
  expect_refused({"--memory="}, "--memory needs a value", "write --memory SIZE");
  expect_refused({"--root", "", "ls"}, "--root needs a value", "write --root DIR");
  expect_refused({"--read", "--json", "ls"}, "--read needs a value", "write --read PATH[:INSIDE]");
  expect_refused({"--timeout", "--", "ls"}, "--timeout needs a value", "write --timeout TIME");
  expect_refused({"--json=yes", "ls"}, "--json takes no value", "write --json alone");
  EXPECT_EQ(parsed({"--root=--odd", "ls"}).spec.root, "--odd");
}

TEST(RunOptions, WhatHasOneValueIsGivenOnce) {
  expect_refused({"--timeout", "5s", "--timeout=6s", "ls"}, "--timeout is given more than once",
                 "give it once");
  expect_refused({"--json", "--json", "ls"}, "--json is given more than once", "give it once");
  expect_refused({"--env", "A=1", "--env", "A=2", "ls"}, "--env: 'A' is given more than once",
                 "each variable once");
  expect_refused({"--in", "a/x", "--in", "b/x", "ls"},
                 "--in: two files would both be '/workspace/x'", "FILE:NAME");
}

TEST(RunOptions, ACommandIsNeeded) {
  expect_refused({}, "no command was given", "sallyport run [OPTIONS] -- COMMAND");
  expect_refused({"--json"}, "no command was given", "COMMAND");
  expect_refused({"--json", "--"}, "no command was given", "COMMAND");
  expect_refused({""}, "the command is an empty word", "name of a program");
  expect_refused({"--", ""}, "the command is an empty word", "name of a program");
}

TEST(RunOptions, ARefusedValueNamesItsOption) {
  struct Row {
    const char *option, *value, *message, *hint;
  };
  const Row rows[] = {
      {"--memory", "256M", "--memory: '256M' has an unknown unit",
       "write 256MB (decimal) or 256MiB"},
      {"--memory", "1023KiB", "--memory: '1023KiB' is too small", "the least is 1MiB"},
      {"--timeout", "10", "--timeout: '10' has no unit", "such as 10s"},
      {"--timeout", "-5s", "--timeout: '-5s' is negative", "such as 10s"},
      {"--timeout", "0s", "--timeout: '0s' is too small", "the least is 1ms"},
      {"--cpu", "0.5ms", "--cpu: '0.5ms' is too small", "the least is 1ms"},
      {"--cpu", "1e3s", "--cpu: '1e3s' has an exponent", "in full"},
      {"--cpus", "0", "--cpus: '0' is not a number of CPUs", "from 0.01 to 1024"},
      {"--cpus", "0.009", "--cpus: '0.009' is not a number of CPUs", "from 0.01 to 1024"},
      {"--cpus", "1024.5", "--cpus: '1024.5' is not a number of CPUs", "from 0.01 to 1024"},
      {"--cpus", "-1", "--cpus: '-1' is not", "such as 0.5 or 2"},
      {"--cpus", "nan", "--cpus: 'nan' is not", "such as 0.5 or 2"},
      {"--cpus", "inf", "--cpus: 'inf' is not", "such as 0.5 or 2"},
      {"--cpus", "1e2", "--cpus: '1e2' is not", "such as 0.5 or 2"},
      {"--cpus", "0x1", "--cpus: '0x1' is not", "such as 0.5 or 2"},
      {"--cpus", "1.2.3", "--cpus: '1.2.3' is not", "such as 0.5 or 2"},
      {"--cpus", ".5", "--cpus: '.5' is not", "such as 0.5 or 2"},
      {"--processes", "0", "--processes: '0' is out of range", "from 1 to 32768"},
      {"--processes", "32769", "--processes: '32769' is out of range", "from 1 to 32768"},
      {"--processes", "99999999999", "--processes: '99999999999' is out of range", "to 32768"},
      {"--processes", "many", "--processes: 'many' is not a whole number", "from 1 to 32768"},
      {"--processes", "-1", "--processes: '-1' is not a whole number", "from 1 to 32768"},
      {"--processes", "1.5", "--processes: '1.5' is not a whole number", "from 1 to 32768"},
      {"--open-files", "7", "--open-files: '7' is out of range", "from 8 to 1048576"},
      {"--disk", "0B", "--disk: '0B' is too small", "the least is 4KiB"},
      {"--inodes", "0", "--inodes: '0' is out of range", "from 1 to"},
      {"--file-size", "0B", "--file-size: '0B' is too small", "the least is 1B"},
      {"--max-output", "2GB", "--max-output: '2GB' is too large", "the most is 1GB"},
      {"--max-output-hard", "0B", "--max-output-hard: '0B' is too small", "the least is 1B"},
      {"--io", "20MB", "--io: '20MB' does not end in /s", "write 20MB/s"},
      {"--io", "0B/s", "--io: '0B/s' is too small", "the least is 1B/s"},
      {"--read", "/a:/b/../c", "--read: '/b/../c' contains '..'", "in full"},
      {"--read", "/a:/./c", "--read: '/./c' contains '.'", "in full"},
      {"--read", "/a://c", "--read: '//c' contains '//'", "one '/'"},
      {"--read", "/a:/", "--read: nothing can be placed at '/'", "PATH:/data"},
      {"--read", "/a:/etc", "--read: nothing can be placed at '/etc'", "PATH:/data"},
      {"--write", "/a:/proc/self", "--write: nothing can be placed at '/proc/self'", "PATH:/data"},
      {"--read", "/a:", "--read: '/a:' ends in ':'", "PATH:/INSIDE"},
      {"--read", ":/b", "--read: ':/b' has no PATH before the ':'", "PATH:/INSIDE"},
      {"--write-mode", "overlay", "--write-mode: 'overlay' is not a write mode",
       "'direct' or 'copy'"},
      {"--in", "a:/b", "--in: '/b' begins with '/'", "below /workspace"},
      {"--in", "a:b/../c", "--in: 'b/../c' contains '..'", "below /workspace"},
      {"--in", "a:b//c", "--in: 'b//c' has an empty component", "below /workspace"},
      {"--in", "a:", "--in: NAME is empty", "below /workspace"},
      {"--in", ":b", "--in: ':b' has no FILE", "FILE:NAME"},
      {"--in", "dir/", "--in: 'dir/' does not name a file", "FILE:NAME"},
      {"--in", "..", "--in: '..' does not name a file", "FILE:NAME"},
      {"--out", "/etc/*", "--out: the glob '/etc/*' begins with '/'", "relative"},
      {"--out", "[a", "--out: the glob '[a' has a '[' without its ']'", "\\["},
      {"--cwd", "src", "--cwd: 'src' is not an absolute path", "begins with '/'"},
      {"--cwd", "/a/..", "--cwd: '/a/..' contains '..'", "in full"},
      {"--env", "HOME", "--env: 'HOME' has no '='", "KEY=VALUE"},
      {"--env", "=x", "--env: '' is not a name for a variable", "letters, digits and '_'"},
      {"--env", "1A=x", "--env: '1A' is not a name for a variable", "does not begin with a digit"},
      {"--env", "A-B=x", "--env: 'A-B' is not a name for a variable", "letters, digits"},
      {"--env", "\u00c4=x", "is not a name for a variable", "letters, digits"},
      {"--hostname", "a.b", "--hostname: 'a.b' is not a host name", "1 to 63 letters"},
      {"--hostname", "-a", "--hostname: '-a' is not a host name", "no '-' at either end"},
      {"--hostname", "a-", "--hostname: 'a-' is not a host name", "no '-' at either end"},
      {"--hostname", "a_b", "--hostname: 'a_b' is not a host name", "letters, digits"},
      {"--syscalls", "../x", "--syscalls: '../x' is not a profile name", "'default'"},
      {"--require", "landlok", "--require: 'landlok' is not a layer", "did you mean landlock?"},
      {"--require", "net:2", "--require: the layer net has no levels", "write net"},
  };
  for (const Row& row : rows)
    expect_refused({row.option, row.value, "ls"}, row.message, row.hint);

  const std::string label(63, 'a');
  EXPECT_EQ(parsed({"--hostname", label.c_str(), "ls"}).spec.hostname, label);
  expect_refused({"--hostname", (label + "a").c_str(), "ls"}, "is not a host name", "1 to 63");
}

TEST(RunOptions, TheOutputLimitsAgreeWithEachOther) {
  expect_refused({"--max-output", "200MB", "ls"},
                 "--max-output 200MB is more than --max-output-hard 100MB",
                 "raise --max-output-hard too");
  const RunRequest lowered = parsed({"--max-output-hard", "1MB", "ls"});
  EXPECT_EQ(to_text(lowered.spec.limits.max_output), "1MB");
  const RunRequest raised = parsed({"--max-output", "200MB", "--max-output-hard", "1GB", "ls"});
  EXPECT_EQ(to_text(raised.spec.limits.max_output), "200MB");
}

TEST(RunOptions, HelpShowsEveryOptionLayerExitCodeAndDefaultInHundredColumns) {
  const std::string help = help_text();
  for (const char* part : {"Files\n",
                           "Limits\n",
                           "Isolation\n",
                           "Output\n",
                           "Units\n",
                           "Exit codes\n",
                           "Examples\n",
                           "--read PATH[:INSIDE]",
                           "--write PATH[:INSIDE]",
                           "--write-mode direct|copy",
                           "--in FILE[:NAME]",
                           "--out GLOB",
                           "--root DIR",
                           "--cwd DIR",
                           "--env KEY=VALUE",
                           "--stdin",
                           "--timeout TIME",
                           "--cpu TIME",
                           "--cpus NUMBER",
                           "--memory SIZE",
                           "--processes COUNT",
                           "--open-files COUNT",
                           "--disk SIZE",
                           "--inodes COUNT",
                           "--file-size SIZE",
                           "--max-output SIZE",
                           "--max-output-hard SIZE",
                           "--io RATE",
                           "--syscalls PROFILE",
                           "--hostname NAME",
                           "--json",
                           "--result-file FILE",
                           "--require LAYER",
                           "--timings",
                           "--verbose",
                           "--help",
                           "  124 ",
                           "  125 ",
                           "  126 ",
                           "  127 ",
                           "  137 ",
                           "[10s]",
                           "[256MiB]",
                           "[64]",
                           "[1]",
                           "[10MB]",
                           "[100MB]",
                           "[/workspace]"})
    EXPECT_NE(help.find(part), std::string::npos) << part;
  for (const LayerText& layer : kLayers)
    EXPECT_NE(help.find(layer.name), std::string::npos) << layer.name;

  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), 100u) << line;
}

TEST(RunOptions, AServiceIsAskedForTheLimitsThatWereGiven) {
  const Words words = {
      "--via", "/run/sock", "--tool", "shell",        "--timeout", "2s", "--max-output",
      "5kB",   "--io",      "20MB/s", "--open-files", "9",         "ls"};
  const auto request = parse_run(words);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->via, "/run/sock");
  EXPECT_EQ(request->tool, "shell");
  const std::map<std::string, std::string> limits = {
      {"timeout", "2s"}, {"max_output", "5kB"}, {"io", "20MB/s"}, {"open_files", "9"}};
  EXPECT_EQ(request->asked_limits, limits);
  EXPECT_TRUE(parse_run(Words{"--timeout", "2s", "ls"})->asked_limits.empty());
}

TEST(RunOptions, WhatAServiceWouldLeaveOutIsRefused) {
  for (const char* option : {"--write-mode=copy", "--root=/a", "--cwd=/tmp", "--net=a.example",
                             "--requests=3", "--env=A=b", "--hostname=h", "--syscalls=build",
                             "--require=net", "--ahead=cell", "--timings", "--verbose"}) {
    const auto request = parse_run(Words{"--via", "/run/sock", option, "ls"});
    ASSERT_FALSE(request) << option;
    EXPECT_NE(request.error().message.find("--via"), std::string::npos) << option;
  }
  EXPECT_FALSE(parse_run(Words{"--tool", "shell", "ls"}));
  // Its launcher is shown these.
  EXPECT_EQ(parse_run(Words{"--via", "/run/sock", "--read=/a", "--write=/b:/c", "ls"})
                ->spec.grants.size(),
            2U);
}

// The examples in the help are the first thing that people copy.
TEST(RunOptions, TheExamplesInTheHelpAreRead) {
  const std::string help = help_text();
  const std::string_view start = "    sallyport run ";
  int count = 0;
  for (std::size_t at = help.find(start); at != std::string::npos; at = help.find(start, at + 1)) {
    std::istringstream line(
        help.substr(at + start.size(), help.find('\n', at) - at - start.size()));
    std::vector<std::string> words;
    for (std::string word; line >> word;) {
      std::erase(word, '\'');
      words.push_back(word);
    }
    Words pointers;
    for (const std::string& word : words)
      pointers.push_back(word.c_str());
    const auto result = parse_run(pointers);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    ++count;
  }
  EXPECT_EQ(count, 5);
}

}  // namespace
}  // namespace sallyport
