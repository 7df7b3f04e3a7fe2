// The redactions that a policy asks for, made once for all calls that ask for the same.
#pragma once

#include <memory>

#include "policy/rules.h"
#include "redact/redact.h"

namespace sallyport {

[[nodiscard]] Result<std::shared_ptr<const Redactions>> redactions_for(const OutputRules& rules);

// What is taken out of arguments before they are recorded.
[[nodiscard]] Result<std::shared_ptr<const Redactions>> record_redactions();

}  // namespace sallyport
