// The limits of a budget as one table: the loader, the strictest-wins rule, explain, diff, the JSON
// Schema of the file and the `limits` of a call are made from it.
#pragma once

#include <optional>

#include "sallyport/limits.h"

namespace sallyport {

// X(name, type, sentence). The name is the key in the policy file and the member of Limits.
#define SALLYPORT_LIMITS(X)                                                        \
  X(timeout, Duration, "wall clock; kills")                                        \
  X(cpu, Duration, "CPU time of all processes together; kills")                    \
  X(cpus, double, "CPUs' worth of time per second; slows")                         \
  X(memory, ByteSize, "of all processes and the scratch together, no swap; kills") \
  X(processes, unsigned, "processes and threads at once; fork fails")              \
  X(open_files, unsigned, "open files per process; open fails")                    \
  X(disk, ByteSize, "bytes in the scratch; write fails")                           \
  X(inodes, std::uint64_t, "files in the scratch; create fails")                   \
  X(file_size, ByteSize, "bytes in one file; write fails")                         \
  X(max_output, ByteSize, "bytes of each stream that come back; trims")            \
  X(max_output_hard, ByteSize, "bytes of output in all; kills")                    \
  X(max_result, ByteSize, "bytes of a structured result; refused")                 \
  X(refused_syscalls, unsigned, "refused system calls; kills")                     \
  X(io, Rate, "disk bandwidth each way; slows")

// What one level of the policy says about the budget.
struct LimitRules {
#define SALLYPORT_LIMIT_MEMBER(name, type, sentence) std::optional<type> name;
  SALLYPORT_LIMITS(SALLYPORT_LIMIT_MEMBER)
#undef SALLYPORT_LIMIT_MEMBER
};

}  // namespace sallyport
