// The facts about a host, judged: what each means for a cell, and what mends it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cell/doctor_facts.h"

namespace sallyport {

struct Check {
  enum class Verdict {
    good,
    weaker,   // cells work, but a layer is weaker or an option is refused
    missing,  // no cell can be made
    note,     // no process cell depends on it
  };
  std::string name;
  std::string found;  // what is there, as a phrase
  Verdict verdict = Verdict::good;
  std::string fix;  // one command a line, or a sentence where no command mends it; empty when good
};

constexpr std::string_view name_of(Check::Verdict verdict) {
  switch (verdict) {
    case Check::Verdict::good:
      return "good";
    case Check::Verdict::weaker:
      return "weaker";
    case Check::Verdict::missing:
      return "missing";
    case Check::Verdict::note:
      return "note";
  }
  return {};
}

// All checks, in the order in which a person should read them.
[[nodiscard]] std::vector<Check> judge(const HostFacts& host);

}  // namespace sallyport
