// Where a PostgreSQL server is, as a policy or a person writes it:
//
//   postgres://[ROLE@]HOST[:PORT]/DATABASE[?hostaddr=ADDRESS][&sslmode=…][&sslrootcert=/FILE]
//   postgres:///DATABASE[?host=/DIRECTORY][&port=PORT]      by the socket of this machine
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sallyport/error.h"

namespace sallyport {

struct PostgresAddress {
  std::string user;                    // empty: not said
  std::string host;                    // a name, an address, or the directory of a socket
  std::vector<std::string> addresses;  // of the host; none for a socket. Names are not looked up
  std::uint16_t port = 5432;
  std::string database;
  bool tls = false;          // always with the server's certificate checked against its name
  std::string certificates;  // file of those that are trusted; empty: those of the system

  [[nodiscard]] bool is_socket() const { return host.starts_with('/'); }

  // Without TLS only a socket and loopback, unless `sslmode=disable` says otherwise. A password in
  // the text is refused: it would be in a file that many read.
  [[nodiscard]] static Result<PostgresAddress> parse(std::string_view text);
};

}  // namespace sallyport
