// What a client shows to its own command, and which command that is. The client says it to the
// launcher itself, because the front is not trusted with it: a front that has been taken over can
// neither show a file in a client's name nor use what a client shows for anything else.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "cell/spec.h"
#include "launch/ceiling.h"
#include "launch/packet.h"

namespace sallyport {

inline constexpr std::size_t kLargestVisit = std::size_t{1} << 20;  // bytes

// A file that the call puts into the scratch: what a command does may depend on it.
struct VisitInput {
  std::string name;
  std::string digest;  // SHA-256 of its content, in hexadecimal
  bool operator==(const VisitInput&) const = default;
};

struct Visit {
  std::string tool;  // by name
  std::vector<std::string> command;
  std::vector<VisitInput> inputs;
  std::optional<std::string> input;  // the digest of standard input; none: there is none
  std::vector<std::string> outputs;  // globs, beside the tool's own
  std::vector<ClientFile> files;     // their descriptors travel beside it
};

// In the way of launch/wire.h: strict, bounded, one form only.
[[nodiscard]] Result<std::string> encode(const Visit& visit);
[[nodiscard]] Result<Visit> decode_visit(std::string_view bytes);

// What a client says of a call: the other half of check_visit_claim().
[[nodiscard]] VisitInput visit_input(std::string name, std::string_view content);
[[nodiscard]] std::string visit_digest(std::string_view content);

// A visit as it came, with its descriptors.
struct ShowingClient {
  Visit visit;  // its files have their descriptors
  std::vector<Fd> fds;
  uid_t uid = 0;
  gid_t gid = 0;
  int connection = -1;  // over which it waits for the end of its call
};

// The visit in a packet of a client, whose identity the kernel tells. Some tool of the policy lets
// clients show as much. An error is for the client to read.
[[nodiscard]] Result<ShowingClient> read_visit(const LaunchCeiling& ceiling, Packet packet,
                                               uid_t uid, gid_t gid);

// Whether a claim is for the call that the client has described, by a tool that lets clients show
// it files, and has nothing that the tool itself does not give. Then the claim gets the client's
// descriptors and identity, and what ceiling.files.deny names is looked for in them.
[[nodiscard]] Result<void> check_visit_claim(const LaunchCeiling& ceiling,
                                             const ShowingClient& visitor, CellSpec& spec);

}  // namespace sallyport
