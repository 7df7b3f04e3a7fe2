// What crosses the border between the front and the launcher, as bytes. The reader is strict: every
// length and every count is bounded, no byte may be left over, and there is one form only, so what
// is accepted is written back byte for byte. It takes whatever a hostile front makes up.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cell/spec.h"
#include "sallyport/outcome.h"

namespace sallyport {

inline constexpr std::size_t kLargestClaim = std::size_t{32} << 20;     // bytes
inline constexpr std::size_t kLargestOutcome = std::size_t{256} << 20;  // bytes

// One cell that the front asks for. It names what is to run and nothing that belongs to one cell
// already built, so that the launcher may take a cell that it has ready.
struct Claim {
  std::string tenant;  // by name; it decides about the uids
  CellSpec spec;       // its `observation` and `uids` do not travel, nor the ticket of its client
};

// An error: it is too large to travel.
[[nodiscard]] Result<std::string> encode(const Claim& claim);
[[nodiscard]] Result<std::string> encode(const Outcome& outcome);

// An error says only that the bytes are not one; who sends them is a program.
[[nodiscard]] Result<Claim> decode_claim(std::string_view bytes);
[[nodiscard]] Result<Outcome> decode_outcome(std::string_view bytes);

}  // namespace sallyport
