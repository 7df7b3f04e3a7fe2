#include "door/cli/tell_end.h"

#include "door/cli/process.h"

namespace sallyport {

void tell_end(const CallResult& result) {
  if (!result.message.empty()) {
    const std::string rule = result.rule.empty() ? "" : " (" + result.rule + ")";
    const std::string reason = result.reason == Reason::none
                                   ? ""
                                   : std::string(name_of(result.status)) + ", " +
                                         std::string(name_of(result.reason)) + ": ";
    say(reason + result.message + rule);
  }
  if (!result.hint.empty()) say("hint: " + result.hint);
  for (const Finding& finding : result.findings)
    say(finding.kind + ": " + finding.path + ": " + finding.why);
}

}  // namespace sallyport
