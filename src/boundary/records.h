// The two records of a call: what is about to run, and how it ended.
#pragma once

#include "base/json.h"
#include "boundary/passage.h"

namespace sallyport {

// Written, durably, before anything runs.
[[nodiscard]] json::object intent_record(const Passage& passage);

// Written before the result is released; for a call that was refused, the only one.
[[nodiscard]] json::object outcome_record(const Passage& passage);

}  // namespace sallyport
