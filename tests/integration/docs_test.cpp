// The documentation is held to: the README's examples run as they stand there, and every test that
// is named exists.
#include <algorithm>
#include <filesystem>
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

// The examples of one document follow each other in one directory.
void expect_true_examples(const char* path, std::size_t at_least) {
  const std::vector<Example> examples = read_examples(read_file(path));
  ASSERT_GE(examples.size(), at_least);
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

TEST(Readme, ShowsWhatItsExamplesPrint) {
  expect_true_examples(SALLYPORT_SOURCE_DIR "/README.md", 8);
}

TEST(Readme, OfCallsShowsWhatItsExamplesPrint) {
  expect_true_examples(SALLYPORT_SOURCE_DIR "/docs/call.md", 2);
}

// `Suite.Name` in backticks, as the documents cite tests.
std::vector<std::string> cited_tests(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream pieces(text);
  bool inside = false;
  for (std::string piece; std::getline(pieces, piece, '`'); inside = !inside) {
    const std::size_t dot = piece.find('.');
    const bool plain =
        std::ranges::all_of(piece, [](char c) { return std::isalnum(c) != 0 || c == '.'; });
    if (inside && plain && dot != std::string::npos && std::isupper(piece[0]) != 0 &&
        std::isupper(piece[dot + 1]) != 0)
      names.push_back(piece);
  }
  return names;
}

TEST(Documents, CiteTestsThatExist) {
  std::string sources;
  for (const char* folder : {"/src", "/tests"})
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::string(SALLYPORT_SOURCE_DIR) + folder))
      if (entry.path().string().ends_with("_test.cpp")) sources += read_file(entry.path());
  int cited = 0;
  for (const char* document : {"/docs/promises.md", "/docs/threat-model.md"})
    for (const std::string& name :
         cited_tests(read_file(std::string(SALLYPORT_SOURCE_DIR) + document))) {
      const std::size_t dot = name.find('.');
      const std::string definition = "(" + name.substr(0, dot) + ", " + name.substr(dot + 1) + ")";
      EXPECT_NE(sources.find(definition), std::string::npos) << document << " cites " << name;
      ++cited;
    }
  EXPECT_GT(cited, 50);
}

}  // namespace
}  // namespace sallyport::test
