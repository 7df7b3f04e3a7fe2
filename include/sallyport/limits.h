// The budget of one call.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "sallyport/units.h"

namespace sallyport {

// The comments say what happens at the limit.
struct Limits {
  Duration timeout = std::chrono::seconds{10};  // wall clock from the start of the command; kills
  Duration cpu = std::chrono::seconds{10};      // CPU time of all processes together; kills
  double cpus = 1.0;                            // CPUs' worth of time per second; slows
  ByteSize memory = 256_MiB;                    // of all processes and the scratch, no swap; kills
  unsigned processes = 64;                      // processes and threads; fork fails
  unsigned open_files = 256;                    // descriptors per process; open fails
  ByteSize disk = 100_MiB;                      // bytes in the scratch; write fails
  std::uint64_t inodes = 10'000;                // files in the scratch; create fails
  ByteSize file_size = 10_MB;                   // bytes in one file; write fails
  ByteSize max_output = 10_kB;                  // bytes of each stream that are kept; trims
  ByteSize max_output_hard = 10_MB;             // bytes of output in all; kills
  ByteSize max_result = 50_kB;                  // bytes of a structured result; refused
  unsigned refused_syscalls = 1'000;            // refused system calls; kills
  std::optional<Rate> io;                       // disk bandwidth each way; slows
};

}  // namespace sallyport
