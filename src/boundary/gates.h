// The gates, each in a file of its own name. Their order is in boundary.cpp.
#pragma once

#include "boundary/passage.h"

namespace sallyport {

// Who calls? A caller that the policy does not know is nobody.
Pass identify(Passage& passage);
// Is there room? Lock-out, rates, calls in flight, the budget of the day.
Pass admit(Passage& passage);
// May this caller use this tool? Then its limits for this call are set too.
Pass authorise(Passage& passage);
// The end of authorise: a tool that this version cannot run for anybody says so before it looks at
// arguments, so that the call is no denial, whatever its arguments are.
Pass check_available(const Passage& passage);
// Are the arguments what the tool declares? What passes is a new value, made from the old.
Pass inspect(Passage& passage);
// The end of inspect, of tools that run code: does it do what it may?
Pass screen_code(Passage& passage);
// Must a person agree first?
Pass approve(Passage& passage);
// Everything else that the call itself asks for is there, or it does not begin.
Pass lend(Passage& passage);

// The way back. These see the result of a call that ran.
Pass validate(Passage& passage);
Pass redact(Passage& passage);
Pass mark(Passage& passage);

// Before the intent is written: has a launcher get a cell ready meanwhile, where nothing outside of
// it is needed for that. Nothing runs.
void ask_ahead(Passage& passage);
// Between the two: runs the tool. What could not be started is a Block.
Pass run_tool(Passage& passage);

// Whether the address of a call by nobody is locked out.
[[nodiscard]] Pass admit_stranger(Passage& passage);

// The address that a call is held to. Who shows a key is held to its own name: others at the same
// address must not be able to lock it out.
[[nodiscard]] inline const std::string& counted_address(const Passage& passage) {
  static const std::string none;
  return passage.request.key_id.empty() ? passage.address : none;
}

}  // namespace sallyport
