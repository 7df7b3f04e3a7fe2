// What a parked cell is made for, and what may come to it late.
#pragma once

#include <span>
#include <string>

#include "base/error.h"
#include "cell/prepare.h"

namespace sallyport {

// The class of a spec: the spec without what only its one call has (its id, command, environment,
// files, standard input, artifacts and deadline). Cells of one class are interchangeable until they
// are claimed.
[[nodiscard]] CellSpec class_of(const CellSpec& spec);

// Whether a cell for this spec may be made before its call is known. Not one that writes to the
// host, whose directories may change between its making and its use; not one that a client shows
// its own to; and not one that reaches hosts, whose sockets and credentials belong to one call.
[[nodiscard]] bool may_be_parked(const CellSpec& spec);

// Whether the order of this spec fits a cell that is parked: what is large is charged to the cell
// that is made for it.
[[nodiscard]] bool fits_parked(const CellSpec& spec);

// An order as a warm interpreter reads it: the number of bytes that follow, the number of words,
// each word with its size before it, and the same for the environment. Numbers are 32 bits, the
// lowest first.
[[nodiscard]] std::string encode_order(std::span<const std::string> words,
                                       std::span<const std::string> environment);

// Puts files into the scratch of a parked cell. What waits in the cell may be hostile: nothing is
// followed, nothing that exists is opened.
[[nodiscard]] Sys<void> put_inputs(const CellSpec& spec, const Plan& plan, int scratch);

// Whether what the cell shows of the host is still what is there.
[[nodiscard]] bool is_current(const Plan& plan);

}  // namespace sallyport
