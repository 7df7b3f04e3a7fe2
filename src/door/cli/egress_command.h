// `sallyport egress`, and `sallyport egress-process`: the egress process of a `run` or a `call`.
// Programs start it, people do not.
#pragma once

#include <span>

namespace sallyport {

[[nodiscard]] int egress_command(std::span<const char* const> words);

// Its door is the descriptor kEgressDoor.
[[nodiscard]] int egress_process_command(std::span<const char* const> words);

}  // namespace sallyport
