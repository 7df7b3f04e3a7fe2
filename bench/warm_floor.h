// The least that a fresh cell costs on this host, whoever makes it: a command that is born into
// namespaces of its own, and cgroups, and nothing else. No root of files, no filter, nobody who
// waits inside, no service, no record. What it reaches with many in flight is the most that any
// sandbox can which shares neither between two calls.
#pragma once

#include "warm_contest.h"

namespace sallyport::warm {

[[nodiscard]] Contestant floor_of_namespaces(unsigned turns);
[[nodiscard]] Contestant floor_with_cgroups(unsigned turns);

}  // namespace sallyport::warm
