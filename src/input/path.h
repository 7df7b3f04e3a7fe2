// A path that a caller names, confined to a directory by file descriptors. Every component is
// opened from the one before it without following links, so what is checked is what is used,
// whatever a concurrent program renames meanwhile. This needs neither openat2 (which the cells'
// filter answers with ENOSYS) nor /proc, so one way works on the host and inside a cell.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/fd.h"
#include "sallyport/error.h"

namespace sallyport {

struct PathRules {
  std::string below;             // the directory, absolute; mounts below it belong to it
  bool must_exist = true;        // otherwise the last component may be missing
  bool allow_hidden = true;      // components that begin with a dot
  bool read_hard_links = false;  // read a file that has other names, perhaps outside `below`
};

enum class PathAccess {
  inspect,  // a regular file or a directory; the descriptor is O_PATH
  read,     // a regular file, O_RDONLY
  list,     // a directory, O_RDONLY
  write,    // a regular file with one name only, O_WRONLY; not truncated
};

struct SafePath {
  std::string
      relative;      // the real path below the directory: "a/b", or "." for the directory itself
  std::string name;  // its last component
  Fd parent;         // the directory that holds it, O_PATH
  Fd fd;             // the file, opened as asked; invalid when it does not exist
};

// The text alone: `text` relative to rules.below, "." for the directory itself. Refuses "..", ".",
// empty components, control characters, an absolute path outside rules.below. For paths that are
// opened elsewhere (inside a cell); here, use open_confined.
[[nodiscard]] Result<std::string> parse_relative_path(std::string_view text,
                                                      const PathRules& rules);

// Opens `text` below rules.below. Refuses symbolic links anywhere, FIFOs, sockets and devices. A
// missing last component is an error (Reason::argument) if rules.must_exist, and otherwise a
// SafePath without fd.
[[nodiscard]] Result<SafePath> open_confined(const PathRules& rules, std::string_view text,
                                             PathAccess access);

// The same below an open directory; rules.below then only says what an absolute `text` is relative
// to.
[[nodiscard]] Result<SafePath> open_confined(int base, const PathRules& rules,
                                             std::string_view text, PathAccess access);

// Creates the missing file of a SafePath, for writing; fails if something has taken its place.
[[nodiscard]] Result<Fd> create_file(const SafePath& path, mode_t mode = 0666);

}  // namespace sallyport
