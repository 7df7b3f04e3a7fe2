#include "tool/glob_reach.h"

#include "base/glob.h"
#include "base/parse.h"

namespace sallyport {

bool may_match_below(std::string_view glob, std::string_view directory) {
  while (!directory.empty()) {
    // The glob is at its end, or at its last component: that one is the directory itself at most.
    if (glob.find('/') == std::string_view::npos) return glob.contains("**");
    const std::string_view pattern = take(glob, '/');
    if (pattern.contains("**")) return true;
    const auto parsed = Glob::parse(pattern);
    if (parsed && !parsed->matches(take(directory, '/'))) return false;
    if (!parsed) return true;  // half of a set, as in "[a/b]"
  }
  return true;
}

}  // namespace sallyport
