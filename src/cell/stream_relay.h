// One output stream of the cell on its way to the caller: captured in bounded memory, passed on as
// it comes. Never blocks, so a reader that is slow or gone cannot keep the supervisor from its
// deadline.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.h"
#include "cell/output.h"
#include "egress/fingerprints.h"

namespace sallyport {

class StreamRelay {
 public:
  // `source` is non-blocking, or none yet; `destination` < 0 captures only. No more than `limit`
  // bytes are passed on.
  StreamRelay(Fd source, int destination, ByteSize limit);

  // Where it comes from, if that was not known at first.
  void read_from(Fd source) { source_ = std::move(source); }

  // Where it goes, if that was not known at first.
  void pass_on_to(int destination);

  // Descriptors to poll: -1 while there is nothing to wait for.
  [[nodiscard]] int wants_read() const { return pending_.empty() ? source_.get() : -1; }
  [[nodiscard]] int wants_write() const { return pending_.empty() ? -1 : destination_; }

  // From now on, what has one of these fingerprints is covered. They stay the caller's.
  void cover(const Fingerprints& fingerprints) { cover_.emplace(fingerprints); }

  // Takes what is there; one bounded piece per call.
  void read_some();
  // Passes on what poll has made room for.
  void write_some();
  // The tool has written too much: what it writes until it is dead is nobody's.
  void stop_reading() { source_.reset(); }
  // After the cell has ended: takes what is left, waiting up to `patience` for the end of the
  // stream, and passes on all of it, waiting for the reader as any program would, until `cancel`
  // becomes readable.
  void finish(int cancel, std::chrono::milliseconds patience);

  [[nodiscard]] std::uint64_t total() const { return captured_.total(); }
  [[nodiscard]] bool truncated() const { return captured_.truncated(); }
  [[nodiscard]] bool reader_gone() const { return reader_gone_; }
  [[nodiscard]] std::string text() const { return captured_.text(); }
  [[nodiscard]] std::uint64_t covered() const { return cover_ ? cover_->found() : 0; }

 private:
  void take(std::string_view bytes);
  void pass_on(const char* bytes, std::size_t size);

  Fd source_;
  Fd reopened_;
  int destination_;
  ByteSize limit_;
  CapturedStream captured_;
  std::optional<FingerprintCover> cover_;
  std::string pending_;
  std::uint64_t passed_ = 0;
  bool reader_gone_ = false;
};

}  // namespace sallyport
