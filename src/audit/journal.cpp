#include "audit/journal.h"

namespace sallyport {
namespace {

class NoJournal final : public Journal {
 public:
  std::vector<Result<void>> write_all(std::vector<json::object> records) override {
    return std::vector<Result<void>>(records.size());
  }
  std::vector<Result<void>> write_drafts(std::span<const DraftRecord* const> records) override {
    return std::vector<Result<void>>(records.size());
  }
  Result<std::string> writer() override { return std::string(); }
};

Result<DraftRecord> draft_of(Journal& journal, json::object record) {
  if (const json::value* kind = record.if_contains("record");
      kind != nullptr && *kind == "intent") {
    auto writer = journal.writer();
    if (!writer) return std::unexpected(std::move(writer.error()));
    record["writer"] = *writer;
  }
  return DraftRecord::make(record);
}

}  // namespace

Result<void> Journal::write(json::object record) {
  std::vector<json::object> records;
  records.push_back(std::move(record));
  return std::move(write_all(std::move(records)).front());
}

std::vector<Result<void>> Journal::write_all(std::vector<json::object> records) {
  std::vector<Result<void>> results(records.size());
  std::vector<DraftRecord> drafts;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (auto draft = draft_of(*this, std::move(records[i]))) {
      drafts.push_back(std::move(*draft));
      places.push_back(i);
    } else {
      results[i] = std::unexpected(std::move(draft.error()));
    }
  }
  std::vector<const DraftRecord*> all;
  all.reserve(drafts.size());
  for (const DraftRecord& draft : drafts)
    all.push_back(&draft);
  auto written = write_drafts(all);
  for (std::size_t i = 0; i < places.size(); ++i)
    results[places[i]] = std::move(written[i]);
  return results;
}

std::unique_ptr<Journal> no_journal() {
  return std::make_unique<NoJournal>();
}

}  // namespace sallyport
