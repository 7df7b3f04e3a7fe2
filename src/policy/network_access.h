// What a tool may reach, as the egress process is told.
#pragma once

#include <optional>

#include "credential/settings.h"
#include "egress/rules.h"
#include "input/url.h"
#include "policy/rules.h"

namespace sallyport {

// The URL of an `http` tool, as far as the policy has written it out: up to the first placeholder
// or the query. It has the host.
[[nodiscard]] std::optional<Url> fixed_part(const HttpRequestRule& request);

// The methods of http_fetch.
[[nodiscard]] std::vector<std::string> fetch_methods(const Tool& tool);

// With the host of an `http` tool as a rule of its own, "tools.NAME.http", behind those that the
// tool lists: these may say more about the same host, such as its address. Where requests can be
// seen, it has the method and the path of the tool, and no others. Nothing allowed: the tool has
// its own loopback only.
//
// The hosts of its credentials are rules too, "credentials.NAME.to[0]", and looked into.
[[nodiscard]] EgressRules network_access(const Ceiling& ceiling, const Tool& tool);

// Where the credentials are that some tool uses. `revoked`: see ReaderSettings.
[[nodiscard]] ReaderSettings reader_settings(const Rules& rules, std::string revoked);

}  // namespace sallyport
