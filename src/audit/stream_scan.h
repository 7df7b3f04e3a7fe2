// A search in one stream, one match at a time, in either direction.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "audit/search.h"
#include "audit/segment_index.h"
#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// A query as the lines of the log have it.
struct LineQuery {
  struct Wanted {
    std::size_t field;  // of kIndexedFields
    std::string value;  // escaped
  };
  std::vector<Wanted> wanted;
  std::string since, until;
  bool newest_first = true;

  [[nodiscard]] static Result<LineQuery> from(const AuditQuery& query);
  [[nodiscard]] bool matches(const RecordView& view) const;
};

class StreamScan {
 public:
  struct Match {
    std::uint64_t seq = 0;
    std::string time, line;
  };
  // `after`: only records behind this one, in the direction of the query. The query outlives this.
  StreamScan(Fd directory, const LineQuery& query, std::optional<std::uint64_t> after);

  // The next match, which stays until it is taken. Nothing: there is no more, or `budget` bytes
  // were read, which it takes down.
  [[nodiscard]] Result<const Match*> look(std::uint64_t& budget);
  void take();

  [[nodiscard]] bool ended() const { return ended_ && matches_.empty(); }
  // The last record that need not be looked at again.
  [[nodiscard]] std::optional<std::uint64_t> position() const;

 private:
  [[nodiscard]] Result<void> begin();
  [[nodiscard]] Result<bool> next_segment();
  [[nodiscard]] std::vector<IndexBlock> useful_blocks(const SegmentIndex& index) const;
  [[nodiscard]] Result<void> read_block(const IndexBlock& block);
  [[nodiscard]] bool is_behind(std::uint64_t seq) const;

  Fd directory_;
  const LineQuery& query_;
  std::optional<std::uint64_t> after_, seen_;
  bool begun_ = false, ended_ = false;
  std::vector<unsigned> segments_;  // to come, the next at the end
  unsigned last_segment_ = 0;       // the one that grows
  Fd file_;
  std::vector<IndexBlock> blocks_;  // of the segment, to come, the next at the end
  std::deque<Match> matches_;
};

}  // namespace sallyport
