#include "egress/name_lookup.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <utility>

#include "base/text.h"
#include "egress/dns_message.h"

namespace sallyport {
namespace {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using asio::awaitable;
using asio::ip::tcp;
using asio::ip::udp;
using Clock = std::chrono::steady_clock;
using Addresses = std::vector<IpAddress>;

constexpr auto kPlainAwait = asio::as_tuple(asio::use_awaitable);
// What may come that is not the answer, before another port and another number are better: each
// datagram may be a guess of them.
constexpr int kMostStrays = 64;

// Why a server gave no answer, as the end of a sentence.
using Silence = std::string;

struct Question {
  const NameServer& server;
  const HostName& name;
  DnsType type = DnsType::a;
};

asio::ip::address to_asio(const IpAddress& address) {
  const auto& bytes = address.bytes();
  if (address.is_v4()) return asio::ip::address_v4({bytes[0], bytes[1], bytes[2], bytes[3]});
  return asio::ip::address_v6(bytes);
}

std::optional<std::uint16_t> random_id() {
  std::uint16_t id = 0;
  if (::getrandom(&id, sizeof(id), 0) != sizeof(id)) return std::nullopt;
  return id;
}

using Reply = std::expected<DnsAnswer, Silence>;

std::unexpected<Silence> silence(std::string_view what) {
  return std::unexpected(Silence(what));
}

std::unexpected<Silence> silence(const boost::system::error_code& error) {
  return std::unexpected(error.message());
}

awaitable<Reply> ask_over_tcp(const Question& question) {
  const auto id = random_id();
  if (!id) co_return silence("there are no random numbers");
  tcp::socket socket(co_await asio::this_coro::executor);
  const tcp::endpoint server(to_asio(question.server.address), question.server.port);
  if (const auto [error] = co_await socket.async_connect(server, kPlainAwait); error)
    co_return silence(error);

  const std::string query = make_dns_query(*id, question.name, question.type);
  std::string bytes{static_cast<char>(query.size() >> 8), static_cast<char>(query.size() & 0xff)};
  bytes.append(query);
  if (const auto [error, size] =
          co_await asio::async_write(socket, asio::buffer(bytes), kPlainAwait);
      error)
    co_return silence(error);

  std::array<unsigned char, 2> length{};
  if (const auto [error, size] =
          co_await asio::async_read(socket, asio::buffer(length), kPlainAwait);
      error)
    co_return silence(error);
  bytes.resize(std::size_t{length[0]} << 8 | length[1]);
  if (const auto [error, size] =
          co_await asio::async_read(socket, asio::buffer(bytes), kPlainAwait);
      error)
    co_return silence(error);
  auto answer = parse_dns_answer(bytes, *id, question.name, question.type);
  if (!answer) co_return silence(answer.error().message);
  if (answer->truncated) co_return silence("the answer of the name server is cut off");
  co_return std::move(*answer);
}

awaitable<Reply> ask_server(const Question& question) {
  const auto id = random_id();
  if (!id) co_return silence("there are no random numbers");
  // A socket of its own: the kernel gives it a random port, and connected, it hears the server
  // alone. Who wants to answer in its place has to guess the port and the number.
  udp::socket socket(co_await asio::this_coro::executor);
  const udp::endpoint server(to_asio(question.server.address), question.server.port);
  boost::system::error_code failure;
  if (failure = socket.open(server.protocol(), failure); failure) co_return silence(failure);
  if (failure = socket.connect(server, failure); failure) co_return silence(failure);
  const std::string query = make_dns_query(*id, question.name, question.type);
  if (const auto [error, size] = co_await socket.async_send(asio::buffer(query), kPlainAwait);
      error)
    co_return silence(error);

  // With room for servers that send more than they were told to.
  std::array<char, 4096> datagram{};
  for (int strays = 0; strays < kMostStrays; ++strays) {
    const auto [error, size] = co_await socket.async_receive(asio::buffer(datagram), kPlainAwait);
    if (error) co_return silence(error);
    auto answer = parse_dns_answer({datagram.data(), size}, *id, question.name, question.type);
    if (!answer) continue;
    if (answer->truncated) co_return co_await ask_over_tcp(question);
    co_return std::move(*answer);
  }
  co_return silence("nothing that came was an answer");
}

awaitable<Reply> ask(Question question, Clock::time_point deadline) {
  asio::steady_timer timer(co_await asio::this_coro::executor, deadline);
  auto first = co_await (ask_server(question) || timer.async_wait(kPlainAwait));
  if (Reply* const reply = std::get_if<Reply>(&first)) co_return std::move(*reply);
  co_return silence("there was no answer in time");
}

bool has_addresses(const Reply& reply) {
  return reply && !reply->addresses.empty();
}

bool is_no_such_name(const Reply& reply) {
  return reply && reply->rcode == DnsAnswer::kNoSuchName;
}

bool is_answered(const Reply& reply) {
  return reply && reply->rcode == DnsAnswer::kNoError;
}

// What the answers of one server say; nothing: it has to be asked of another.
std::optional<Result<Addresses>> conclude(const HostName& name, Reply& v4, Reply& v6) {
  // Some servers keep silent about AAAA, or deny the name then: the addresses that they do tell
  // are good.
  if (has_addresses(v4) || has_addresses(v6)) {
    Addresses addresses = has_addresses(v4) ? std::move(v4->addresses) : Addresses();
    if (has_addresses(v6))
      addresses.insert(addresses.end(), v6->addresses.begin(), v6->addresses.end());
    return addresses;
  }
  if (is_no_such_name(v4) || is_no_such_name(v6))
    return fail(Reason::unavailable, "the host " + quoted(name.to_text()) + " does not exist",
                "check how it is written; search domains are not used");
  if (is_answered(v4) && is_answered(v6))
    return fail(Reason::unavailable, "the host " + quoted(name.to_text()) + " has no address",
                "check its A and AAAA records");
  return std::nullopt;
}

Silence reason_of(const Reply& reply) {
  if (!reply) return reply.error();
  return "it answers with error " + std::to_string(reply->rcode);
}

awaitable<Result<Addresses>> ask_servers(const HostName& name, const LookupSettings& settings) {
  const Clock::time_point end = Clock::now() + kLongestLookup;
  // So that each server is asked once at least, however slow the ones before it are.
  const auto patience = std::min<Clock::duration>(
      settings.timeout, kLongestLookup / std::max<std::size_t>(settings.servers.size(), 1));
  Silence last = "there is no name server";
  for (unsigned attempt = 0; attempt < settings.attempts; ++attempt) {
    for (const NameServer& server : settings.servers) {
      const Clock::time_point now = Clock::now();
      if (now >= end) break;
      const Clock::time_point deadline = std::min(now + patience, end);
      auto [v4, v6] = co_await (ask({server, name, DnsType::a}, deadline) &&
                                ask({server, name, DnsType::aaaa}, deadline));
      if (auto concluded = conclude(name, v4, v6)) co_return std::move(*concluded);
      last = server.address.to_text() + ": " + reason_of(is_answered(v4) ? v6 : v4);
    }
  }
  co_return fail(Reason::unavailable,
                 "the host " + quoted(name.to_text()) + " could not be looked up: " + last,
                 "check the name servers in /etc/resolv.conf");
}

std::optional<Addresses> known_addresses(const HostName& name, const LookupSettings& settings) {
  if (const auto found = settings.hosts.find(name); found != settings.hosts.end())
    return found->second;
  if (!name.is_localhost()) return std::nullopt;
  std::array<std::uint8_t, 16> loopback{};
  loopback.back() = 1;
  return Addresses{IpAddress::v4({127, 0, 0, 1}), IpAddress::v6(loopback)};
}

}  // namespace

awaitable<Result<Addresses>> look_up(HostName name, const LookupSettings& settings) {
  try {
    if (auto known = known_addresses(name, settings)) co_return std::move(*known);
    co_return co_await ask_servers(name, settings);
  } catch (const std::exception& error) {  // cancelled, or no memory
    co_return fail(Reason::unavailable, "the host " + quoted(name.to_text()) +
                                            " could not be looked up: " + error.what());
  }
}

}  // namespace sallyport
