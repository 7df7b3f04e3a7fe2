// A tool of a policy file, made from one observed run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cell/observe.h"
#include "door/cli/suggest_files.h"
#include "sallyport/limits.h"
#include "sallyport/outcome.h"

namespace sallyport {

// A name that was looked up, with a port that was tried at it.
struct SuggestedHost {
  std::string name;
  std::uint16_t port = 443;
  bool port_known = true;  // false: it was only looked up
};

struct Proposal {
  std::string name;
  std::vector<std::string> run;
  std::vector<std::pair<std::string, std::string>> environment;
  SuggestedFiles files;
  std::vector<SuggestedHost> hosts;
  std::vector<Destination> addresses;  // tried without a name; a policy names hosts
  std::vector<Destination> loopback;   // of this machine, which a cell does not reach
  std::vector<std::string> odd_names;  // looked up, and no host name
  std::string syscalls;                // the narrowest profile under which nothing was refused
  std::string syscalls_sentence;
  Limits limits;
};

// Chooses the envelope. `spec` is that of the observed run.
[[nodiscard]] Proposal propose(std::string name, const CellSpec& spec,
                               const std::vector<Grant>& given, const Observation& seen,
                               const Outcome& outcome);

// Twice what was used, rounded up to a number that a person would write, and never so little that
// the next run fails for chance.
[[nodiscard]] Duration roomy(Duration used, Duration floor);
[[nodiscard]] ByteSize roomy(ByteSize used, ByteSize floor);
[[nodiscard]] unsigned roomy(std::uint64_t used, unsigned floor);

// A name for the tool, from the name of the program: small letters, digits and '_'.
[[nodiscard]] std::string tool_name(std::string_view program);

// `text` as a YAML string in double quotes, on one line and in visible characters, whatever it
// holds. It must be UTF-8.
[[nodiscard]] std::string yaml_quoted(std::string_view text);

// The proposal as a piece of a policy file, with comments; and what was seen, as JSON.
[[nodiscard]] std::string proposal_yaml(const Proposal& proposal, const Observation& seen,
                                        const Outcome& outcome);
[[nodiscard]] std::string observation_json(const Proposal& proposal, const Observation& seen,
                                           const Outcome& outcome);

}  // namespace sallyport
