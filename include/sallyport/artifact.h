// A file of the scratch that came back from a call.
#pragma once

#include <cstdint>
#include <string>

namespace sallyport {

struct Artifact {
  std::string name;  // relative to /workspace, and to the destination
  std::uint64_t size;
};

}  // namespace sallyport
