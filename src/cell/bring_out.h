// What leaves a cell at its end besides its streams: artifacts, and the changes of copied
// directories.
#pragma once

#include "cell/prepare.h"
#include "egress/fingerprints.h"
#include "sallyport/outcome.h"

namespace sallyport {

// `scratch` is the cell's, in which nothing runs any more. What has one of the fingerprints is
// covered. What goes wrong is noted in the outcome.
void bring_out(const CellSpec& spec, const Prepared& cell, int scratch,
               const Fingerprints& fingerprints, Outcome& outcome);

}  // namespace sallyport
