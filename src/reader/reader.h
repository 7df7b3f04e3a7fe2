// The process that reads the sources of credentials, and tells the egress process what it finds. It
// has the rights that the sources need, and speaks with nobody else; the egress process, which
// speaks with strangers, has none.
#pragma once

#include "base/error.h"
#include "base/fd.h"
#include "credential/settings.h"

namespace sallyport {

// Forks it. The end of what is returned is the end of the process, and the other way round; before
// its end it gives leases of Vault back, for which it has two seconds. Only from a program with
// one thread.
[[nodiscard]] Result<Fd> start_reader(const ReaderSettings& settings);

// Reads, and tells, until the other end of `egress` is closed.
void read_sources(const ReaderSettings& settings, Fd egress);

}  // namespace sallyport
