// What the launcher lets anybody run. It is made from the policy before the front exists, lives in
// the launcher's memory, and is all that a front which has been taken over cannot get past.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "cell/uid_slot.h"
#include "launch/cell_pool.h"
#include "launch/wire.h"
#include "policy/rules.h"
#include "sallyport/limits.h"

namespace sallyport {

// A tool that lets whoever calls it show it files of their own (`files: { client: … }`).
struct ClientTool {
  std::string name;
  bool write = false;
  CellSpec frame;  // its cell, but for what a call says; see command_frame()
};

struct LaunchCeiling {
  // A path of the host that the `files` of some tool grant, where, and how.
  struct Place {
    std::string host, inside;
    bool write_direct = false, write_copy = false;  // neither: read-only
  };

  std::vector<Place> places;
  std::string program;                   // of the file tools; empty: none
  std::vector<std::string> roots;        // beside the host's own system
  std::vector<std::string> profiles;     // of system calls
  Limits limits;                         // the greatest
  std::map<std::string, UidRange> uids;  // by tenant, none of them shared
  Ceiling denied;                        // `ceiling.files.deny`
  std::vector<EgressRules> networks;     // of the tools that have one
  bool connections = false;              // some tool speaks to the server of a database
  std::size_t cells = 256;               // that run at once
  PoolRules pool;                        // of those that are made ahead of need
  std::vector<Warmth> warm;              // interpreters of the tools, with their modules
  std::vector<std::string> expected;     // classes of which cells wait from the beginning, encoded
  std::vector<ClientTool> clients;
};

// `uids` is divided among the tenants of the policy. An error: it is too small for them.
[[nodiscard]] Result<LaunchCeiling> make_launch_ceiling(const Rules& rules, std::string program,
                                                        const UidRange& uids);

// What came with a claim as descriptors.
struct CarriedThings {
  bool directory = false;  // for artifacts
  bool connection = false;
};

// Whether a claim stays below the ceiling, as far as its words tell. Sets the uids of its cell.
// Reason::cannot_enforce: it does not.
[[nodiscard]] Result<void> check_claim(const LaunchCeiling& ceiling, Claim& claim,
                                       CarriedThings carried = {});

}  // namespace sallyport
