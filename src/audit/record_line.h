// A record as a line of the log: canonical JSON, with its number and the hash of the line before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "audit/merkle.h"
#include "base/json.h"

namespace sallyport {

// A longer record is refused, by the writer and by every reader.
constexpr std::size_t kLongestRecord = std::size_t{4} << 20;

// RFC 3339 in UTC, to the microsecond: texts of one length, in the order of their times.
constexpr std::size_t kTimeLength = 27;
[[nodiscard]] std::string time_text(std::int64_t microseconds);
void append_time_text(std::string& out, std::int64_t microseconds);
[[nodiscard]] std::int64_t wall_clock_us();

// What the log itself and its readers need of a line. Texts are as they stand there, escaped;
// canonical JSON has one way to escape, so they can be compared with `escaped` ones.
struct RecordView {
  std::uint64_t seq = 0;
  std::string_view seq_text;
  std::string_view prev, time, record, call_id, tenant, caller, tool, reason, status, writer;
};

// A record that has all but its place.
class DraftRecord {
 public:
  // Adds `time`; `seq` and `prev` of the object are ignored. Bytes that are not UTF-8 are replaced:
  // they would make the line no JSON. The error is `unavailable`: too long, or no JSON at all.
  [[nodiscard]] static Result<DraftRecord> make(const json::object& record);

  static constexpr std::size_t kDeepest = 200;  // that a value may be nested

  // Appends the line, without a line end.
  void append_line(std::string& out, std::uint64_t seq, const Hash& prev) const;
  [[nodiscard]] std::size_t size() const { return text_.size() + 100; }  // at most, as a line
  // What is in it, as read_record would find it in the line, without its place.
  [[nodiscard]] RecordView view() const;
  [[nodiscard]] bool is_outcome() const { return text_of(record_) == "outcome"; }

 private:
  friend class RecordBuilder;
  // A part of the text; the text itself may move.
  struct Part {
    std::size_t begin = 0, size = 0;
  };
  [[nodiscard]] std::string_view text_of(Part part) const {
    return std::string_view(text_).substr(part.begin, part.size);
  }

  // The part that holds the text of this member; null: it is not asked for.
  [[nodiscard]] Part* part_of(std::string_view key) {
    if (key == "record") return &record_;
    if (key == "call_id") return &call_id_;
    if (key == "tenant") return &tenant_;
    if (key == "writer") return &writer_;
    return nullptr;
  }
  // What is true of every record, whoever made its text.
  [[nodiscard]] static Result<DraftRecord> checked(DraftRecord draft);
  [[nodiscard]] bool find_parts();

  std::string text_;  // the line that the record would be as the first of a log
  Part prev_, seq_;   // what its place changes
  Part record_, call_id_, tenant_, writer_;
};

// Finds the fields of a line in one pass. Nothing: it has no seq, prev and record, its keys are not
// in order, or it is no object. What is inside values is not looked at.
[[nodiscard]] std::optional<RecordView> read_record(std::string_view line);

// The text as canonical JSON has it between quotes.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace sallyport
