// `sallyport audit`
#pragma once

#include <span>
#include <string>
#include <vector>

#include "audit/export.h"
#include "audit/search.h"
#include "audit/verify.h"
#include "base/error.h"

namespace sallyport {

struct AuditRequest {
  enum class Verb { verify, prove, tail, search, show, export_, checkpoint };
  Verb verb = Verb::verify;
  std::string state;  // empty: the user's private directory
  AuditQuery query;
  bool limited = false;              // --limit was given
  std::string key;                   // the text of a public key, or a file that holds one
  std::vector<std::string> outside;  // files of checkpoints
  std::string check;                 // a file with a proof
  std::optional<std::uint64_t> seq;
  ExportFormat format = ExportFormat::jsonl;
  bool follow = false, json = false, help = false;
};

// Reads the words behind "audit". `now` is what durations of --since and --until are counted back
// from, in microseconds since 1970.
[[nodiscard]] Result<AuditRequest> parse_audit(std::span<const char* const> words,
                                               std::int64_t now);

// What `sallyport audit --help` prints.
[[nodiscard]] std::string audit_help_text();

// What verification found, for people and for programs.
[[nodiscard]] std::string verify_text(const VerifyReport& report);
[[nodiscard]] std::string verify_json(const VerifyReport& report);

// A record in one line, for people.
[[nodiscard]] std::string record_text(const std::string& stream, std::string_view line);

// Returns the exit code of the program.
int audit_command(std::span<const char* const> words);

}  // namespace sallyport
