#include "boundary/gates.h"

namespace sallyport {

Pass redact(Passage&) {
  // A tool for which the policy asks redaction has not run: lend refuses it until there is one.
  return {};
}

}  // namespace sallyport
