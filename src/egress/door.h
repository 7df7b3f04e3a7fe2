// The border between whoever makes cells and the egress process that serves their sockets.
//
//   door      one packet per cell: its rules, one end of a channel of its own, and its sockets
//   channel   egress → supervisor: `ready`, with the certificate of the cell's authority if its
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
#include "egress/rules.h"

namespace sallyport {

struct DoorPair {
  Fd outside, egress;
};
[[nodiscard]] Sys<DoorPair> make_door();

// The supervisor's side of one cell.
class EgressChannel {
 public:
  // `sockets`: the name server's, then one listener for each point of the rules' NetworkMap. Waits
  // until they are served; an error means that they never will be.
  [[nodiscard]] static Result<EgressChannel> open(int door, const std::string& call_id,
                                                  const EgressRules& rules,
                                                  const std::vector<Fd>& sockets);

  // Readable when take() has something to do.
  [[nodiscard]] int fd() const { return channel_.get(); }

  // Notes what has come, and never waits. False: the egress process is gone.
  bool take();

  // Of the authority that the cell has to trust, as PEM; empty: none of its hosts is inspected.
  [[nodiscard]] const std::string& authority() const { return authority_; }

  // The cell is gone. Waits a moment for what is known about its last connections.
  [[nodiscard]] std::vector<NetworkEvent> finish();

 private:
  EgressChannel(Fd channel, ByteSize upload) : channel_(std::move(channel)), upload_(upload) {}
  Fd channel_;
  ByteSize upload_;
  bool finishing_ = false;
  std::string authority_;
  std::vector<NetworkEvent> events_;
};

// The egress process's side.
struct NewCell {
  std::string call_id;
  EgressRules rules;
  Fd channel, names;
  std::vector<Fd> listeners;
};
// Never waits. EAGAIN: nothing is there; EPIPE: nobody is left who could send; EBADMSG: something
// else was sent.
[[nodiscard]] Sys<NewCell> receive_cell(int door);
// `authority`: its certificate, as PEM; empty: the cell has none.
[[nodiscard]] bool send_ready(int channel, const std::string& authority);
// False: there is no room, or nobody who reads.
[[nodiscard]] bool send_event(int channel, const NetworkEvent& event);

}  // namespace sallyport
