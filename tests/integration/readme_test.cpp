// The examples of the README, run as they stand there.
#include <algorithm>
#include <sstream>

#include "support/cell_runner.h"

namespace sallyport::test {
namespace {

struct Example {
  std::string command;
  std::vector<std::string> output;
};

// The commands of the ```console blocks, each with the lines that are shown behind it.
std::vector<Example> read_examples(const std::string& text) {
  std::vector<Example> examples;
  std::istringstream lines(text);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```"))
      inside = line == "```console";
    else if (inside && line.starts_with("$ "))
      examples.push_back({line.substr(2), {}});
    else if (inside && !examples.empty())
      examples.back().output.push_back(line);
  }
  return examples;
}

// The two streams of a cell come in no fixed order, and each call has a number of its own.
std::vector<std::string> comparable(std::vector<std::string> lines) {
  std::erase_if(
      lines, [](const std::string& line) { return line.find("\"call_id\"") != std::string::npos; });
  std::ranges::sort(lines);
  return lines;
}

TEST(Readme, ShowsWhatItsExamplesPrint) {
  const std::vector<Example> examples = read_examples(read_file(SALLYPORT_SOURCE_DIR "/README.md"));
  ASSERT_GE(examples.size(), 8U);
  const TempDir directory;
  const std::string programs = sallyport_path().substr(0, sallyport_path().rfind('/'));
  for (const Example& example : examples) {
    const Ran ran = run({"bash", "-c", "PATH=" + programs + ":$PATH; " + example.command + " 2>&1"},
                        RunOptions{.cwd = directory.path()});
    std::vector<std::string> shown;
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);)
      shown.push_back(line);
    EXPECT_EQ(comparable(shown), comparable(example.output)) << "$ " << example.command << "\n"
                                                             << ran.out;
  }
}

}  // namespace
}  // namespace sallyport::test
