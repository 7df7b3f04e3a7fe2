// Whether a log is what was written. Each record names the hash of the one before, so that a change
// is found at its place; the signed checkpoints hold the root of all records before them, so that
// nobody without the key can change a record together with its chain.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/checkpoint.h"
#include "audit/signing_key.h"

namespace sallyport {

// The first thing that is not as it was written.
struct BadPlace {
  std::string file;                  // of the stream's directory
  std::uint64_t line = 0;            // in it, from 1; of a checkpoint: its number, from 1; 0: none
  std::optional<std::uint64_t> seq;  // the record; none: it is a checkpoint that is bad
  std::uint64_t from = 0;            // records from here on may have been rewritten; usually seq
  std::string what;                  // a sentence
};

struct StreamReport {
  std::string stream;
  std::uint64_t records = 0, bytes = 0, segments = 0, checkpoints = 0;
  std::uint64_t covered = 0;     // records that a checkpoint vouches for
  std::string covered_at;        // the time of that checkpoint
  std::uint64_t torn_bytes = 0;  // at the end: a writer is writing them, or died within them
  std::optional<BadPlace> bad;
};

struct VerifyReport {
  std::vector<StreamReport> streams;
  [[nodiscard]] bool good() const;
};

struct VerifyOptions {
  std::optional<VerifyingKey> key;   // none: audit-key.pub of the state directory
  std::vector<std::string> outside;  // checkpoints that were kept elsewhere, whole notes
  std::string stream;                // only this one; empty: all
};

// Reads the whole log once, with one buffer. The error is about reading; what is found bad is in
// the report.
[[nodiscard]] Result<VerifyReport> verify_audit(int state_directory, const VerifyOptions& options);

// The notes of a file of checkpoints; the error is `argument`.
[[nodiscard]] Result<std::vector<std::string>> split_notes(std::string_view text);

}  // namespace sallyport
