#include "audit/stream_writer.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/stream_files.h"
#include "base/clock.h"
#include "base/private_file.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr const char* kCheckpoints = "checkpoints";
constexpr std::chrono::seconds kPatience{30};   // a slow disk with many writers
constexpr std::int64_t kMoment = 100'000;       // longer than a write takes on a quick disk
constexpr std::int64_t kRetry = 1'000'000'000;  // a damaged log is not read at each call
constexpr std::size_t kMostBatch = std::size_t{8} << 20;  // bytes of one fdatasync
constexpr std::size_t kMostKept = 1024;
constexpr std::size_t kMostBuffer = std::size_t{1} << 20;  // that is kept between writes

std::unexpected<Error> not_written(const SysError& error) {
  return fail(
      Reason::unavailable, "the record of the call could not be written: " + describe(error),
      error.err == ENOSPC || error.err == EDQUOT ? "make room on the disk of the state directory"
                                                 : "");
}

// All of it at that place, forced to disk; otherwise nothing of it.
Result<void> write_durably(int file, std::string_view bytes, std::uint64_t at, const char* name) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote =
        ::pwrite(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      const int err = errno;
      (void)!::ftruncate(file, static_cast<off_t>(at));
      return not_written({"write", name, err});
    }
    done += static_cast<std::size_t>(wrote);
  }
  if (::fdatasync(file) != 0) {
    const int err = errno;
    (void)!::ftruncate(file, static_cast<off_t>(at));
    return not_written({"fdatasync", name, err});
  }
  return {};
}

// What is known of a call that nobody will tell the end of any more.
json::object unknown_outcome(const std::string& call_id,
                             const std::optional<json::object>& intent) {
  json::object record{{"record", "outcome"},
                      {"call_id", call_id},
                      {"status", "error"},
                      {"reason", name_of(Reason::outcome_unknown)}};
  if (!intent) return record;
  for (const char* field :
       {"call_id", "tenant", "caller", "tool", "policy", "address", "key", "trace"})
    if (const json::value* value = intent->if_contains(field)) record[field] = *value;
  return record;
}

}  // namespace

StreamWriter::StreamWriter(const Shared& shared, std::string name)
    : shared_(shared), name_(std::move(name)) {}

Result<void> StreamWriter::write(std::span<const DraftRecord* const> records) {
  Waiting own{.records = records};
  return wait_for(own);
}

Result<void> StreamWriter::do_task(Task task) {
  Waiting own{.task = task};
  return wait_for(own);
}

Result<void> StreamWriter::wait_for(Waiting& own) {
  std::unique_lock lock(mutex_);
  queue_.push_back(&own);
  if (leading_) {
    wait_for_leader(own, lock);
    if (own.done) return std::move(own.result);
  }
  leading_ = true;
  // Our own is the first.
  std::size_t count = 0, bytes = 0;
  while (count < queue_.size() && (count == 0 || bytes < kMostBatch)) {
    for (const DraftRecord* record : queue_[count]->records)
      bytes += record->size();
    ++count;
  }
  const std::vector<Waiting*> batch(queue_.begin(), queue_.begin() + static_cast<long>(count));
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<long>(count));
  lock.unlock();

  Result<void> result = commit(batch);
  if (!result) keep_outcomes(batch);
  lock.lock();
  for (Waiting* each : batch) {
    if (each == &own) continue;
    each->result = result;
    each->done = true;
    each->wake.notify_one();
  }
  if (queue_.empty()) {
    leading_ = false;
  } else {
    queue_.front()->leads = true;
    queue_.front()->wake.notify_one();
  }
  return result;
}

// On a quick disk the one that writes is done before this thread could sleep and be woken: then
// others who can run go first for a moment.
void StreamWriter::wait_for_leader(Waiting& own, std::unique_lock<std::mutex>& lock) const {
  const auto is_over = [&own] { return own.done || own.leads; };
  if (shared_.pace.is_quick()) {
    const std::int64_t end = monotonic_ns() + kMoment;
    while (!is_over() && monotonic_ns() < end) {
      lock.unlock();
      ::sched_yield();
      lock.lock();
    }
  }
  own.wake.wait(lock, is_over);
}

