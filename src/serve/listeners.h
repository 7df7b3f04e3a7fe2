// The sockets that clients come to.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "serve/front_user.h"

namespace sallyport {

inline constexpr std::string_view kDefaultListen = "127.0.0.1:8640";

// "127.0.0.1:8640", "[::1]:8640", "localhost:8640", "unix:/run/sallyport.sock".
struct ListenAddress {
  std::string path;     // of a unix socket; empty: TCP
  std::string address;  // numeric
  std::uint16_t port = 0;
  bool v6 = false;
};
[[nodiscard]] Result<ListenAddress> parse_listen(std::string_view text);

struct Listener {
  Fd socket;  // non-blocking
  bool tcp = true;
  std::string name;  // for people: "127.0.0.1:8640", with the port that it got
  std::string path;  // of a unix socket of our own, to be removed at the end
  int type = SOCK_STREAM;
};

// Binds and listens. A unix socket has the mode 0660 and the front's group; one that nobody answers
// on any more is replaced, one that is in use is refused.
[[nodiscard]] Result<Listener> open_listener(const ListenAddress& address, const FrontUser& user);

// Where clients of a unix socket show files of their own, beside it and open to the same: at
// PATH.files, with packets (launch/packet.h).
inline constexpr std::string_view kFilesSuffix = ".files";
[[nodiscard]] Result<Listener> open_files_listener(const Listener& beside, const FrontUser& user);

// The sockets that systemd has opened, from 3 on. Takes LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES
// out of the environment.
[[nodiscard]] Result<std::vector<Listener>> take_activated_listeners();

// Closes it and, when nobody else holds it or has put another one in its place, removes the file of
// a unix socket.
void remove_listener(Listener& listener);

// Whether somebody listens on the unix socket at `path`, of that type: SOCK_STREAM or
// SOCK_SEQPACKET. Only a plain "nobody" is taken for one.
[[nodiscard]] bool is_abandoned_socket(const std::string& path, int type);

}  // namespace sallyport
