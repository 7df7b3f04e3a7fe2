// What our calls are held against: the same work as a process of its own, bare, and in sandboxes
// that are started for each command. Their output is read and checked as ours is.
#pragma once

#include <string>
#include <vector>

#include "warm_question.h"

namespace sallyport::warm {

struct Peer {
  std::string name;
  std::vector<std::string> argv;
  std::string output;  // what it must print
};

// bare and bubblewrap; for Python and /bin/true also crun and runc, with the bundles that the
// script made in `work`. A process that starts anew gains nothing from having run the same snippet
// before, so each peer has one.
[[nodiscard]] std::vector<Peer> peers_of(Kind kind, const std::string& work);

// From spawn to reap, with the output read, in microseconds.
double run(const Peer& peer);

}  // namespace sallyport::warm