void StreamWriter::keep_outcomes(std::span<Waiting* const> batch) {
  for (const Waiting* each : batch)
    for (const DraftRecord* record : each->records)
      if (record->is_outcome() && kept_.size() < kMostKept) kept_.push_back(*record);
}

Result<void> StreamWriter::commit(std::span<Waiting* const> batch) try {
  const bool writes =
      std::ranges::any_of(batch, [](const Waiting* each) { return !each->records.empty(); });
  const bool begins = writes || std::ranges::any_of(batch, [](const Waiting* each) {
                        return each->task == Task::begin;
                      });
  if (!directory_) {
    auto opened = open_directory(shared_.audit, name_, begins);
    if (!opened) return std::unexpected(std::move(opened.error()));
    if (!opened->valid()) return {};
    directory_ = std::move(*opened);
  }
  const auto lock = lock_.take(directory_.get(), kPatience);
  if (!lock) {
    loaded_ = false;
    directory_.reset();  // it may be gone
    return std::unexpected(lock.error());
  }
  bool fresh = false;
  if (!loaded_) {
    const std::int64_t now = monotonic_ns();
    if (!load_result_ && now - loaded_at_ < kRetry) return load_result_;
    loaded_at_ = now;
    load_result_ = load();
    if (!load_result_) return load_result_;
    loaded_ = fresh = true;
  }

  std::vector<DraftRecord> found;
  auto torn = catch_up(directory_.get(), file_, state_);
  if (!torn) {
    loaded_ = false;
    loaded_at_ = monotonic_ns();
    return load_result_ = std::unexpected(std::move(torn.error()));
  }
  if (fresh) {
    const auto signed_off = last_checkpoint(directory_.get());
    if (!signed_off) return loaded_ = false, std::unexpected(signed_off.error());
    if (*signed_off && (*signed_off)->size > state_.tree.size()) {
      loaded_ = false;
      return load_result_ = fail(
                 Reason::unavailable,
                 "the audit log of " + quoted(name_) +
                     " is shorter than its last checkpoint: " + std::to_string(state_.tree.size()) +
                     " records of " + std::to_string((*signed_off)->size),
                 "`sallyport audit verify` says more; to begin a new log, move the directory "
                 "of the stream away and keep it");
    }
    // The first checkpoint is made before the second record.
    if (!*signed_off && state_.tree.size() > 1) {
      loaded_ = false;
      return load_result_ = fail(
                 Reason::unavailable,
                 "the checkpoints of the audit log of " + quoted(name_) + " are gone",
                 "put them back; to begin a new log, move the directory of the stream away and "
                 "keep it");
    }
    checkpointed_ = *signed_off ? (*signed_off)->size : 0;
    checkpointed_at_ = monotonic_ns();
  }
  if (*torn) {
    if (::ftruncate(file_.get(), static_cast<off_t>(state_.offset)) != 0)
      return not_written({"ftruncate", "audit log", errno});
    auto said = DraftRecord::make({{"record", "recovered"},
                                   {"segment", state_.segment},
                                   {"bytes", (*torn)->bytes},
                                   {"sha256", (*torn)->digest}});
    if (!said) return std::unexpected(std::move(said.error()));
    kept_.push_back(std::move(*said));  // it lasts until it is written
  }
  const bool sweeps =
      fresh || std::ranges::any_of(batch, [](auto* each) { return each->task.has_value(); });
  if (sweeps) {
    auto dead = find_dead();
    if (!dead) return std::unexpected(std::move(dead.error()));
    std::ranges::move(*dead, std::back_inserter(found));
  }
  std::ranges::move(kept_, std::back_inserter(found));
  const std::size_t kept = std::exchange(kept_, {}).size();

  std::vector<const DraftRecord*> records;
  records.reserve(found.size() + batch.size() + batch.front()->records.size());
  for (const DraftRecord& each : found)
    records.push_back(&each);
  for (const Waiting* each : batch)
    records.insert(records.end(), each->records.begin(), each->records.end());
  if (!records.empty() || (begins && state_.tree.size() == 0)) {
    if (writes && state_.open.size() >= kMostOpen)
      return fail(Reason::unavailable, "too many calls have begun and not ended",
                  "wait until some have ended");
    if (auto appended = append(records); !appended) {
      kept_.assign(std::make_move_iterator(found.end() - static_cast<long>(kept)),
                   std::make_move_iterator(found.end()));
      return appended;
    }
  }
  make_checkpoint_if_due(batch);
  return {};
} catch (const std::exception& error) {
  loaded_ = false;
  return fail(Reason::unavailable,
              std::string("the record of the call could not be written: ") + error.what());
}

