// Where the matches of a glob can lie, so that a search for them need not look everywhere.
#pragma once

#include <string_view>

namespace sallyport {

// Whether the glob `glob` (base/glob.h) could match a path below `directory`; both are relative to
// the same place, and "" is that place itself. Never false when there could be one.
[[nodiscard]] bool may_match_below(std::string_view glob, std::string_view directory);

}  // namespace sallyport
