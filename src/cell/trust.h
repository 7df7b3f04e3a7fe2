// The certificates that an inspected cell trusts: those of its system, and that of the authority
// which the egress process makes for it. They are in one file of the cell's own, which the usual
// variables name and which covers the system's, and in another that Java reads.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cell/steps.h"

namespace sallyport {

// Before the launch. `root` as in lay_out_root().
[[nodiscard]] Result<void> lay_out_trust(Plan& plan, const std::string& root);

// What programs and libraries look for when they want a file of certificates.
void add_trust_variables(const Plan& plan,
                         std::vector<std::pair<std::string, std::string>>& environment);

// The supervisor, while init waits for its network: the authority is known now.
[[nodiscard]] Sys<void> complete_trust(const Plan& plan, std::string_view authority);

// Init, afterwards. They do nothing in a cell that is not inspected.
[[nodiscard]] Sys<void> write_trust(Launch& launch);
[[nodiscard]] Sys<void> cover_system_trust(Launch& launch);

}  // namespace sallyport
