// An egress process of one's own, for programs that make cells without a service.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "credential/settings.h"

namespace sallyport {

// Where a started egress process finds its door, and the settings of its reader if there are any.
inline constexpr int kEgressDoor = 3, kReaderSettings = 4;
inline constexpr const char* kWithCredentials = "with-credentials";
inline constexpr std::size_t kLargestSettings = std::size_t{1} << 20;

class EgressChild {
 public:
  // Starts `program` (a path of `sallyport`) as an egress process, and with it one that reads the
  // sources of credentials. From any thread.
  [[nodiscard]] static Result<EgressChild> start(const char* program,
                                                 const ReaderSettings& credentials = {});

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

  // Held for as long as a cell uses it. With other credentials than before it is another one.
  [[nodiscard]] Result<std::shared_ptr<EgressChild>> get(const ReaderSettings& credentials);

 private:
  std::string program_;
  std::mutex mutex_;
  std::shared_ptr<EgressChild> child_;
  ReaderSettings credentials_;  // of the child
};

}  // namespace sallyport
