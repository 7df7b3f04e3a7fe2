// The first look at a query for PostgreSQL, with PostgreSQL's own grammar. What a query may read is
// for the server to decide, which knows the role; here stand what it cannot say no to, as the
// catalogues are open to everybody there, and what a model should be told in words.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "sallyport/error.h"

namespace sallyport {

// Longer ones are refused.
inline constexpr std::size_t kLongestQuery = 65'536;

// Whether a table of this name (schema empty: none was written) may be read.
using MayRead = std::function<bool(std::string_view schema, std::string_view name)>;

// One SELECT, WITH … SELECT or VALUES, that reads such tables only, calls known functions only, and
// neither writes nor locks. Reason::argument: it is something else.
//
// Gives the names that stand behind a dot (`o.total`). Where there is no such column, the server
// takes the name for a function of one argument, or for a type: none of them may be one that is not
// known.
[[nodiscard]] Result<std::set<std::string>> screen_query(std::string_view query,
                                                         const MayRead& may_read);

}  // namespace sallyport
