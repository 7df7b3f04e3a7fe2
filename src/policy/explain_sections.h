// The parts of an explanation.
#pragma once

#include <vector>

#include "policy/explain.h"

namespace sallyport {

// What holds for a tool whoever calls it: what runs, arguments, files, network, approval, what
// comes back, credentials.
[[nodiscard]] std::vector<ExplainedSection> tool_sections(const Rules& rules, const Tool& tool);

// What one of `callers` alike callers can spend, how often, and the worst case.
[[nodiscard]] std::vector<ExplainedSection> envelope_sections(const Rules& rules,
                                                              const Envelope& envelope,
                                                              std::size_t callers);

// Whether the tool runs in a cell at all: functions run in their program, and HTTP requests in
// Sallyport's own process.
[[nodiscard]] bool runs_in_cell(const Tool& tool);

// "https://api.example.com (port 443)" and what is special about it.
[[nodiscard]] std::string host_sentence(const HostRule& rule);

}  // namespace sallyport
