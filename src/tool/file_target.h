// Which place of a file tool a path lies in, and what may be touched there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/glob.h"
#include "input/path.h"
#include "tool/file_order.h"

namespace sallyport {

// A path within one place. All the places at that point of the tree have a say: a name that one of
// them allows is allowed.
struct FileTarget {
  std::string directory;    // of the place; the one that holds it, if the place is a file
  std::string host;         // what the place is on the host
  std::string relative;     // to the directory, "." for itself
  bool file_place = false;  // the place is a file
  bool everything = false;  // one of the places has no glob
  struct Names {
    std::string text;
    Glob glob;
  };
  std::vector<Names> names;
  std::vector<Names> denied;  // over host paths without their leading '/'

  // Whether the file at `path`, relative to the directory, may be touched.
  [[nodiscard]] bool allows(std::string_view path) const;
  // Whether ceiling.files.deny names it, or a directory that it lies in.
  [[nodiscard]] bool denies(std::string_view path) const;
  // Whether there could be such a file below `path`.
  [[nodiscard]] bool may_allow_below(std::string_view path) const;
  // The path as a caller should see it.
  [[nodiscard]] std::string shown() const;
  [[nodiscard]] PathRules rules(bool must_exist) const {
    return {.below = directory, .must_exist = must_exist};
  }
};

// The target of an order. The deepest place decides: what is mounted below another place has globs
// of its own.
[[nodiscard]] Result<FileTarget> find_target(FileAction action, const FileOrder& order);

// The same for a path that must be a file. Globs come first: whether a name that they do not match
// is there is not said. To write or to edit, it must not be a protected name
// (base/protected_names.h).
[[nodiscard]] Result<FileTarget> find_file(FileAction action, const FileOrder& order);

// The first directory on the way to the target that is not there, for a message.
[[nodiscard]] std::optional<std::string> missing_directory(const FileTarget& target);

// The error with a hint that a model can act on.
[[nodiscard]] Error explain(const FileTarget& target, Error error);

// `name` in `directory`.
[[nodiscard]] std::string join_path(std::string_view directory, std::string_view name);

// "/data/**/*.csv, /out"
[[nodiscard]] std::string list_places(const FileOrder& order);

}  // namespace sallyport
