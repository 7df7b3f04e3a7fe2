// What a tool writes while it runs, shown as it comes.
#pragma once

#include <memory>
#include <thread>

#include "base/error.h"
#include "base/fd.h"
#include "redact/redact.h"

namespace sallyport {

// A pipe: what is written into it comes out of `to` as ShownText lets it.
class ShownStream {
 public:
  // No more than `most` bytes come out, and none once `cancel` is readable (-1: it never is).
  [[nodiscard]] static Result<std::unique_ptr<ShownStream>> open(
      int to, int cancel, std::uint64_t most, std::shared_ptr<const Redactions> redactions);
  ShownStream(const ShownStream&) = delete;
  ShownStream& operator=(const ShownStream&) = delete;
  // All that was written has come out. Nobody else may have it open any more.
  ~ShownStream();

  [[nodiscard]] int write_end() const { return write_end_.get(); }

 private:
  ShownStream() = default;

  Fd write_end_;
  std::thread relay_;
};

}  // namespace sallyport
