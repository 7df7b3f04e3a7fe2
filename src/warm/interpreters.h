// Interpreters that wait in a parked cell, in place of one that the call would have to start.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sallyport {

enum class Interpreter : std::uint8_t { none, python, node };

struct Warmth {
  Interpreter interpreter = Interpreter::none;
  std::vector<std::string> preload = {};  // modules that it has imported
  bool operator==(const Warmth&) const = default;
};

// Where a cell has the program of restore.c, relative to its root. Not in /run, which is empty and
// covers what a cell is not to see.
inline constexpr const char* kRestorePlace = ".sallyport-restore";

// The command that waits. Python: a template, of which an image is taken; what waits in a cell is
// then `kRestorePlace`. Node: waits in the cell itself.
[[nodiscard]] std::vector<std::string> waiting_command(const Warmth& warmth);

// So many words of the call's command the waiting interpreter stands for.
[[nodiscard]] std::size_t words_stood_for(Interpreter interpreter);

// Whether a variable decides how an interpreter starts, so that one which has started already
// cannot do what it says.
[[nodiscard]] bool is_read_at_start(Interpreter interpreter, std::string_view variable);

}  // namespace sallyport
