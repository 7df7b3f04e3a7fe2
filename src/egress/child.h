// An egress process of one's own, for programs that make cells without a service.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <string>

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
  // Whether it has ended.
  [[nodiscard]] bool is_gone();

 private:
  EgressChild(Fd door, pid_t pid) : door_(std::move(door)), pid_(pid) {}
  Fd door_;
  pid_t pid_;
};

// The egress process that the cells of one program share. Started when the first of them needs it,
// and again when it has died. From any thread.
class SharedEgress {
 public:
  // `program`: a path of `sallyport`; empty: none is known, and there is no egress process.
  explicit SharedEgress(std::string program) : program_(std::move(program)) {}

  // Held for as long as a cell uses it.
  [[nodiscard]] Result<std::shared_ptr<EgressChild>> get();

 private:
  std::string program_;
  std::mutex mutex_;
  std::shared_ptr<EgressChild> child_;
};

}  // namespace sallyport
