// The description of a cell: everything that a door may ask for, as plain values. A default-made
// CellSpec with a command is the strictest cell there is; every field only adds to it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "sallyport/limits.h"
#include "sallyport/units.h"
#include "sallyport/write_mode.h"

namespace sallyport {

// A file or directory of the host that the cell may see.
struct Grant {
  std::string host;    // path on the host, as the caller wrote it
  std::string inside;  // absolute path in the cell; empty: the host path, made absolute
  bool write = false;  // false: read-only
};

// A file copied into the scratch before the command starts.
struct InputFile {
  std::string host;                         // path on the host, as the caller wrote it
  std::string name;                         // path below /workspace: relative, without "." and ".."
  std::optional<std::string> content = {};  // what it holds; then there is no host path
};

// A layer without which the cell must not run.
struct Requirement {
  std::string layer;              // a name of kLayers
  std::optional<unsigned> level;  // the least version of it, for a layer that has versions
};

struct Observation;

struct CellSpec {
  std::string call_id;                                           // empty: one is made
  std::vector<std::string> command;                              // program and arguments; not empty
  std::vector<std::pair<std::string, std::string>> environment;  // all that the program gets
  std::vector<Grant> grants;                                     // host paths that it may see
  WriteMode write_mode = WriteMode::direct;                      // for the writable grants
  std::vector<InputFile> inputs;                                 // copied in before the start
  std::vector<std::string> outputs;  // globs below /workspace, copied out
  std::string output_directory;      // where they go; empty: the current directory
  std::string root;                // directory to use as root filesystem; empty: the host's system
  std::string cwd = "/workspace";  // absolute path in the cell where the program starts
  std::string hostname = "sallyport";     // what the program sees as the machine's name
  bool use_stdin = false;                 // pass standard input on; false: /dev/null
  std::optional<std::string> input;       // with use_stdin: all of it, in place of the stream
  Limits limits;                          // the budget
  std::string syscalls = "default";       // name of a system call profile
  std::vector<Requirement> requirements;  // refuse to run if one of them is not in force
  Observation* observation = nullptr;     // notes of what the command asks for; null: none are made
};

// A layer of isolation by the name it has in results, in `--require` and in the documentation.
struct LayerText {
  std::string_view name;
  std::string_view sentence;
  bool has_levels = false;
};

inline constexpr LayerText kLayers[] = {
    {"user", "own user namespace; never the host's uid 0"},
    {"mount", "own mount namespace and root filesystem"},
    {"pid", "own process numbers; no other process can be seen or signalled"},
    {"net", "own network with loopback only"},
    {"ipc", "own System V IPC and POSIX message queues"},
    {"uts", "own host name"},
    {"cgroup_namespace", "own view of the cgroup tree"},
    {"seccomp", "system calls by allowlist"},
    {"landlock", "Landlock as a second file system boundary", true},
    {"cgroup", "limits that the kernel holds for all processes together"},
    {"memory", "the memory limit is the kernel's, not a watcher's"},
    {"groups", "no supplementary group of the caller"},
    {"disk", "everything the command can write is bounded in size"},
    {"capabilities", "no capability, and no way to gain one"},
};

// Reads "LAYER" or "LAYER:LEVEL".
[[nodiscard]] Result<Requirement> parse_requirement(std::string_view text);

// Reads an absolute path in the cell. "." and "..", empty components and relative paths are errors;
// one trailing '/' is taken off.
[[nodiscard]] Result<std::string> parse_inside_path(std::string_view text);

// Whether something of the host may be placed at `inside`, a path as parse_inside_path gives it.
// The places that the cell's own parts live in are refused.
[[nodiscard]] Result<void> check_grant_place(std::string_view inside);

}  // namespace sallyport
