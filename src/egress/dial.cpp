#include "egress/dial.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/text.h"

namespace sallyport {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr auto kConnectPatience = std::chrono::seconds(10);
constexpr std::size_t kMostTried = 4;

tcp::endpoint endpoint_of(const IpAddress& address, std::uint16_t port) {
  if (address.is_v4()) {
    asio::ip::address_v4::bytes_type bytes;
    std::copy_n(address.bytes().begin(), bytes.size(), bytes.begin());
    return {asio::ip::address_v4(bytes), port};
  }
  asio::ip::address_v6::bytes_type bytes;
  std::copy_n(address.bytes().begin(), bytes.size(), bytes.begin());
  return {asio::ip::address_v6(bytes), port};
}

// Connects, or is closed when its time is up.
Task<boost::system::error_code> connect(tcp::socket& socket, tcp::endpoint to) {
  asio::steady_timer timer(socket.get_executor(), kConnectPatience);
  const auto waiting = std::make_shared<bool>(true);
  timer.async_wait([waiting, &socket](const boost::system::error_code& error) {
    boost::system::error_code ignored;
    if (!error && *waiting) ignored = socket.close(ignored);
  });
  const auto [error] = co_await socket.async_connect(to, kTuple);
  *waiting = false;
  co_return error;
}

}  // namespace

std::optional<std::string> refuse_addresses(std::span<const IpAddress> addresses,
                                            const EgressRule& rule) {
  if (rule.internal) return std::nullopt;
  for (const IpAddress& address : addresses)
    if (const auto range = internal_range(address))
      return "it leads to " + address.to_text() +
             ", which is not an address of the open internet (" + std::string(*range) + ")";
  return std::nullopt;
}

Task<Result<Dialled>> dial(ServedCell& cell, HostName name, const EgressRule& rule) {
  std::vector<IpAddress> addresses;
  if (!rule.address.empty()) {
    const auto fixed = IpAddress::parse(rule.address);
    if (!fixed) co_return std::unexpected(fixed.error());
    addresses.push_back(*fixed);
  } else {
    auto found = co_await look_up(name, cell.lookups());
    if (!found) co_return std::unexpected(std::move(found.error()));
    addresses = std::move(*found);
  }
  if (auto why = refuse_addresses(addresses, rule))
    co_return fail(Reason::permission, *why, "only a rule with internal: true may lead there");

  co_return co_await dial_any(cell.io(), addresses, rule.port, [&cell] { return cell.ended(); });
}

Task<Result<Dialled>> dial_any(asio::io_context& io, std::span<const IpAddress> addresses,
                               std::uint16_t port, std::function<bool()> ended) {
  std::string fault = "it has no address";
  for (const IpAddress& address : addresses.first(std::min(addresses.size(), kMostTried))) {
    tcp::socket socket(io);
    const auto error = co_await connect(socket, endpoint_of(address, port));
    if (!error && socket.is_open())
      co_return Dialled{.link = plain_link(std::move(socket)), .address = address};
    fault = address.to_text() + " cannot be reached: " +
            (error == asio::error::operation_aborted ? "no answer in time" : error.message());
    if (ended()) break;
  }
  co_return fail(Reason::unavailable, fault);
}

}  // namespace sallyport
