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
#include "base/units.h"

namespace sallyport {

// A file or directory of the host that the cell may see.
struct Grant {
  std::string host;    // path on the host, as the caller wrote it
  std::string inside;  // absolute path in the cell; empty: the host path, made absolute
  bool write = false;  // false: read-only
};

// What happens to changes under a writable grant.
enum class WriteMode {
  direct,  // they reach the host at once, without a size limit
  copy,    // they stay in the scratch, under its limits, and are copied back at the end
};

// A file copied into the scratch before the command starts.
struct InputFile {
  std::string host;  // path on the host, as the caller wrote it
  std::string name;  // path below /workspace: relative, without "." and ".."
};

// A layer without which the cell must not run.
struct Requirement {
  std::string layer;              // a name of kLayers
  std::optional<unsigned> level;  // the least version of it, for a layer that has versions
};

// The budget of one call. The comments say what happens at the limit.
struct Limits {
  Duration timeout = std::chrono::seconds{10};  // wall clock from the start of the command; kills
  Duration cpu = std::chrono::seconds{10};      // CPU time of all processes together; kills
  double cpus = 1.0;                            // CPUs' worth of time per second; slows
  ByteSize memory = 256_MiB;                    // of all processes and the scratch, no swap; kills
  unsigned processes = 64;                      // processes and threads; fork fails
  unsigned open_files = 256;                    // descriptors per process; open fails
  ByteSize disk = 100_MiB;                      // bytes in the scratch; write fails
  std::uint64_t inodes = 10'000;                // files in the scratch; create fails
  ByteSize file_size = 10_MB;                   // bytes in one file; write fails
  ByteSize max_output = 10_kB;                  // bytes of each stream that are kept; trims
  ByteSize max_output_hard = 10_MB;             // bytes of output in all; kills
  unsigned refused_syscalls = 1'000;            // refused system calls; kills
  std::optional<Rate> io;                       // disk bandwidth each way; slows
};

struct CellSpec {
  std::vector<std::string> command;                              // program and arguments; not empty
  std::vector<std::pair<std::string, std::string>> environment;  // all that the program gets
  std::vector<Grant> grants;                                     // host paths that it may see
  WriteMode write_mode = WriteMode::direct;                      // for the writable grants
  std::vector<InputFile> inputs;                                 // copied in before the start
  std::vector<std::string> outputs;  // globs below /workspace, copied out
  std::string root;                // directory to use as root filesystem; empty: the host's system
  std::string cwd = "/workspace";  // absolute path in the cell where the program starts
  std::string hostname = "sallyport";     // what the program sees as the machine's name
  bool use_stdin = false;                 // pass standard input on; false: /dev/null
  Limits limits;                          // the budget
  std::string syscalls = "default";       // name of a system call profile
  std::vector<Requirement> requirements;  // refuse to run if one of them is not in force
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
