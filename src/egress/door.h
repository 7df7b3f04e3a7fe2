// The border between whoever makes cells and the egress process that serves their sockets.
//
//   door      one packet per cell: its rules, one end of a channel of its own, the resolver's files
//             as they are now, and its sockets
//   channel   egress → supervisor: `refused`, with the reason; or `ready`, with the certificate of
//             the cell's authority if its
//             rules look into TLS, then events; its end is the end of the egress process
//             supervisor → egress: nothing; its end is the end of the cell, and of every
//             connection of it
//
// Both are SOCK_SEQPACKET, so a packet is whole or not there.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "egress/fingerprints.h"
#include "egress/rules.h"

namespace sallyport {

struct DoorPair {
  Fd outside, egress;
};
[[nodiscard]] Sys<DoorPair> make_door();

// What the supervisor is told of a cell that is served.
struct CellReady {
  std::string authority;  // EgressChannel::authority()
  Fingerprints fingerprints;
};

// The supervisor's side of one cell.
class EgressChannel {
 public:
  // `placeholders`: one for each grant, empty for one without a variable. `sockets`: the name
  // server's, then one listener for each point of the rules' NetworkMap. Waits
  // until they are served; an error means that they never will be.
  [[nodiscard]] static Result<EgressChannel> open(int door, const std::string& call_id,
                                                  const EgressRules& rules,
                                                  const std::vector<std::string>& placeholders,
                                                  const std::vector<Fd>& sockets);

  // Readable when take() has something to do.
  [[nodiscard]] int fd() const { return channel_.get(); }

  // Notes what has come, and never waits. False: the egress process is gone.
  bool take();

  // Of the authority that the cell has to trust, as PEM; empty: none of its hosts is inspected.
  [[nodiscard]] const std::string& authority() const { return ready_.authority; }
  // Of the secrets that its grants are for.
  [[nodiscard]] const Fingerprints& fingerprints() const { return ready_.fingerprints; }

  // The cell is gone. Waits a moment for what is known about its last connections.
  [[nodiscard]] std::vector<NetworkEvent> finish();

 private:
  EgressChannel(Fd channel, ByteSize upload) : channel_(std::move(channel)), upload_(upload) {}
  Fd channel_;
  ByteSize upload_;
  bool finishing_ = false;
  CellReady ready_;
  std::vector<NetworkEvent> events_;
};

// The egress process's side.
struct NewCell {
  std::string call_id;
  EgressRules rules;
  std::vector<std::string> placeholders;
  Fd channel, resolv_conf, hosts, names;
  std::vector<Fd> listeners;
};
// Never waits. EAGAIN: nothing is there; EPIPE: nobody is left who could send; EBADMSG: something
// else was sent.
[[nodiscard]] Sys<NewCell> receive_cell(int door);
[[nodiscard]] bool send_ready(int channel, const CellReady& ready);
// The cell will not be served, and why. False: nobody reads it.
[[nodiscard]] bool send_refusal(int channel, const std::string& why);
// False: there is no room, or nobody who reads.
[[nodiscard]] bool send_event(int channel, const NetworkEvent& event);

}  // namespace sallyport
