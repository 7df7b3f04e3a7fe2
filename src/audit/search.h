// Looks for records, with the help of the indexes of closed segments (segment_index.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace sallyport {

// All that is not empty must hold.
struct AuditQuery {
  std::string tenant;  // the stream; empty: all of them
  std::string caller, tool, reason, status, record, call_id;
  // A time in UTC, or the beginning of one: 2026-10-04, 2026-10-04T12:30, 2026-10-04T12:30:00Z.
  std::string since;             // and later
  std::string until;             // and before that
  std::size_t limit = 100;       // records at most; 0: all
  std::uint64_t most_bytes = 0;  // to be read of the log for one page; 0: as many as it takes
  bool newest_first = true;
  std::string cursor;  // of the page before
};

// Where a search stopped.
struct AuditEnd {
  // For the next page, with the same query; empty: there is no more. The next page may be empty.
  std::string cursor;
  std::uint64_t bytes_read = 0;
};

struct AuditPage {
  std::vector<json::object> records;
  std::string cursor;
};

// Calls `take` for each record that is found: its stream and its line. In the order in which they
// were written; of several streams, merged by time. Ends early when `take` says false. `argument`:
// a time or the cursor is wrong, or there is no such stream. Lines that are no records are passed
// over: that is for `audit verify` to find.
[[nodiscard]] Result<AuditEnd> scan_audit(
    int state_directory, const AuditQuery& query,
    const std::function<bool(const std::string& stream, std::string_view line)>& take);

// The same as values, each with its `stream`.
[[nodiscard]] Result<AuditPage> search_audit(int state_directory, const AuditQuery& query);

}  // namespace sallyport