Result<void> StreamWriter::load() {
  file_.reset();
  auto head = read_head(directory_.get());
  state_ = head ? std::move(*head) : StreamState{};
  if (head) return {};
  const auto segments = list_segments(directory_.get());
  if (!segments) return std::unexpected(segments.error());
  if (!segments->empty() && segments->front() != 1)
    return fail(Reason::unavailable,
                "the audit log of " + quoted(name_) +
                    " is not what was written: " + segment_name(1) + " is gone",
                "put it back; or move the directory of the stream away, to begin a new log");
  return {};
}

Result<std::vector<DraftRecord>> StreamWriter::find_dead() {
  std::vector<DraftRecord> records;
  for (const auto& [call_id, intent] : state_.open) {
    if (shared_.writers.is_alive(intent.writer)) continue;
    auto record =
        DraftRecord::make(unknown_outcome(call_id, read_intent(directory_.get(), intent)));
    if (!record) return std::unexpected(std::move(record.error()));
    records.push_back(std::move(*record));
  }
  return records;
}

Result<void> StreamWriter::append(std::span<const DraftRecord* const> records) {
  if (!state_.closed && state_.offset >= shared_.options.segment_bytes)
    if (auto rotated = rotate(); !rotated) return rotated;
  if (state_.closed) {
    state_.begin_next_segment();
    file_.reset();
  }
  if (!file_ || state_.offset == 0)
    if (auto begun = begin_segment(); !begun) return begun;
  // Without one, nobody could tell later that all of them were taken away.
  if (checkpointed_ == 0)
    if (auto made = make_checkpoint(true); !made) return made;
  return records.empty() ? Result<void>() : write_lines(records);
}

Result<void> StreamWriter::write_lines(std::span<const DraftRecord* const> records) {
  std::string& bytes = lines_;
  bytes.clear();
  if (bytes.capacity() > kMostBuffer) bytes.shrink_to_fit();
  ends_.clear();
  std::uint64_t seq = state_.tree.size();
  Hash last = state_.last;
  for (const DraftRecord* record : records) {
    const std::size_t begin = bytes.size();
    record->append_line(bytes, seq++, last);
    last = leaf_hash(std::string_view(bytes).substr(begin));
    ends_.emplace_back(bytes.size(), last);
    bytes.push_back('\n');
  }
  const std::int64_t written_from = monotonic_ns();
  if (auto written =
          write_durably(file_.get(), bytes, state_.offset, segment_name(state_.segment).c_str());
      !written)
    return written;
  shared_.pace.took(monotonic_ns() - written_from);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto& [end, leaf] = ends_[i];
    state_.add(end - begin, records[i]->view(), leaf);
    begin = end + 1;
  }
  return {};
}

Result<void> StreamWriter::rotate() {
  const auto last = DraftRecord::make({{"record", "rotated"}, {"segment", state_.segment}});
  if (!last) return std::unexpected(last.error());
  const DraftRecord* const records[] = {&*last};
  return write_lines(records);
}

