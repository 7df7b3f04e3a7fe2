#include "door/cli/egress_command.h"

#include <unistd.h>

#include <array>
#include <string_view>

#include "door/cli/audit_command.h"
#include "door/cli/process.h"
#include "egress/child.h"
#include "egress/process.h"

namespace sallyport {

int egress_command(std::span<const char* const> words) {
  const std::string_view verb = words.empty() ? "" : words[0];
  if (verb == "log") return egress_log_command(words.subspan(1));
  if (verb == "--help" || verb == "help")
    return egress_log_command(std::array<const char*, 1>{"--help"});
  print_error(
      {Reason::argument, "egress takes one verb: log", "`sallyport egress log --help` says more"});
  return kWrongUsage;
}

int egress_process_command(std::span<const char* const>) {
  // What the caller's own parent left open is no business of a process that speaks with strangers.
  if (::close_range(kEgressDoor + 1, ~0U, 0) != 0) {
    print_error({Reason::cannot_enforce, describe(SysError{"close_range", "", errno}), {}});
    return kCouldNotStart;
  }
  if (auto served = serve_egress(Fd(kEgressDoor)); !served) {
    print_error(served.error());
    return kCouldNotStart;
  }
  return 0;
}

}  // namespace sallyport
