// The socket between init and the supervisor. It carries one-byte messages and descriptors; its
// closing tells either side that the other is gone. Init's side does not allocate.
#pragma once

#include <span>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

enum class ControlMessage : char {
  map_groups = 'G',   // init asks for newgidmap, and waits
  done = 'd',         // the supervisor did it
  descriptors = 'F',  // listener and scratch
  egress = 'E',       // the sockets of the cell's network; init waits until they are served
  started = 'S',      // the tool runs
  parked = 'P',       // everything is made; init waits for the order to start a tool
  go = 'g',           // the supervisor gives it
  ended = 'e',        // the tool was reaped, and nothing but init is left in the cell
};

// The two ends: the supervisor's, init's.
struct ControlPair {
  Fd supervisor, init;
};
Sys<ControlPair> make_control();

// Init's side.
Sys<void> send_message(int control, ControlMessage message);
Sys<void> ask_supervisor(int control, ControlMessage question);
Sys<void> send_descriptors(int control, ControlMessage message, std::span<const int> descriptors);
Sys<void> await_done(int control);
Sys<void> await(int control, ControlMessage message);

// The supervisor's side. At the end of the stream: no message.
struct Received {
  ControlMessage message{};
  std::vector<Fd> descriptors;
};
Sys<Received> receive(int control);

}  // namespace sallyport
