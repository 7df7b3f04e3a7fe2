// How fast code is screened: ordinary code in each language on one core, in CPU time, with what
// tree-sitter's own parse of it takes; on all cores at once, as `sallyport screen FILE...` does it,
// by the CPU time of the busiest thread and by the clock, which whatever else runs slows down; and
// on one core the worst text that we can make. The bar is 5 MB/s for ordinary code.
//
//   bench_screen [FILE...]     times these files too
#include "screen/screen.h"

#include <parse_memory.h>
#include <tree_sitter.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

extern "C" {
const TSLanguage* tree_sitter_python();
const TSLanguage* tree_sitter_javascript();
const TSLanguage* tree_sitter_bash();
}

namespace {

using namespace sallyport;

constexpr double kBar = 5.0;  // MB/s

std::string repeated(std::string_view part, std::size_t bytes) {
  std::string text;
  while (text.size() + part.size() <= bytes)
    text.append(part);
  return text;
}

// Of the processor, so that a busy machine gives the same numbers.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// What the parse alone would give, without any walk over the tree.
double parse_speed(const std::string& code, Language language) {
  const TSLanguage* const grammar = language == Language::python       ? tree_sitter_python()
                                    : language == Language::javascript ? tree_sitter_javascript()
                                                                       : tree_sitter_bash();
  const auto read = [](void* text, std::uint32_t at, TSPoint, std::uint32_t* count) {
    const std::string& all = *static_cast<const std::string*>(text);
    *count = static_cast<std::uint32_t>(all.size() - std::min<std::size_t>(at, all.size()));
    return all.data() + all.size() - *count;
  };
  const TSInput input{.payload = const_cast<std::string*>(&code),
                      .read = read,
                      .encoding = TSInputEncodingUTF8,
                      .decode = nullptr};
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const double begin = cpu_seconds();
    parse_memory_begin();
    (void)parse_text(grammar, input, {});
    parse_memory_end();
    best = std::min(best, cpu_seconds() - begin);
  }
  return static_cast<double>(code.size()) / best / 1e6;
}

struct Together {
  double cpu = 0, clock = 0;  // MB/s by the CPU time of the busiest thread, and by the clock
};

Together speed_on(unsigned threads, const std::string& code, Language language) {
  constexpr int kRounds = 3, kTexts = 2;
  Together best;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> busy(threads);
    const auto begin = std::chrono::steady_clock::now();
    {
      std::vector<std::jthread> all;
      for (double& seconds : busy)
        all.emplace_back([&] {
          for (int text = 0; text < kTexts; ++text)
            (void)screen(code, language);
          seconds = cpu_seconds();
        });
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const double megabytes = static_cast<double>(code.size()) * kTexts * threads / 1e6;
    best.cpu = std::max(best.cpu, megabytes / std::ranges::max(busy));
    best.clock = std::max(best.clock, megabytes / took.count());
  }
  return best;
}

void measure(const char* name, const std::string& code, Language language, bool ordinary) {
  double best = 1e9;
  std::size_t findings = 0;
  const char* end = "";
  const auto first = std::chrono::steady_clock::now();
  for (int round = 0; round < 5; ++round) {
    const double begin = cpu_seconds();
    const auto screening = screen(code, language);
    best = std::min(best, cpu_seconds() - begin);
    findings = screening ? screening->findings.size() : 0;
    end = !screening ? ", refused" : screening->syntax_error ? ", syntax error" : "";
    if (std::chrono::steady_clock::now() - first > std::chrono::seconds(2)) break;
  }
  const double speed = static_cast<double>(code.size()) / best / 1e6;
  std::printf("%-10s %-26s %8zu bytes %8.1f ms %7.2f MB/s, %zu findings%s%s\n",
              std::string(name_of(language)).c_str(), name, code.size(), best * 1e3, speed,
              findings, end, ordinary && speed < kBar ? "  BELOW THE BAR on one core" : "");
  std::fflush(stdout);
  if (ordinary && *end == '\0') {
    const double parse = parse_speed(code, language);
    std::printf("%-10s %-26s %41.2f MB/s, %.0f %% of the time\n", "", "(tree-sitter's parse alone)",
                parse, 100 * speed / parse);
    const unsigned cores = std::thread::hardware_concurrency();
    const Together all = speed_on(cores, code, language);
    std::printf("%-10s on all %u cores at once %41.2f MB/s of CPU time, %.2f by the clock\n", "",
                cores, all.cpu, all.clock);
    std::fflush(stdout);
  }
}

