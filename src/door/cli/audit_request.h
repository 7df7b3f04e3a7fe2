// What `sallyport audit` is asked for, and what its --help says.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audit/export.h"
#include "audit/search.h"
#include "base/error.h"

namespace sallyport {

struct AuditRequest {
  enum class Verb { verify, prove, tail, search, show, export_, checkpoint };
  std::optional<Verb> verb;  // none: help is asked for, of no verb
  std::string state;         // empty: the user's private directory
  AuditQuery query;
  bool limited = false;              // --limit was given
  std::string key;                   // the text of a public key, or a file that holds one
  std::vector<std::string> outside;  // files of checkpoints
  std::string check;                 // a file with a proof
  std::optional<std::uint64_t> seq;
  ExportFormat format = ExportFormat::jsonl;
  bool follow = false, json = false, help = false;
  bool network = false;  // what calls asked of the network, in place of the records
};

// Reads the words behind "audit". An option that the verb does not take is refused: a filter that
// does nothing must not be taken for one that found everything. `now` is what durations of --since
// and --until are counted back from, in microseconds since 1970.
[[nodiscard]] Result<AuditRequest> parse_audit(std::span<const char* const> words,
                                               std::int64_t now);

// What `sallyport audit VERB --help` prints; without a verb, what `sallyport audit --help` does.
[[nodiscard]] std::string audit_help_text(std::optional<AuditRequest::Verb> verb = std::nullopt);

}  // namespace sallyport
