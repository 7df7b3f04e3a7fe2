// The least that a call costs which is on record before it begins and before it is answered: two
// records forced to the disk, and the tool between them. No sandbox, no server, no key, no check.
// Python has been started before, and waits for its code; a command is spawned. Whoever keeps
// such records beside the same interpreter, or the same command, has to do this much.
#pragma once

#include "warm_contest.h"

namespace sallyport::warm {

// Its log lies in `work`, beside the state of the services.
[[nodiscard]] Contestant floor_with_records(Kind kind, const std::string& work);

}  // namespace sallyport::warm
