// The sets of rules that most calls ask for, compiled when the program was built: Hyperscan takes a
// fifth of a second for one, which is more than all the rest of a call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sallyport {

struct ReadyNet {
  unsigned mask = 0;                  // groups of rules
  std::vector<std::uint32_t> widths;  // of its expressions, in their order
  std::string_view database;          // as Hyperscan serialises it
};

// None: this program was linked without such a set.
[[nodiscard]] std::optional<ReadyNet> find_ready_net(unsigned mask);

// For the build: the bytes that the program is linked with.
[[nodiscard]] std::string pack_ready_nets(const std::vector<ReadyNet>& nets);
// Only for pack_ready_nets() and tests.
[[nodiscard]] std::optional<ReadyNet> find_ready_net(std::string_view bytes, unsigned mask);

}  // namespace sallyport
