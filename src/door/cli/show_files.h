// `sallyport run --via --read`: files of one's own for a command that a service runs. They are
// shown to the launcher of the service and to nobody else: with the command that they are for, and
// as descriptors, so that the service needs no right to find them.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "cell/spec.h"
#include "sallyport/call.h"

namespace sallyport {

struct ShownFiles {
  CallClient client;  // for the call
  Fd connection;      // to be kept until the call has ended
};

// `via`: the path of the service's unix socket. `call` is the whole call but for them, and
// `command` its words.
[[nodiscard]] Result<ShownFiles> show_files(const std::string& via, const std::string& tool,
                                            const std::vector<Grant>& grants,
                                            const std::vector<std::string>& command,
                                            const CallRequest& call);

}  // namespace sallyport
