// What is asked of a tool, and what must come back. No two questions of a run are the same, so a
// cell that was warmed with one of them would gain nothing by it.
#pragma once

#include <cstdint>
#include <string>

namespace sallyport::warm {

enum class Kind { python, numpy, command, node };

// As in the JSON and as the name of the tool in the benchmark's policy.
[[nodiscard]] const char* name_of(Kind kind);
// As in the report.
[[nodiscard]] const char* title_of(Kind kind);

struct Question {
  std::string code;  // empty for a command, which takes none
  std::string answer;
};

// The question number `n`: its shape and its numbers follow from that, the work does not.
[[nodiscard]] Question question(Kind kind, std::uint64_t n);
// One that was not asked before, by any thread.
[[nodiscard]] Question next_question(Kind kind);

}  // namespace sallyport::warm
