// Calls of functions that are done at once, as the threads of the server take them up.
//
// What a thread finds ready on its connections passes the gates there. Where both the function and
// the disk have been quick so far, it goes all the way on that thread, in rounds: the intents of
// all are recorded at once, then they run, then their outcomes are recorded at once, and then they
// are answered. Nobody is woken for them, and what they hold stays with one processor. Everything
// else goes to the lanes, whose runners may be held up: what is slow, what is large, and what
// several tenants have at the same time, who take turns there.
#pragma once

#include <memory>

#include "serve/pending_call.h"

namespace sallyport {

// From a thread of the server, or any other: then it is done when this returns, or in a lane.
void gather(std::shared_ptr<PendingCall> call);

}  // namespace sallyport
