// The front: what answers clients. No privileges, no forks.
#pragma once

#include "serve/keeper.h"

namespace sallyport {

// In the state directory: the API for whoever can connect to it, without a key.
inline constexpr const char* kOperatorSocket = "operator.sock";

// Serves until the keeper says stop or is gone; the exit code of the process.
int run_front(FrontSettings settings);

}  // namespace sallyport
