// What a writer has to know to go on with a log: the tree so far, where the last record ends, and
// which calls have begun and not ended.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "audit/checkpoint.h"
#include "audit/merkle.h"
#include "audit/record_line.h"
#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

struct OpenIntent {
  unsigned segment = 0;
  std::uint64_t offset = 0;  // of its line
  std::string writer;
};

struct StreamState {
  MerkleTree tree;
  Hash last{};  // of the last record; zeros before the first
  unsigned segment = 1;
  std::uint64_t offset = 0;  // where the next record of the segment begins
  bool closed = false;       // the segment has its last record
  using Open = std::map<std::string, OpenIntent, std::less<>>;
  Open open;                           // by call_id
  std::vector<Open::node_type> ended;  // whose memory is used again: some of those that were open

  // Counts in a record that stands at `offset`; `size` is that of its line without the line end.
  void add(std::size_t size, const RecordView& view, const Hash& leaf);
  void begin_next_segment();

 private:
  void add_open(const RecordView& intent);
  void end_open(Open::iterator intent);
};

// A writer that remembers more calls than this refuses new ones.
constexpr std::size_t kMostOpen = 65'536;

// The end of a segment that is no record: a writer died within it, or the machine lost power.
struct TornTail {
  std::uint64_t bytes = 0;
  std::string digest;  // SHA-256 of them, in hexadecimal
};

// Reads on to the end of the log, into later segments if there are any, and leaves `file` open at
// the last one, invalid if it is not made yet. A torn tail is told, not counted, and not cut. The
// error is `unavailable`: a record is not what must stand there, or one that was read is gone.
[[nodiscard]] Result<std::optional<TornTail>> catch_up(int stream, Fd& file, StreamState& state);

// The last checkpoint of a stream, as it stands in its file; empty: none.
[[nodiscard]] Result<std::optional<Checkpoint>> last_checkpoint(int stream);

// The state at one of the last checkpoints, from the file `head`. Nothing when it cannot be used:
// it is only there to save reading the log.
[[nodiscard]] std::optional<StreamState> read_head(int stream);
[[nodiscard]] Result<void> write_head(int stream, const StreamState& state);

// The hash of the first record of a stream, which names it: one that was begun anew has another.
// Empty: it has none.
[[nodiscard]] std::optional<Hash> first_leaf(int stream);

// The line of an intent, for its fields; nothing when it is not there any more.
[[nodiscard]] std::optional<json::object> read_intent(int stream, const OpenIntent& intent);

}  // namespace sallyport
