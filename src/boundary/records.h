// The two records of a call: what is about to run, and how it ended.
#pragma once

#include "audit/record_line.h"
#include "boundary/passage.h"

namespace sallyport {

// Written, durably, before anything runs; `writer` is what the journal says.
[[nodiscard]] Result<DraftRecord> intent_record(const Passage& passage, std::string_view writer);

// Written before the result is released; for a call that was refused, the only one. The memory of
// the intent, which has been written, may be `used` again.
[[nodiscard]] Result<DraftRecord> outcome_record(const Passage& passage, DraftRecord used = {});

}  // namespace sallyport
