// The request and the result of a call: one shape for the library, the command line, HTTP and MCP.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sallyport/outcome.h"
#include "sallyport/units.h"

namespace sallyport {

// A file that is put into the scratch before the tool starts.
struct CallFile {
  std::string path;  // below /workspace: relative, without "." and ".."
  std::string content;
};

// Limits that the caller sets for one call, by their names in the policy file. They can only be
// tighter than what the policy gives; wider ones are refused.
using CallLimits = std::map<std::string, std::string>;  // {"timeout": "5s"}

// Files and directories of the caller's own, which it has shown to the launcher of the service
// (`sallyport run --via --read`): the launcher holds the call to what it was shown.
struct CallClientFile {
  std::string path;    // on the host
  std::string inside;  // absolute path in the cell
  bool write = false;
};
struct CallClient {
  std::string ticket;     // from the launcher: 32 hexadecimal digits
  std::uint32_t uid = 0;  // who it is, for the record; the launcher runs nothing for another one
  std::vector<CallClientFile> files;
};

struct CallRequest {
  std::string call_id;  // 32 hexadecimal digits that nobody can guess; empty: one is made
  std::string caller;   // who calls, by name in the policy
  std::string address;  // the network address it comes from; empty: this machine
  std::string tool;
  boost::json::object arguments;
  std::optional<std::string> input;  // standard input of a command tool
  std::vector<CallFile> files;
  std::vector<std::string> collect;  // globs of scratch files that come back, beside the tool's own
  std::string output_directory;      // where they are put; empty: their contents are in the result
  CallLimits limits;
  bool dry_run = false;  // pass the gates and say what they decide, but run nothing
  std::string idempotency_key;
  std::string trace;   // passed on into the record
  std::string key_id;  // of the credential that the caller showed, for the record
  // What the caller's credential is limited to; none: all permissions that the caller has.
  std::optional<std::vector<std::string>> scopes;
  std::optional<CallClient> client;  // only through a service
};

struct CallResult : Outcome {
  std::string tool;
  std::string caller;
  std::string tier;                             // how it ran; empty if nothing ran
  std::string rule;                             // what decided: "tools.refund.approval"
  std::optional<boost::json::value> data;       // the structured result
  std::vector<std::string> missing;             // permissions that the caller lacks
  std::vector<std::string> required;            // permissions that the tool needs
  std::optional<std::uint64_t> rate_remaining;  // calls left in the tightest window
  std::optional<std::int64_t> retry_after_ms;
  std::optional<std::uint64_t> size_bytes, limit_bytes;  // of a result that was too large
  std::map<std::string, std::uint64_t> redactions;       // by rule
  std::map<std::string, std::string> collected;          // contents of the artifacts, by name
  std::vector<Timing> stages;                            // where the time of the call went
  // The wall-clock time that the call had; 0: it was refused before that was known.
  std::int64_t deadline_us = 0;
  std::string policy;  // hash of the policy that was in force
};

// The result as one JSON object. Text that is not UTF-8 is replaced.
[[nodiscard]] boost::json::object to_json(const CallResult& result);
// The same as text, which is quicker.
[[nodiscard]] std::string to_json_text(const CallResult& result);

}  // namespace sallyport
