#include "boundary/gates.h"
#include "boundary/redactions.h"
#include "policy/not_yet.h"

namespace sallyport {

Pass check_available(const Passage& passage) {
  if (passage.purpose == Passage::Purpose::decide) return {};
  for (const NotYet& row : not_yet())
    if (row.asked(*passage.tool))
      return Block{Reason::unavailable, "tools." + passage.tool->name + "." + std::string(row.key),
                   passage.tool->name + " asks for " + std::string(row.what) +
                       ", which this version does not have",
                   "calls of tools that do not ask for it are run"};
  if (passage.tool->kind == ToolKind::function && passage.function == nullptr)
    return Block{Reason::unavailable, "tools." + passage.tool->name,
                 passage.tool->name + " is a function that a host program has to register",
                 "only a program that uses the library can call it"};
  return {};
}

Pass lend(Passage& passage) {
  if (passage.purpose == Passage::Purpose::decide) return {};
  if (!passage.request.idempotency_key.empty())
    return Block{Reason::unavailable, "request.idempotency_key",
                 "this version does not keep idempotency keys",
                 "leave it out, and do not repeat the call on your own"};
  // Before anything runs: a result that nobody could look through would have to be thrown away.
  const OutputRules& output = passage.tool->output;
  if (!output.redacts()) return {};
  if (!passage.request.output_directory.empty())
    return Block{Reason::unavailable, "request.output_directory",
                 "files of a tool whose output is redacted do not go into a directory unseen",
                 "leave the directory out: their contents are in the result"};
  auto redactions = redactions_for(output);
  if (!redactions)
    return Block{Reason::cannot_enforce, "tools." + passage.tool->name + ".output.redact",
                 redactions.error().message, redactions.error().hint};
  passage.redactions = std::move(*redactions);
  return {};
}

}  // namespace sallyport
