// The packets from the process that reads the sources of credentials to the one that uses them.
#pragma once

#include "base/error.h"
#include "credential/source.h"

namespace sallyport {

// Waits until there is room for it. False: nobody listens any more.
[[nodiscard]] bool send_news(int egress, const SecretNews& news);

// One packet. EAGAIN: nothing is there; EPIPE: the reader is gone.
[[nodiscard]] Sys<SecretNews> receive_news(int reader);

}  // namespace sallyport
