// Which parts of a closed segment can hold what is searched for. An index is made at the first
// search, can be made anew at any time, and is trusted for nothing but speed: what it points at is
// looked at again, and `audit verify` does not read it.
//
// A segment is cut into blocks. For each block the index has its first record and its range of
// times, and for each value of a field the blocks that hold it, by a hash of the two.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/record_line.h"
#include "base/fd.h"

namespace sallyport {

// The fields that can be searched for, but for time.
struct IndexedField {
  std::string_view name;
  std::string_view RecordView::* value;
};
inline constexpr IndexedField kIndexedFields[] = {
    {"caller", &RecordView::caller}, {"tool", &RecordView::tool},
    {"reason", &RecordView::reason}, {"status", &RecordView::status},
    {"record", &RecordView::record}, {"call_id", &RecordView::call_id},
};

struct IndexBlock {
  std::uint64_t begin = 0, end = 0;  // bytes of the segment
  std::uint64_t first_seq = 0;
  std::string min_time, max_time;
};

class SegmentIndex {
 public:
  // The index of a segment of that size: the one that is there, or a new one, which is put there if
  // possible. Nothing: the segment cannot be read.
  [[nodiscard]] static std::optional<SegmentIndex> of(int stream, unsigned number, int segment,
                                                      std::uint64_t size);

  [[nodiscard]] const std::vector<IndexBlock>& blocks() const { return blocks_; }
  // The numbers of the blocks that may hold a record with this value (escaped), in order.
  [[nodiscard]] std::vector<std::uint32_t> find(std::size_t field, std::string_view value) const;

 private:
  [[nodiscard]] static std::optional<SegmentIndex> read(Fd file, std::uint64_t size);
  [[nodiscard]] static std::optional<std::string> build(int segment, std::uint64_t size);

  Fd file_;
  std::vector<IndexBlock> blocks_;
  std::uint64_t entries_ = 0, hashes_at_ = 0, numbers_at_ = 0;
};

// A segment without an index, cut at line ends into blocks of about the same size; only `begin` and
// `end` are set.
[[nodiscard]] std::vector<IndexBlock> plain_blocks(int segment, std::uint64_t size);

}  // namespace sallyport
