// An egress process of one's own, for programs that make cells without a service.
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// Where a started egress process finds its door.
inline constexpr int kEgressDoor = 3;

class EgressChild {
 public:
  // Starts `program` (a path of `sallyport`) as an egress process. From any thread.
  [[nodiscard]] static Result<EgressChild> start(const char* program);

  EgressChild(EgressChild&& other) noexcept;
  EgressChild& operator=(EgressChild&&) = delete;
  // Ends it: a process whose door is closed has nothing left to do.
  ~EgressChild();

  [[nodiscard]] int door() const { return door_.get(); }

 private:
  EgressChild(Fd door, pid_t pid) : door_(std::move(door)), pid_(pid) {}
  Fd door_;
  pid_t pid_;
};

}  // namespace sallyport
