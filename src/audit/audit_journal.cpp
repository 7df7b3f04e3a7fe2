// The journal of a state directory: a stream for each tenant.
#include <fcntl.h>

#include <map>
#include <mutex>

#include "audit/journal.h"
#include "audit/stream_files.h"
#include "audit/stream_writer.h"
#include "base/private_file.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::chrono::seconds kPatience{30};

std::string_view text_of(const json::object& record, std::string_view key) {
  const json::value* value = record.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : "";
}

class AuditJournal final : public Journal {
 public:
  AuditJournal(Fd directory, AuditOptions options, SigningKey key)
      : directory_(std::move(directory)),
        options_(std::move(options)),
        key_(std::move(key)),
        writers_(directory_.get()) {}

  ~AuditJournal() override {
    for (StreamWriter* each : all())
      each->do_task(StreamWriter::Task::checkpoint);
  }

  Result<void> open() {
    if (auto own = writers_.own(); !own) return std::unexpected(std::move(own.error()));
    const auto names = list_streams(directory_.get());
    if (!names) return std::unexpected(names.error());
    // A stream that is damaged refuses the calls of its tenant, not those of others.
    for (const std::string& name : *names)
      stream(name).do_task(StreamWriter::Task::open);
    return {};
  }

  Result<void> write(json::object record) override {
    std::string_view tenant = text_of(record, "tenant");
    if (tenant.empty()) tenant = kNobody;
    if (!is_stream_name(tenant))
      return fail(Reason::unavailable, quoted(tenant) + " is no name of a tenant");
    StreamWriter& writer = stream(std::string(tenant));
    const std::string_view kind = text_of(record, "record");
    const bool outcome = kind == "outcome";
    if (kind == "intent") {
      auto own = writers_.own();
      if (!own) return std::unexpected(std::move(own.error()));
      record["writer"] = *own;
    }
    const auto draft = DraftRecord::make(std::move(record));
    if (!draft) return std::unexpected(draft.error());
    return writer.write(*draft, outcome);
  }

  void tick() override {
    for (StreamWriter* each : all())
      each->do_task(StreamWriter::Task::tick);
  }

 private:
  StreamWriter& stream(const std::string& name) {
    const std::lock_guard lock(mutex_);
    auto& writer = streams_[name];
    if (writer == nullptr)
      writer = std::make_unique<StreamWriter>(
          StreamWriter::Shared{directory_.get(), options_, key_, writers_}, name);
    return *writer;
  }
  std::vector<StreamWriter*> all() {
    const std::lock_guard lock(mutex_);
    std::vector<StreamWriter*> writers;
    writers.reserve(streams_.size());
    for (const auto& [name, writer] : streams_)
      writers.push_back(writer.get());
    return writers;
  }

  Fd directory_;
  AuditOptions options_;
  SigningKey key_;
  WriterLock writers_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<StreamWriter>> streams_;
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
