// The journal of a state directory: a stream for each tenant.
#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "audit/journal.h"
#include "audit/stream_files.h"
#include "audit/stream_state.h"
#include "audit/stream_writer.h"
#include "base/private_file.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::chrono::seconds kPatience{30};
constexpr const char* kListed = "listed";

class AuditJournal final : public Journal {
 public:
  AuditJournal(Fd directory, AuditOptions options, SigningKey key)
      : directory_(std::move(directory)),
        options_(std::move(options)),
        key_(std::move(key)),
        writers_(directory_.get()) {}

  ~AuditJournal() override {
    for (StreamWriter* each : all())
      try_task(*each, StreamWriter::Task::checkpoint);
  }

  Result<void> open() {
    if (auto own = writers_.own(); !own) return std::unexpected(std::move(own.error()));
    const auto names = list_streams(directory_.get());
    if (!names) return std::unexpected(names.error());
    // A stream that is damaged refuses the calls of its tenant, not those of others.
    for (const std::string& name : *names)
      try_task(*stream(name).writer, StreamWriter::Task::open);
    return {};
  }

  std::vector<Result<void>> write_drafts(std::span<const DraftRecord* const> records) override {
    std::vector<Result<void>> results(records.size());
    std::vector<Group> groups;
    for (std::size_t i = 0; i < records.size(); ++i)
      results[i] = add(*records[i], i, records.size() - i, groups);
    for (const Group& group : groups) {
      Result<void> written = list(*group.stream);
      if (written) written = group.stream->writer->write(group.drafts);
      for (const std::size_t place : group.places)
        results[place] = written;
    }
    return results;
  }

  Result<std::string> writer() override { return writers_.own(); }
  bool is_quick() const override { return pace_.is_quick(); }

  void tick() override {
    for (StreamWriter* each : all())
      try_task(*each, StreamWriter::Task::tick);
  }

 private:
  // What goes wrong is found again, by the next one that writes at the latest.
  static void try_task(StreamWriter& writer, StreamWriter::Task task) {
    [[maybe_unused]] const auto done = writer.do_task(task);
  }
  struct Stream {
    std::string name;
    std::unique_ptr<StreamWriter> writer;
    std::atomic<bool> listed = false;
  };
  // Records that go into one stream together.
  struct Group {
    Stream* stream;
    std::vector<const DraftRecord*> drafts = {};
    std::vector<std::size_t> places = {};  // in the list of all
  };

  // So many are `left`, with this one.
  Result<void> add(const DraftRecord& draft, std::size_t place, std::size_t left,
                   std::vector<Group>& groups) {
    std::string_view tenant = draft.view().tenant;
    if (tenant.empty()) tenant = kNobody;
    auto group = std::ranges::find_if(
        groups, [&](const Group& each) { return each.stream->name == tenant; });
    if (group == groups.end()) {
      if (!is_stream_name(tenant))
        return fail(Reason::unavailable, quoted(tenant) + " is no name of a tenant");
      group = groups.insert(group, {&stream(std::string(tenant))});
      group->drafts.reserve(left);
      group->places.reserve(left);
    }
    group->drafts.push_back(&draft);
    group->places.push_back(place);
    return {};
  }

  // Before a stream gets its first record, the stream of nobody gets one about it. Each step can be
  // the last before a crash: a stream that is made and not listed is empty, and one that is listed
  // twice is the same both times.
  Result<void> list(Stream& listed) {
    if (listed.listed || listed.name == kNobody) return {};
    const std::lock_guard one_at_a_time(listing_);
    if (listed.listed) return {};
    if (auto begun = listed.writer->do_task(StreamWriter::Task::begin); !begun) return begun;
    const auto directory = open_directory(directory_.get(), listed.name, false);
    if (!directory) return std::unexpected(directory.error());
    if (const auto mark = open_private_file(directory->get(), kListed, O_RDONLY); !mark)
      return std::unexpected(mark.error());
    else if (!mark->valid()) {
      const auto first = first_leaf(directory->get());
      if (!first)
        return fail(Reason::unavailable,
                    "the audit log of " + quoted(listed.name) + " has no first record any more");
      auto record = DraftRecord::make(
          {{"record", "stream"}, {"stream", listed.name}, {"first", to_hex(*first)}});
      if (!record) return std::unexpected(std::move(record.error()));
      const DraftRecord* const records[] = {&*record};
      if (auto said = stream(std::string(kNobody)).writer->write(records); !said) return said;
      if (auto made = open_private_file(directory->get(), kListed, O_WRONLY | O_CREAT); !made)
        return std::unexpected(std::move(made.error()));
    }
    listed.listed = true;
    return {};
  }

  Stream& stream(const std::string& name) {
    const std::lock_guard lock(mutex_);
    Stream& found = streams_[name];
    if (found.writer == nullptr) {
      found.name = name;
      found.writer = std::make_unique<StreamWriter>(
          StreamWriter::Shared{directory_.get(), options_, key_, writers_, pace_}, name);
    }
    return found;
  }
  std::vector<StreamWriter*> all() {
    const std::lock_guard lock(mutex_);
    std::vector<StreamWriter*> writers;
    writers.reserve(streams_.size());
    for (const auto& [name, stream] : streams_)
      writers.push_back(stream.writer.get());
    return writers;
  }

  Fd directory_;
  AuditOptions options_;
  SigningKey key_;
  WriterLock writers_;
  Pace pace_{options_.disk};
  std::mutex listing_, mutex_;
  std::map<std::string, Stream> streams_;
};

}  // namespace

Result<std::unique_ptr<Journal>> audit_journal(int state_directory, AuditOptions options) {
  auto directory = open_directory(state_directory, "audit", true);
  if (!directory) return std::unexpected(std::move(directory.error()));
  // Two processes that begin at the same time must not make two keys.
  const auto lock = lock_private_file(directory->get(), "lock", O_RDWR | O_CREAT, kPatience);
  if (!lock) return std::unexpected(lock.error());
  auto key = open_signing_key(state_directory);
  if (!key) return std::unexpected(std::move(key.error()));
  auto journal =
      std::make_unique<AuditJournal>(std::move(*directory), std::move(options), std::move(*key));
  if (auto opened = journal->open(); !opened) return std::unexpected(std::move(opened.error()));
  return journal;
}

}  // namespace sallyport
