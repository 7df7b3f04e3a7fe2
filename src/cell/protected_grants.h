// Protected names (base/protected_names.h) in a tree of the host that a cell may write to: those
// that are there are shown read-only, those that come are told of.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "cell/spec.h"
#include "sallyport/outcome.h"

namespace sallyport {

// A protected name of a tree, relative to it.
struct ProtectedPlace {
  std::string path;
  std::string why;
  struct stat status{};
};

// Those at the top of the tree, and below its .git, .config and .github; of a tree that is a .git,
// those in it. Symbolic links are left out, because nothing can be mounted on one. An error: the
// tree cannot be looked through.
[[nodiscard]] Result<std::vector<ProtectedPlace>> list_protected(const std::string& tree);

// What stands before the names of a tree in the eyes of the rules: a tree may itself be a .git.
[[nodiscard]] std::string rule_prefix(const std::string& tree);

// Whether the directory `name`, which is at `path` of a tree (its prefix included), holds one of
// them, or may.
[[nodiscard]] bool holds_protected(int parent, const char* name, const std::string& path);

// A tree that a cell writes to, as it was before.
struct ProtectedTree {
  std::string host, inside;
  std::vector<ProtectedPlace> places;
};

// Those of the grants, which have absolute paths, and both of them.
[[nodiscard]] Result<std::vector<ProtectedTree>> protected_trees(const std::vector<Grant>& grants);

// Adds what keeps the protected names as they are: a read-only grant for each, and one for each
// directory on the way to it, which could be renamed otherwise. What has a grant of its own is the
// operator's choice.
void protect(const ProtectedTree& tree, std::vector<Grant>& grants);

// Protected names that were not there before, or are not what they were.
[[nodiscard]] std::vector<Finding> find_new_protected(const ProtectedTree& tree);

}  // namespace sallyport
