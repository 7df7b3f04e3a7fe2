// One stream of the log, as its writers see it. Whoever finds nobody writing writes for everybody
// who waits, with one fdatasync; the next of those who came meanwhile does the same.
#pragma once

#include <condition_variable>
#include <mutex>
#include <span>
#include <vector>

#include "audit/journal.h"
#include "audit/record_line.h"
#include "audit/signing_key.h"
#include "audit/stream_state.h"
#include "audit/writer_lock.h"
#include "base/kept_lock.h"
#include "base/pace.h"

namespace sallyport {

class StreamWriter {
 public:
  // What all streams of a journal share; it outlives them.
  struct Shared {
    int audit;
    const AuditOptions& options;
    const SigningKey& key;
    WriterLock& writers;
    Pace& pace;  // of the disk
  };
  StreamWriter(const Shared& shared, std::string name);

  // Durable when it returns. Outcomes that cannot be written now are written later.
  [[nodiscard]] Result<void> write(std::span<const DraftRecord* const> records);

  enum class Task {
    begin,       // make the stream, with its first segment and checkpoint, if there is none
    open,        // look what others left: a torn tail, calls without an outcome
    tick,        // the same, and a checkpoint if time asks for one
    checkpoint,  // the same, and a checkpoint if there are new records
  };
  // What goes wrong stays as it is for the next one to find, a writer at the latest.
  [[nodiscard]] Result<void> do_task(Task task);

 private:
  struct Waiting {
    std::span<const DraftRecord* const> records = {};
    std::optional<Task> task = {};
    bool done = false, leads = false;
    Result<void> result = {};
    std::condition_variable wake = {};
  };
  [[nodiscard]] Result<void> wait_for(Waiting& own);
  // Until it is done or leads. The lock is held before and after.
  void wait_for_leader(Waiting& own, std::unique_lock<std::mutex>& lock) const;
  [[nodiscard]] Result<void> commit(std::span<Waiting* const> batch);
  void keep_outcomes(std::span<Waiting* const> batch);

  // All of these hold the lock of the stream.
  [[nodiscard]] Result<void> load();
  [[nodiscard]] Result<std::vector<DraftRecord>> find_dead();
  [[nodiscard]] Result<void> append(std::span<const DraftRecord* const> records);
  [[nodiscard]] Result<void> write_lines(std::span<const DraftRecord* const> records);
  [[nodiscard]] Result<void> rotate();
  [[nodiscard]] Result<void> begin_segment();
  [[nodiscard]] Result<void> make_checkpoint(bool sync);
  void make_checkpoint_if_due(std::span<Waiting* const> batch);
  void send_outside(const std::string& note) const;

  Shared shared_;
  std::string name_;

  std::mutex mutex_;
  bool leading_ = false;
  std::vector<Waiting*> queue_;

  // Only the one that leads touches these.
  Fd directory_, file_;
  KeptLock lock_{"lock"};
  StreamState state_;
  bool loaded_ = false;
  Result<void> load_result_ = {};  // of the last attempt, which is not made again at once
  std::int64_t loaded_at_ = 0;
  std::uint64_t checkpointed_ = 0;  // size of the last checkpoint
  std::int64_t checkpointed_at_ = 0;
  std::vector<DraftRecord> kept_;  // outcomes that could not be written
  // Of the write that goes on; their memory is used again.
  std::string lines_;
  std::vector<std::pair<std::size_t, Hash>> ends_;  // of each line, with its hash
};

}  // namespace sallyport
