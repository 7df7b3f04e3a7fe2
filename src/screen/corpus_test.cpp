// The corpus in tests/screen/corpus: what is found there, what is not, and what a list of regular
// expressions would have made of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <regex.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "screen/screen.h"

namespace sallyport {
namespace {

using Findings = std::set<std::pair<unsigned, std::string>>;  // line, category

struct Snippet {
  std::string name, code;
  Language language = Language::python;
  Findings expected, allowed;  // `allowed`, marked "?", may be found or not
};

// "### name | 1 process, 2 ?os_command" or "### name | clean", and then the code.
std::vector<Snippet> read_corpus(const std::string& file, Language language) {
  std::ifstream in(std::string(SALLYPORT_SOURCE_DIR) + "/tests/screen/corpus/" + file);
  std::vector<Snippet> snippets;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("### ")) {
      if (!snippets.empty()) snippets.back().code.append(line).append("\n");
      continue;
    }
    const std::size_t bar = line.rfind(" | ");
    Snippet snippet{
        .name = file + ": " + line.substr(4, bar - 4), .code = {}, .language = language};
    std::istringstream rest(line.substr(bar + 3));
    for (std::string word; std::getline(rest, word, ',');) {
      std::istringstream parts(word);
      unsigned at = 0;
      std::string category;
      if (!(parts >> at >> category)) continue;
      if (category.starts_with('?'))
        snippet.allowed.emplace(at, category.substr(1));
      else
        snippet.expected.emplace(at, category);
    }
    snippets.push_back(std::move(snippet));
  }
  return snippets;
}

std::vector<Snippet> whole_corpus() {
  std::vector<Snippet> all = read_corpus("python.txt", Language::python);
  for (Snippet& one : read_corpus("javascript.txt", Language::javascript))
    all.push_back(one);
  for (Snippet& one : read_corpus("shell.txt", Language::shell))
    all.push_back(one);
  return all;
}

std::string listed(const Findings& findings) {
  std::string text;
  for (const auto& [line, category] : findings)
    text.append(text.empty() ? "" : ", ").append(std::to_string(line)).append(" ").append(category);
  return text.empty() ? "nothing" : text;
}

// What tutorials screen code with.
class RegexList {
 public:
  RegexList() {
    for (const char* pattern : {"(import|from)[ \t]+subprocess",
                                "subprocess\\.",
                                "os\\.(system|popen|exec|spawn|remove)",
                                "shutil\\.(rmtree|move)",
                                "(import|from)[ \t]+socket",
                                "(import|from)[ \t]+requests",
                                "(import|from)[ \t]+urllib",
                                "__import__[ \t]*\\(",
                                "eval[ \t]*\\(",
                                "exec[ \t]*\\(",
                                "open[ \t]*\\([^)]*['\"][wa]",
                                "/etc/",
                                "/proc/",
                                "/sys/",
                                "pickle\\.loads?",
                                "child_process",
                                "require\\(['\"](fs|net|http|https)['\"]\\)",
                                "fetch[ \t]*\\(",
                                "new[ \t]+Function",
                                "rm[ \t]+-r?f?",
                                "curl[ \t]",
                                "wget[ \t]",
                                "sudo[ \t]",
                                "[ \t](sh|bash)[ \t]+-c",
                                ">[ \t]*[a-z/]"}) {
      patterns_.emplace_back();
      if (::regcomp(&patterns_.back(), pattern, REG_EXTENDED | REG_NOSUB) != 0)
        patterns_.pop_back();
    }
  }
  RegexList(const RegexList&) = delete;
  RegexList& operator=(const RegexList&) = delete;
  ~RegexList() {
    for (regex_t& pattern : patterns_)
      ::regfree(&pattern);
  }
  [[nodiscard]] bool blocks(const std::string& code) const {
    return std::ranges::any_of(patterns_, [&](const regex_t& pattern) {
      return ::regexec(&pattern, code.c_str(), 0, nullptr, 0) == 0;
    });
  }

 private:
  std::vector<regex_t> patterns_;
};

TEST(ScreenCorpus, IsLargeEnoughAndHasLookAlikesInEveryLanguage) {
  std::map<Language, std::pair<int, int>> counts;
  for (const Snippet& snippet : whole_corpus())
    ++(snippet.expected.empty() ? counts[snippet.language].second : counts[snippet.language].first);
  int all = 0;
  for (const Language language : {Language::python, Language::javascript, Language::shell}) {
    EXPECT_GE(counts[language].first, 20);
    EXPECT_GE(counts[language].second, 15);
    all += counts[language].first + counts[language].second;
  }
  EXPECT_GE(all, 150);
}

TEST(ScreenCorpus, IsFoundWithFewMissesAndFewFalseAlarms) {
  double right = 0, wrong = 0, missed = 0;
  for (const Snippet& snippet : whole_corpus()) {
    const auto screening = screen(snippet.code, snippet.language);
    ASSERT_TRUE(screening) << snippet.name;
    EXPECT_FALSE(screening->syntax_error)
        << snippet.name << ": " << screening->syntax_error->message;
    Findings found, good, bad, lacking;
    for (const ScreenFinding& finding : screening->findings)
      if (const std::pair row(finding.line, finding.category); !snippet.allowed.contains(row))
        found.insert(row);
    std::ranges::set_intersection(found, snippet.expected, std::inserter(good, good.end()));
    std::ranges::set_difference(found, snippet.expected, std::inserter(bad, bad.end()));
    std::ranges::set_difference(snippet.expected, found, std::inserter(lacking, lacking.end()));
    right += static_cast<double>(good.size());
    wrong += static_cast<double>(bad.size());
    missed += static_cast<double>(lacking.size());
    if (!bad.empty() || !lacking.empty())
      std::printf("%s\n    missed %s; false alarm %s\n", snippet.name.c_str(),
                  listed(lacking).c_str(), listed(bad).c_str());
  }
  const double precision = right / (right + wrong), recall = right / (right + missed);
  std::printf("precision %.3f, recall %.3f: %.0f findings right, %.0f false alarms, %.0f missed\n",
              precision, recall, right, wrong, missed);
  EXPECT_GE(precision, 0.95);
  EXPECT_GE(recall, 0.95);
}

TEST(ScreenCorpus, IsWhereAListOfRegularExpressionsFails) {
  const RegexList list;
  std::vector<std::string> missed, wrongly_blocked;
  std::size_t dangerous = 0, harmless = 0;
  for (const Snippet& snippet : whole_corpus()) {
    const bool blocks = list.blocks(snippet.code);
    const bool danger = !snippet.expected.empty();
    ++(danger ? dangerous : harmless);
    if (danger && !blocks) missed.push_back(snippet.name);
    if (!danger && blocks) wrongly_blocked.push_back(snippet.name);
  }
  std::printf("A list of regular expressions would have missed %zu of %zu:\n", missed.size(),
              dangerous);
  for (const std::string& name : missed)
    std::printf("    %s\n", name.c_str());
  std::printf("and wrongly blocked %zu of %zu:\n", wrongly_blocked.size(), harmless);
  for (const std::string& name : wrongly_blocked)
    std::printf("    %s\n", name.c_str());
  EXPECT_FALSE(missed.empty());
  EXPECT_FALSE(wrongly_blocked.empty());
}

}  // namespace
}  // namespace sallyport
