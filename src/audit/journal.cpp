#include "audit/journal.h"

namespace sallyport {
namespace {

class NoJournal final : public Journal {
 public:
  std::vector<Result<void>> write_all(std::vector<json::object> records) override {
    return std::vector<Result<void>>(records.size());
  }
};

}  // namespace

Result<void> Journal::write(json::object record) {
  std::vector<json::object> records;
  records.push_back(std::move(record));
  return std::move(write_all(std::move(records)).front());
}

std::unique_ptr<Journal> no_journal() {
  return std::make_unique<NoJournal>();
}

}  // namespace sallyport
