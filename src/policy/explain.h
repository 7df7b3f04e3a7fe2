// The blast radius of a tool in plain sentences: what a call can do at worst, and which rule says
// so. Everything is taken from the envelope that is in force, not from what the file may have
// meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/envelope.h"

namespace sallyport {

// Sentences under a heading, or, where `name` is given, one row of a list: "timeout: 30s".
struct ExplainedFact {
  std::string name;  // may be empty
  std::string text;
};
struct ExplainedSection {
  std::string title;  // "What it runs"
  std::vector<ExplainedFact> facts;
};

// What holds for callers that are alike.
struct ExplainedCallers {
  std::vector<std::string> names;
  std::string role, tenant;
  Envelope envelope;  // of the first of them
  std::vector<ExplainedSection> sections;
};

// One thing that makes calls fail with `unavailable` in this version.
struct ExplainedGap {
  std::string rule;  // "tools.python.network"
  std::string what;
  bool every_call = true;  // false: only calls for which it is asked
};

struct Explanation {
  std::string tool;
  std::string description;
  std::string policy;                      // hash
  std::vector<ExplainedSection> sections;  // what holds for whoever calls
  std::vector<ExplainedCallers> callers;   // those who may call it, alike ones together
  std::vector<ExplainedGap> gaps;
};

// `caller`: only this one, who may also be one that may not call the tool. An error for a name that
// is not in the rules has the nearest one as its hint.
[[nodiscard]] Result<Explanation> explain(const Rules& rules, std::string_view tool,
                                          std::optional<std::string_view> caller = {});

// The same facts as one object.
[[nodiscard]] json::object to_json(const Explanation& explanation);

// How many calls `rates` let begin within any hour, and what decides; nothing if there is no rate.
struct HourlyCalls {
  std::uint64_t count = 0;
  const RateRule* rule = nullptr;
};
[[nodiscard]] std::optional<HourlyCalls> calls_in_an_hour(const std::vector<RateRule>& rates);

}  // namespace sallyport
