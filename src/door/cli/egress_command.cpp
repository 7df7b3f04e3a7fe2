#include "door/cli/egress_command.h"

#include "door/cli/process.h"
#include "egress/child.h"
#include "egress/process.h"

namespace sallyport {

int egress_process_command(std::span<const char* const>) {
  if (auto served = serve_egress(Fd(kEgressDoor)); !served) {
    print_error(served.error());
    return kCouldNotStart;
  }
  return 0;
}

}  // namespace sallyport
