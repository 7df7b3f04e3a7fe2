// Root at the state directory of a service that runs as somebody else.
#pragma once

#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// For commands that work on a state directory and do nothing else. When root names the directory of
// another user, this process acts as that user from here on: what it writes there can be read by
// the service, and no link in there leads root anywhere. Anybody else, and a directory of root's
// own or one that is not there yet, changes nothing. An error: the directory is a link or open to
// others.
[[nodiscard]] Result<void> act_as_owner(const std::string& state);

// open_state_directory() as that user.
[[nodiscard]] Result<Fd> open_state_as_owner(const std::string& state);

}  // namespace sallyport
