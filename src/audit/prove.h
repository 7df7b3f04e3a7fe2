// The proof that one record is in a log: whoever has the public key, the proof and nothing else of
// the log can check it.
//
//   {"record": the line, "seq": its number, "size": of the tree, "path": [hashes from the leaf up],
//    "checkpoint": the signed note}
#pragma once

#include <cstdint>
#include <string>

#include "audit/checkpoint.h"
#include "base/json.h"

namespace sallyport {

// Reads the log up to its last checkpoint. `argument`: there is no such record, or no checkpoint
// covers it yet. `unavailable`: the log is not the one that was signed.
[[nodiscard]] Result<json::object> prove_record(int state_directory, const std::string& stream,
                                                std::uint64_t seq);

struct ProvenRecord {
  json::object record;
  Checkpoint checkpoint;
};

// What a proof proves; the error is `argument`, and says what is wrong with it.
[[nodiscard]] Result<ProvenRecord> check_proof(std::string_view proof, const VerifyingKey& key);

}  // namespace sallyport
