// The description of a cell: everything that a door may ask for, as plain values. A default-made
// CellSpec with a command is the strictest cell there is; every field only adds to it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cell_path.h"
#include "base/layer.h"
#include "cell/uid_slot.h"
#include "egress/rules.h"
#include "sallyport/limits.h"
#include "sallyport/units.h"
#include "sallyport/write_mode.h"
#include "warm/interpreters.h"

namespace sallyport {

// A file or directory of the host that the cell may see.
struct Grant {
  std::string host;       // path on the host, as the caller wrote it
  std::string inside;     // absolute path in the cell; empty: the host path, made absolute
  bool write = false;     // false: read-only
  bool optional = false;  // left out when there is nothing at the host path
};

// A file copied into the scratch before the command starts.
struct InputFile {
  std::string host;                         // path on the host, as the caller wrote it
  std::string name;                         // path below /workspace: relative, without "." and ".."
  std::optional<std::string> content = {};  // what it holds; then there is no host path
};

// A file or directory that a client of the service shows to its own command. What is shown is what
// the descriptor stands for, whatever is at the path by then.
struct ClientFile {
  std::string host;    // its path, as the client names it: for messages and records
  std::string inside;  // absolute path in the cell
  bool write = false;  // false: read-only
  int fd = -1;         // O_PATH, of the client; the launcher has it from nobody else
};

struct ClientShare {
  std::vector<ClientFile> files;
  std::string ticket = {};  // for which the launcher gives their descriptors
  // Whose rights decide about what is in them: the client's, as the kernel tells them.
  uid_t uid = 0;
  gid_t gid = 0;
};

// Where a command finds the socket that it was given (CellStreams::connection).
inline constexpr int kConnection = 3;
// And the image of a warm interpreter, behind it.
inline constexpr int kImage = 4;

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
  EgressRules network;                    // what it may reach; nothing allowed: its own loopback
  std::vector<Requirement> requirements;  // refuse to run if one of them is not in force
  Observation* observation = nullptr;     // notes of what the command asks for; null: none are made
  Warmth warm = {};                       // only for cells that are made ahead of need
  bool swept = false;                     // somebody else sweeps what killed makers have left
  std::optional<UidRange> uids = {};      // of a root launcher's cell; none: UidRange::configured()
  ClientShare client = {};                // what a client shows of its own
};

}  // namespace sallyport