constexpr std::string_view kPython = R"(
import json, math
from pathlib import Path


class Orders:
    """Orders of one month, read from a CSV file."""

    def __init__(self, path, currency="EUR"):
        self.path = Path(path)
        self.currency = currency
        self.rows = []

    def load(self):
        with open(self.path) as lines:
            for number, line in enumerate(lines):
                fields = [field.strip() for field in line.split(",")]
                if number == 0 or len(fields) < 3:
                    continue
                self.rows.append({"id": int(fields[0]), "amount": float(fields[1]), "who": fields[2]})
        return self

    def total(self, who=None):
        return math.fsum(row["amount"] for row in self.rows if who is None or row["who"] == who)


def main():
    orders = Orders("data/march.csv").load()
    print(json.dumps({"total": round(orders.total(), 2), "currency": orders.currency}, indent=2))
)";

constexpr std::string_view kJavascript = R"(
const path = require('path');

class Orders {
  constructor(file, currency = 'EUR') {
    this.file = path.resolve(file);
    this.currency = currency;
    this.rows = [];
  }

  load(text) {
    for (const [number, line] of text.split('\n').entries()) {
      const fields = line.split(',').map((field) => field.trim());
      if (number === 0 || fields.length < 3) continue;
      this.rows.push({ id: Number(fields[0]), amount: parseFloat(fields[1]), who: fields[2] });
    }
    return this;
  }

  total(who) {
    return this.rows.filter((row) => !who || row.who === who).reduce((sum, row) => sum + row.amount, 0);
  }
}

function report(orders) {
  console.log(`total ${orders.total().toFixed(2)} ${orders.currency}`);
}
)";

constexpr std::string_view kShell = R"(
month=${1:-march}
total=0
for file in data/*.csv; do
  if [ -f "$file" ]; then
    lines=$(wc -l < "$file")
    echo "$file has $lines lines of $month" | sed 's/data.//'
    total=$((total + lines))
  fi
done
grep -c "^$month" data/names.txt | sort -n | head -n 3
echo "all together: $total"
)";

void measure_hostile(Language language) {
  for (const auto& [name, part] : std::initializer_list<std::pair<const char*, std::string_view>>{
           {"open parentheses", "("},
           {"open brackets", "["},
           {"open braces", "{"},
           {"keyword soup", "if while for def class "},
           {"dollar parentheses", "$(("},
           {"apostrophes", "'"},
           {"quoted expansions", "\"${"},
           {"back quotes", "`"},
           {"one letter", "a"},
           {"words", "a b "},
           {"zero bytes", std::string_view("\0", 1)},
           {"not UTF-8", "\xff\xfe"},
           {"sum of letters", "a+"},
           {"attributes", "a."},
           {"calls", "f()"},
           {"lines of calls", "f(x)\n"},
           {"additions", "s += 'x'\n"},
           {"here-documents", "cat <<A\n"}})
    measure(name, repeated(part, 300'000), language, false);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::ifstream in(argv[i]);
    std::ostringstream text;
    text << in.rdbuf();
    if (const auto language = language_of(argv[i], text.str()))
      measure(argv[i], text.str(), *language, true);
  }
  measure("ordinary code", repeated(kPython, 500'000), Language::python, true);
  measure("ordinary code", repeated(kJavascript, 500'000), Language::javascript, true);
  measure("ordinary code", repeated(kShell, 500'000), Language::shell, true);
  for (const Language language : {Language::python, Language::javascript, Language::shell})
    measure_hostile(language);
}