Result<void> StreamWriter::begin_segment() {
  const std::string name = segment_name(state_.segment);
  if (!file_) {
    auto opened = open_private_file(directory_.get(), name.c_str(), O_RDWR | O_CREAT);
    if (!opened) return std::unexpected(std::move(opened.error()));
    file_ = std::move(*opened);
    if (::fsync(directory_.get()) != 0) {
      const int err = errno;
      file_.reset();
      return not_written({"fsync", "audit", err});
    }
  }
  json::array subtrees;
  for (const Hash& hash : state_.tree.subtrees())
    subtrees.emplace_back(to_hex(hash));
  const auto first = DraftRecord::make({{"record", "segment"},
                                        {"format", 1},
                                        {"stream", name_},
                                        {"segment", state_.segment},
                                        {"subtrees", std::move(subtrees)}});
  if (!first) return std::unexpected(first.error());
  const DraftRecord* const records[] = {&*first};
  return write_lines(records);
}

void StreamWriter::make_checkpoint_if_due(std::span<Waiting* const> batch) {
  const std::uint64_t behind = state_.tree.size() - checkpointed_;
  if (behind == 0) return;
  const bool asked = std::ranges::any_of(
      batch, [](const Waiting* each) { return each->task == Task::checkpoint; });
  const auto interval =
      std::chrono::duration_cast<std::chrono::nanoseconds>(shared_.options.checkpoint_interval);
  if (!asked && behind < shared_.options.checkpoint_records &&
      monotonic_ns() - checkpointed_at_ < interval.count())
    return;
  // The records are safe whether it succeeds or not; the next one will cover them.
  [[maybe_unused]] const auto made = make_checkpoint(!asked);
}

Result<void> StreamWriter::make_checkpoint(bool sync) {
  checkpointed_at_ = monotonic_ns();
  const auto file = open_private_file(directory_.get(), kCheckpoints, O_RDWR | O_CREAT);
  if (!file) return std::unexpected(file.error());
  auto size = size_of(file->get());
  if (!size) return std::unexpected(size.error());
  std::string tail(std::min<std::uint64_t>(*size, 2 * kLongestNote), '\0');
  if (::pread(file->get(), tail.data(), tail.size(), static_cast<off_t>(*size - tail.size())) !=
      static_cast<ssize_t>(tail.size()))
    return not_written({"read", kCheckpoints, errno});
  const NotePlace last = last_note(tail);
  // Behind the last whole note: a writer may have died within one.
  const std::uint64_t at = *size - tail.size() + last.end;

  Checkpoint checkpoint{.stream = name_,
                        .size = state_.tree.size(),
                        .root = state_.tree.root(),
                        .time = time_text(wall_clock_us()),
                        .open = state_.open.size()};
  if (last.end > 0)
    checkpoint.previous =
        note_hash(std::string_view(tail).substr(last.begin, last.end - last.begin - 1));
  const auto note = checkpoint.sign(shared_.key);
  if (!note) return std::unexpected(note.error());
  const std::string bytes = *note + "\n";
  if (::ftruncate(file->get(), static_cast<off_t>(at)) != 0 ||
      ::pwrite(file->get(), bytes.data(), bytes.size(), static_cast<off_t>(at)) !=
          static_cast<ssize_t>(bytes.size())) {
    const int err = errno;
    (void)!::ftruncate(file->get(), static_cast<off_t>(at));
    return not_written({"write", kCheckpoints, err});
  }
  if (sync && ::fdatasync(file->get()) != 0) return not_written({"fdatasync", kCheckpoints, errno});
  checkpointed_ = state_.tree.size();
  send_outside(*note);
  return write_head(directory_.get(), state_);
}

void StreamWriter::send_outside(const std::string& note) const {
  const AuditOptions& options = shared_.options;
  if (!options.outside_file.empty()) {
    const Fd file(::open(options.outside_file.c_str(),
                         O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600));
    const std::string bytes = note + "\n";
    if (file && ::write(file.get(), bytes.data(), bytes.size()) > 0) (void)!::fdatasync(file.get());
  }
  if (options.on_checkpoint) options.on_checkpoint(name_, note);
}

}  // namespace sallyport
