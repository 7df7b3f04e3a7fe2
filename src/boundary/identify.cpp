#include "base/text.h"
#include "boundary/gates.h"
#include "input/ip_address.h"

namespace sallyport {

Pass identify(Passage& passage) {
  // Two spellings of one address would be two lock-outs.
  if (!passage.request.address.empty()) {
    const auto address = IpAddress::parse(passage.request.address);
    if (!address)
      return Block{Reason::argument, "request.address", address.error().message,
                   "give an IPv4 or IPv6 address"};
    passage.address = address->to_text();
  }
  const std::string& name = passage.request.caller;
  const auto& callers = passage.shared.rules.callers;
  const auto known = callers.find(name);
  if (known == callers.end())
    return Block{Reason::permission, "callers",
                 name.empty() ? "the call does not say who calls"
                              : "the caller " + quoted(name) + " is not in the policy",
                 "only callers that the policy lists may call"};
  passage.caller = &known->second;

  // Looked up here, because rates are counted by tool; that there is none of the name is told by
  // authorise, to callers that were let in.
  const auto& rules = passage.shared.rules;
  if (const auto function = passage.shared.functions.find(passage.request.tool);
      function != passage.shared.functions.end()) {
    passage.function = &function->second;
    passage.tool = &function->second.tool;
  } else if (const auto tool = rules.tools.find(passage.request.tool); tool != rules.tools.end()) {
    passage.tool = &tool->second;
  }
  return {};
}

}  // namespace sallyport
