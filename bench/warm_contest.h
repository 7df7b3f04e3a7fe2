// Contestants that take turns, so that whatever else the machine does falls on all of them alike.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "warm_client.h"
#include "warm_peers.h"
#include "warm_statistics.h"

namespace sallyport::warm {

// One call, or one process; how long it took, in microseconds.
using Once = std::function<double()>;

struct Contestant {
  std::string name;
  std::function<Once()> open;  // for one thread: a connection of its own
  unsigned turns = 1;          // in each round; for slices: how many are in flight
  unsigned warm_up = 1;        // turns that do not count: pages of files, the first connection
};

// Who asks a service something, on a connection that it keeps.
[[nodiscard]] Contestant served(const std::string& name, const Service& service,
                                std::function<double(Client&)> once, unsigned turns = 1);
[[nodiscard]] Contestant ours(const Service& service, Kind kind, unsigned turns);
[[nodiscard]] Contestant theirs(const Peer& peer, unsigned turns = 1);

// Each contestant has its turns in each round, spread over it. Before every turn there is a short
// pause, so that what one leaves behind for the kernel to do is not the next one's time.
[[nodiscard]] json::object take_turns(const std::vector<Contestant>& contestants, unsigned rounds);

// Each contestant has the machine for a slice, with as many in flight as it has turns, then the
// next; `slices` times. The beginning of a slice does not count: a service has a stock of cells
// then, and the rate that it can hold is what is asked for. A call that lies across an end of
// the slice counts by the part of it that lies within.
[[nodiscard]] json::object take_slices(const std::vector<Contestant>& contestants, unsigned slices);

}  // namespace sallyport::warm
