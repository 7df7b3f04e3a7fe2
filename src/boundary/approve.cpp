#include "boundary/gates.h"

namespace sallyport {
namespace {

// "missing counts as true": an argument that the call leaves out must not be a way round approval.
bool wants_approval(const Passage& passage) {
  if (!passage.approval_rule.empty()) return true;
  if (!passage.tool->approval) return passage.tool->irreversible;
  const auto& when = passage.tool->approval->when;
  // Arguments that are too large to judge are judged by a person.
  return !when || !when->surely_refuses(passage.arguments);
}

}  // namespace

Pass approve(Passage& passage) {
  if (!wants_approval(passage)) return {};
  const std::string rule = !passage.approval_rule.empty()
                               ? passage.approval_rule
                               : "tools." + passage.tool->name +
                                     (passage.tool->approval ? ".approval" : ".irreversible");
  if (passage.purpose != Passage::Purpose::run)
    return Block{Reason::approval, rule, "this call waits for a person to approve it", "",
                 Status::pending};
  // Nobody can be asked yet, and what is asked for is not left out.
  return Block{Reason::unavailable, rule,
               passage.tool->name + " needs an approval, and this version cannot ask for one",
               "calls for which the policy asks no approval are run"};
}

}  // namespace sallyport
