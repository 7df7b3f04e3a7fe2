#include "egress/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <ctime>

#include "credential/news.h"
#include "egress/confinement.h"
#include "egress/connection.h"
#include "egress/name_question.h"
#include "egress/system_roots.h"
#include "kernel/landlock.h"
#include "kernel/privilege.h"

namespace sallyport {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::ip::udp;
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
// Descriptors are used up: whoever waits goes on waiting in the kernel for a moment.
constexpr auto kAcceptPause = std::chrono::milliseconds(20);
// A little more than a reader takes.
constexpr auto kReaderPatience = std::chrono::milliseconds(2500);

using CellPtr = std::shared_ptr<ServedCell>;

Task<void> serve_client(CellPtr cell, tcp::socket socket, std::size_t point) {
  const auto began = std::chrono::steady_clock::now();
  const auto link = plain_link(std::move(socket));
  BufferedLink client(*link);
  const ServedCell::Open open(*cell, *link);
  const ServedCell::Connection counted(*cell);
  if (point == 0) {
    co_await serve_proxy(*cell, client);
  } else {
    const EgressPoint& place = cell->map().points()[point];
    co_await serve_connection(*cell, client,
                              {.port = place.port,
                               .scheme = cell->map().scheme_at(place),
                               .name = cell->map().name_at(place),
                               .address = place.address});
  }
  // Also when the cell has ended meanwhile, as one does whose tool only waited for this.
  const Duration time = cell->map().rules().time;
  if (time > Duration::zero() && std::chrono::steady_clock::now() - began >= time)
    cell->note({.kind = "connection",
                .verdict = "refused",
                .port = cell->map().points()[point].port,
                .why = "a connection has lasted as long as it may"});
}

Task<void> accept_clients(CellPtr cell, std::size_t point) {
  auto& listener = cell->listeners[point];
  while (!cell->ended()) {
    auto [error, socket] = co_await listener.async_accept(kTuple);
    if (error == asio::error::operation_aborted || cell->ended()) co_return;
    if (error) {
      asio::steady_timer pause(cell->io(), kAcceptPause);
      co_await pause.async_wait(kTuple);
      continue;
    }
    if (cell->connections() >= cell->map().rules().connections) {
      cell->note({.kind = "connection",
                  .verdict = "refused",
                  .port = cell->map().points()[point].port,
                  .why = "too many connections at once"});
      continue;
    }
    asio::co_spawn(cell->io(), serve_client(cell, std::move(socket), point), asio::detached);
  }
}

NameAnswer find_answer(ServedCell& cell, const NameQuestion& question) {
  const auto name = HostName::parse(question.name);
  const auto address = name ? cell.map().address_of(*name) : std::nullopt;
  cell.note_name(question.name, address.has_value());
  return {.address = address, .refused = !address};
}

// Names are answered from the rules. Nothing is ever asked outside for what a cell asks here.
Task<void> answer_names(CellPtr cell) {
  std::array<char, 513> bytes;
  udp::endpoint from;
  while (!cell->ended()) {
    const auto [error, size] =
        co_await cell->names.async_receive_from(asio::buffer(bytes), from, kTuple);
    if (error == asio::error::operation_aborted || cell->ended()) co_return;
    if (error) continue;
    const std::string_view datagram(bytes.data(), size);
    const auto question = parse_name_question(datagram);
    if (!question) cell->note_name("(a question that cannot be read)", false);
    const std::string answer = question
                                   ? answer_to(datagram, *question, find_answer(*cell, *question))
                                   : refusal_of(datagram);
    if (answer.empty()) continue;
    boost::system::error_code ignored;
    cell->names.send_to(asio::buffer(answer), from, 0, ignored);
  }
}

// The supervisor says nothing: what becomes readable is its end.
Task<void> watch_channel(CellPtr cell) {
  co_await cell->channel().async_wait(asio::posix::stream_descriptor::wait_read, kTuple);
  cell->end();
  // The connections note what they carried, one after the other in this loop; their cell goes with
  // the last of them.
  const auto pause = [&]() -> Task<void> {
    asio::steady_timer timer(cell->io(), std::chrono::milliseconds(1));
    co_await timer.async_wait(kTuple);
  };
  while (cell->connections() > 0)
    co_await pause();
  for (int tries = 0; tries < 100 && !cell->note_unlisted(); ++tries)
    co_await pause();
}

// The beginning of a file that was handed in, which is all of it for any that a resolver reads.
std::string text_of(const Fd& file) {
  constexpr std::size_t kMost = std::size_t{4} << 20, kPiece = std::size_t{16} << 10;
  std::string text;
  for (ssize_t size = 1; size > 0 && text.size() < kMost;) {
    const std::size_t had = text.size();
    text.resize(had + kPiece);
    size = ::read(file.get(), text.data() + had, kPiece);
    text.resize(had + static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  }
  return text;
}

// What a cell may look up is answered as the machine would have answered when the cell began.
void refresh_lookups(Outside& outside, const NewCell& cell) {
  std::string resolv_conf = text_of(cell.resolv_conf), hosts = text_of(cell.hosts);
  if (outside.lookups && resolv_conf == outside.resolv_conf && hosts == outside.hosts) return;
  outside.lookups =
      std::make_shared<const LookupSettings>(read_lookup_settings(resolv_conf, hosts));
  outside.resolv_conf = std::move(resolv_conf);
  outside.hosts = std::move(hosts);
}

std::vector<std::string> credentials_of(const EgressRules& rules) {
  std::vector<std::string> names;
  names.reserve(rules.grants.size());
  for (const EgressGrant& grant : rules.grants)
    names.push_back(grant.credential);
  return names;
}

// A cell whose sockets are not what its rules call for is not served, and neither is one without
// its credentials.
Task<void> begin_cell(asio::io_context& io, Outside& outside, NewCell given) {
  const std::vector<std::string> credentials = credentials_of(given.rules);
  co_await outside.secrets.wait_for(credentials);
  std::vector<std::string> values;
  values.reserve(credentials.size());
  for (const std::string& name : credentials) {
    values.push_back(outside.secrets.value_of(name));
    if (!values.back().empty()) continue;
    static_cast<void>(send_refusal(
        given.channel.get(),
        "the credential " + name + " cannot be had: " + outside.secrets.why_not(name)));
    co_return;
  }
  auto map = NetworkMap::make(std::move(given.rules));
  if (!map || map->points().size() != given.listeners.size()) co_return;
  std::unique_ptr<Authority> authority;
  if (has_inspection(map->rules())) {
    auto made = Authority::make(map->inspected());
    if (!made) co_return;
    authority = std::move(*made);
  }
  refresh_lookups(outside, given);
  const auto cell =
      std::make_shared<ServedCell>(io, outside, std::move(*map), std::move(given.placeholders),
                                   std::move(authority), std::move(given.channel));
  boost::system::error_code failed;
  failed = cell->names.assign(udp::v4(), given.names.release(), failed);
  cell->listeners.reserve(given.listeners.size());
  for (Fd& listener : given.listeners) {
    if (failed) co_return;
    cell->listeners.emplace_back(io);
    failed = cell->listeners.back().assign(tcp::v4(), listener.release(), failed);
  }
  if (failed) co_return;
  for (std::size_t i = 0; i < cell->listeners.size(); ++i)
    asio::co_spawn(io, accept_clients(cell, i), asio::detached);
  asio::co_spawn(io, answer_names(cell), asio::detached);
  asio::co_spawn(io, watch_channel(cell), asio::detached);
  CellReady ready{.authority = cell->authority() != nullptr ? cell->authority()->certificate() : "",
                  .fingerprints = {}};
  if (!values.empty()) {
    auto fingerprints = fingerprints_of(cell->grants().known());
    if (!fingerprints) co_return cell->end();
    ready.fingerprints = std::move(*fingerprints);
  }
  if (!send_ready(cell->channel().native_handle(), ready)) cell->end();
}

Task<void> watch_door(asio::io_context& io, asio::posix::stream_descriptor& door,
                      Outside& outside) {
  for (;;) {
    auto cell = receive_cell(door.native_handle());
    if (cell) {
      asio::co_spawn(io, begin_cell(io, outside, std::move(*cell)), asio::detached);
      continue;
    }
    if (cell.error().err == EBADMSG || cell.error().err == EINTR) continue;
    if (cell.error().err != EAGAIN) break;
    const auto [error] =
        co_await door.async_wait(asio::posix::stream_descriptor::wait_read, kTuple);
    if (error) break;
  }
  io.stop();
}

// Without the reader nothing is known any more of what is revoked: this process ends with it.
Task<void> watch_reader(asio::io_context& io, asio::posix::stream_descriptor& reader,
                        Secrets& secrets) {
  for (;;) {
    if (auto news = receive_news(reader.native_handle())) {
      secrets.take(std::move(*news));
      continue;
    } else if (news.error().err == EINTR) {
      continue;
    } else if (news.error().err != EAGAIN) {
      break;
    }
    const auto [error] =
        co_await reader.async_wait(asio::posix::stream_descriptor::wait_read, kTuple);
    if (error) break;
  }
  io.stop();
}

// A reader may have to give something back before it ends; whoever waits for this process waits for
// that too.
void end_reader(int reader) {
  ::shutdown(reader, SHUT_WR);
  const auto end = std::chrono::steady_clock::now() + kReaderPatience;
  char dropped[1];
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd news{.fd = reader, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&news, 1, static_cast<int>(left.count())) == 0) return;
    const ssize_t size = ::recv(reader, dropped, sizeof(dropped), MSG_DONTWAIT);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) return;
  }
}

