// Protected names (base/protected_names.h) in a tree of the host that a cell may write to: those
// that are there are shown read-only, those that come are told of.
#pragma once

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
};

// Those at the top of the tree, and below its .git, .config and .github. What a directory cannot be
// read for is left out; symbolic links are, because nothing can be mounted on one.
[[nodiscard]] std::vector<ProtectedPlace> list_protected(const std::string& tree);

// A tree that a cell writes to, as it was before.
struct ProtectedTree {
  std::string host, inside;
  std::vector<ProtectedPlace> places;
};

// Those of the grants, which have absolute paths, and both of them.
[[nodiscard]] std::vector<ProtectedTree> protected_trees(const std::vector<Grant>& grants);

// Adds what keeps the protected names as they are: a read-only grant for each, and one for each
// directory on the way to it, which could be renamed otherwise. What has a grant of its own is the
// operator's choice.
void protect(const ProtectedTree& tree, std::vector<Grant>& grants);

// Protected names that were not there before.
[[nodiscard]] std::vector<Finding> find_new_protected(const ProtectedTree& tree);

}  // namespace sallyport
