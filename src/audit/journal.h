// The record of calls: an intent before anything runs, an outcome before the result is released.
// Plain JSON lines for now, durable; a record that cannot be written refuses the call.
#pragma once

#include <memory>

#include "base/json.h"
#include "sallyport/error.h"

namespace sallyport {

class Journal {
 public:
  virtual ~Journal() = default;
  // Durable when it returns. The object gets a time stamp.
  [[nodiscard]] virtual Result<void> write(json::object record) = 0;
};

// Keeps nothing: for a boundary without a state directory.
[[nodiscard]] std::unique_ptr<Journal> no_journal();

// Appends to `audit.jsonl` in the directory. Several processes may write at the same time; a line
// that a crash left torn is closed off before the next one.
[[nodiscard]] Result<std::unique_ptr<Journal>> file_journal(int directory);

}  // namespace sallyport