// A process that speaks with strangers is nobody, and opens nothing.
Sys<void> give_up_rights() {
  if (::geteuid() == 0) {
    if (auto done = join_new_keyring(); !done) return done;
    if (auto done = become(kEgressUid, kEgressUid); !done) return done;
    if (auto done = drop_capabilities(); !done) return done;
    if (auto done = set_dumpable(false); !done) return done;  // the change of identity undid it
  }
  if (auto done = set_no_new_privileges(); !done) return done;
  auto ruleset = LandlockRuleset::create(landlock_abi());
  if (!ruleset) return std::unexpected(ruleset.error());
  return ruleset->restrict_self();
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

Result<void> serve_egress(Fd door, Fd reader) {
  ::prctl(PR_SET_NAME, "sally-egress");
  std::signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();
  if (auto done = set_dumpable(false); !done) return fail(Reason::internal, done.error());
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  ::tzset();  // the C library would read its file when a certificate is first made or checked
  Outside outside{.lookups = nullptr, .trust = HostTrust(system_roots()), .secrets = {}};
  if (auto done = give_up_rights(); !done) return fail(Reason::cannot_enforce, done.error());

  // Behind `outside`: what still waits in it when it ends refers to that.
  asio::io_context io(1);
  asio::posix::stream_descriptor entrance(io, door.release()), news(io);
  if (auto done = confine_egress(); !done) return done;
  if (reader) {
    news.assign(reader.release());
    asio::co_spawn(io, watch_reader(io, news, outside.secrets), asio::detached);
  }
  asio::co_spawn(io, watch_door(io, entrance, outside), asio::detached);
  io.run();
  if (news.is_open()) end_reader(news.native_handle());
  return {};
}

}  // namespace sallyport
