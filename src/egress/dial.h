// From an allowed name to a connection with it: resolved once, every address judged, and one of
// those very addresses dialled.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "egress/served_cell.h"
#include "input/ip_address.h"

namespace sallyport {

struct Dialled {
  std::unique_ptr<Link> link;
  IpAddress address;
};

// An error with Reason::permission: an address is not one that the rule allows.
Task<Result<Dialled>> dial(ServedCell& cell, HostName name, const EgressRule& rule);

// The first of the addresses that answers, of which only a few are tried; they must outlive it.
// `ended`: nobody waits any more.
Task<Result<Dialled>> dial_any(boost::asio::io_context& io, std::span<const IpAddress> addresses,
                               std::uint16_t port, std::function<bool()> ended);

// Why none of the addresses may be dialled; nothing: all of them may. One that is not of the open
// internet condemns all: a name that has both is how a check and a connection are made to differ.
[[nodiscard]] std::optional<std::string> refuse_addresses(std::span<const IpAddress> addresses,
                                                          const EgressRule& rule);

}  // namespace sallyport
