// What becomes of a tool's changes to files of the host.
#pragma once

namespace sallyport {

// What happens to changes under a writable grant.
enum class WriteMode {
  direct,  // they reach the host at once, without a size limit
  copy,    // they stay in the scratch, under its limits, and are copied back at the end
};

}  // namespace sallyport
