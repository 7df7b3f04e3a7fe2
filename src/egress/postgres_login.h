// Towards a PostgreSQL server: TLS, start-up, and a proof of the password that both sides give. The
// password itself is sent to nobody.
#pragma once

#include <memory>
#include <optional>

#include "egress/postgres_message.h"
#include "egress/served_cell.h"
#include "input/ip_address.h"

namespace sallyport {

struct PgServer {
  std::unique_ptr<Link> link;
  IpAddress address;
  const SSL* tls = nullptr;  // of the link; null: it has none
};
// Dials it and begins TLS, in which it has to prove its name. Only a rule with `internal` may lead
// to a server without TLS.
Task<Result<PgServer>> reach_pg_server(ServedCell& cell, HostName name, const EgressRule& rule);

// Why nobody was logged in.
struct PgRefusal {
  std::string why;     // for the record, as a sentence
  std::string answer;  // for the client: what the server said, or what there is to say about it
};
// Nothing: it is done, and what the server says is pending, from its consent on. `tls`: as above.
Task<std::optional<PgRefusal>> log_in(BufferedLink& server, const SSL* tls, PgParameters parameters,
                                      std::string password);

// Waits until the server is ready for a statement. All that it says stays pending; the key by which
// statements can be cancelled is looked up in it. Empty: there is none.
Task<std::string> find_cancel_key(BufferedLink& server);

}  // namespace sallyport
