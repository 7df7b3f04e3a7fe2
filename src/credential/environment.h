// Secrets in the environment of a service are for the process that reads them alone.
#pragma once

#include "credential/settings.h"

namespace sallyport {

// Wipes, in this process, the variables that credentials come from: not only their names, but the
// bytes. What is forked from a process has a copy of all of them.
void forget_secrets(const ReaderSettings& settings);

// Wipes these, and every other variable but the few that a part of the service needs: a policy that
// is read later may call another one a secret.
void forget_environment(const ReaderSettings& settings);

}  // namespace sallyport
