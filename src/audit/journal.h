// The record of calls: an intent before anything runs, an outcome before the result is released. A
// record that cannot be written refuses the call.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "audit/record_line.h"
#include "base/json.h"
#include "base/pace.h"
#include "sallyport/error.h"

namespace sallyport {

class Journal {
 public:
  virtual ~Journal() = default;
  // Durable when it returns. The object gets `time`, `seq` and `prev`, an intent `writer` too; it
  // belongs to the stream of its `tenant`. The error is `unavailable`, and nothing of the record is
  // in the log; an outcome is kept, and written as soon as something can be written again.
  [[nodiscard]] Result<void> write(json::object record);
  // The same for several at once, which share their waits for the disk.
  [[nodiscard]] virtual std::vector<Result<void>> write_all(std::vector<json::object> records);
  // The same for records that are texts already; intents name their `writer`.
  [[nodiscard]] virtual std::vector<Result<void>> write_drafts(
      std::span<const DraftRecord* const> records) = 0;
  // This process, as long as it lives: intents without an outcome whose writer is gone are ended.
  [[nodiscard]] virtual Result<std::string> writer() = 0;
  // Whether what is written has been durable at once so far: a thread that must not be held up may
  // write then.
  [[nodiscard]] virtual bool is_quick() const { return true; }
  // To be called every second or so by a process that lives long: makes the checkpoints that time
  // asks for, and gives calls of writers that died their outcome. May take as long as a write.
  virtual void tick() {}
};

struct AuditOptions {
  std::uint64_t segment_bytes = std::uint64_t{64} << 20;  // a segment that has more is closed
  // A checkpoint is due when so many records, or so much time, lie behind the last one.
  std::uint64_t checkpoint_records = 1000;
  std::chrono::milliseconds checkpoint_interval = std::chrono::seconds{10};
  // Each checkpoint is appended to this file too; empty: to none. A file that cannot be written
  // stops nothing: the next checkpoint covers what this one did.
  std::string outside_file;
  // Gets each checkpoint, signed, on the thread of a writer: it must not wait for anything.
  std::function<void(const std::string& stream, const std::string& note)> on_checkpoint;
  // What a disk is that is quick.
  Pace::Bounds disk{.usual_ns = 30'000, .most_ns = 20'000'000, .proof = 64};
};

// Keeps nothing: for a boundary without a state directory.
[[nodiscard]] std::unique_ptr<Journal> no_journal();

// The log in `audit/` of the state directory (stream_files.h), tamper-evident and signed. Threads
// share their waits for the disk; several processes may write at the same time. Opening it cuts
// back what a crash left torn, says so in the log, and gives every call whose writer is dead an
// outcome, `outcome_unknown`. Closing it makes a last checkpoint.
[[nodiscard]] Result<std::unique_ptr<Journal>> audit_journal(int state_directory,
                                                             AuditOptions options = {});

}  // namespace sallyport
