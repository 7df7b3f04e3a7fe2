// The parent of the service: opens what needs privileges, starts the launcher and the front, and
// starts them again when they die. It reads nothing that comes from a client.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/fd.h"
#include "http/server.h"

namespace sallyport {

struct ServeOptions {
  std::string policy;  // path; empty: the starter policy
  // "127.0.0.1:8640", "[::1]:8640", "unix:/run/x.sock", beside the sockets that systemd passes;
  // neither: kDefaultListen of serve/listeners.h.
  std::vector<std::string> listen;
  std::string state;  // directory; empty: the user's private one, for root /var/lib/sallyport
  std::string user;   // that the front becomes when started by root; empty: see serve/front_user.h
  std::string certificate, key, client_ca;  // paths; empty: none
  bool require_certificate = false;
  std::vector<std::string> hosts;               // that a Host header may name
  std::vector<std::string> trusted_proxies;     // addresses or ranges
  std::chrono::milliseconds drain{10'000};      // at SIGTERM, calls in flight get that long
  std::string checkpoint_file, checkpoint_url;  // where checkpoints go too; empty: nowhere
  std::string otlp;                             // URL of a collector of traces; empty: none
};

// What the front is given. It holds no privileges and cannot read the policy file by itself.
struct FrontSettings {
  HttpSettings http;
  std::string policy_name, policy_text;  // of the file, for messages, and what it says
  std::string state;                     // directory, which belongs to the front
  std::string launcher;                  // path of the launcher's socket
  std::string program;                   // path of the sallyport program, for the file tools
  Fd control;                            // to the keeper: see front_control.h
  std::chrono::milliseconds drain{};
  std::string otlp;  // URL of a collector of traces; empty: none
  std::string checkpoint_file, checkpoint_url;
};

using Front = int (*)(FrontSettings);

// Serves until SIGTERM or SIGINT, and then returns 0; 125 when it cannot begin, with the reasons on
// standard error. SIGHUP reads the policy file again. To be called by a program with one thread,
// whose signals, descriptors and children it takes over.
int keep(const ServeOptions& options, Front front);

}  // namespace sallyport
