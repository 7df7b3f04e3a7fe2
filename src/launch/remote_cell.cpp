#include "launch/remote_cell.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "base/call_id.h"
#include "base/text.h"
#include "cell/late.h"
#include "cell/run.h"
#include "kernel/memory_file.h"
#include "launch/artifact_lock.h"
#include "launch/connect.h"
#include "launch/outcome_packet.h"
#include "launch/packet.h"
#include "launch/wire.h"

namespace sallyport {
namespace {

using Clock = std::chrono::steady_clock;

// A launcher that died is back long before; the connection waits for it.
constexpr auto kAcceptTime = std::chrono::seconds(20);
// The supervisor keeps the deadline of the call. What it does before and after has bounds of its
// own: this is for a machine on which nothing works any more.
constexpr auto kOverTime = std::chrono::minutes(5);

std::atomic<bool> service_stops = false;

Outcome not_started(const std::string& call_id, const std::string& why) {
  return blocked(call_id, {Reason::unavailable, "no cell can be made now: " + why,
                           "nothing was run; the launcher is started again by itself, so try again "
                           "in a moment"});
}

Outcome lost(const std::string& call_id) {
  Outcome outcome = blocked(
      call_id, {Reason::unavailable, "the launcher ended while the call ran; nothing of it goes on",
                "the tool may have done its work or a part of it: look before trying again"});
  outcome.status = Status::error;
  return outcome;
}

Outcome cancelled(const std::string& call_id) {
  Outcome outcome;
  outcome.call_id = call_id;
  outcome.status = Status::killed;
  outcome.reason = Reason::cancelled;
  outcome.message = "killed: the caller ended it before it began";
  return outcome;
}

// The launcher cannot know why the front ended a call.
void name_the_stop(Outcome& outcome) {
  if (outcome.status != Status::killed || outcome.reason != Reason::cancelled) return;
  const bool begun = !outcome.message.ends_with("before it began");
  outcome.message = begun ? "killed: the service was stopping, and the call had not ended in time"
                          : "killed: the service was stopping before the call began";
  outcome.hint = begun ? "the tool may have done a part of its work: look before trying again"
                       : "nothing was run; try again when the service is back";
}

struct KnownClass {
  PacketId id{};
  std::shared_ptr<const Fd> bytes;  // none: it has no class
};

// There are few, and each is wanted often.
KnownClass known_class(const std::string& tenant, const CellSpec& spec) {
  static std::mutex mutex;
  static std::map<PacketId, std::shared_ptr<const Fd>> files;
  const auto bytes = encode(Claim{.tenant = tenant, .spec = class_of(spec)});
  if (!bytes) return {};
  KnownClass known{.id = id_of(*bytes), .bytes = {}};
  const std::scoped_lock lock(mutex);
  if (const auto at = files.find(known.id); at != files.end()) {
    known.bytes = at->second;
    return known;
  }
  auto file = make_memory_file(*bytes);
  if (!file) return {};
  constexpr std::size_t kMostKept = 256;
  if (files.size() >= kMostKept) files.clear();
  known.bytes = files[known.id] = std::make_shared<const Fd>(std::move(*file));
  return known;
}

// One call after its claim was sent.
class Conversation : public RemoteCell {
 public:
  Conversation(Fd socket, Fd directory, std::string call_id, Duration timeout, int cancel)
      : socket_(std::move(socket)),
        directory_(std::move(directory)),
        call_id_(std::move(call_id)),
        timeout_(timeout),
        cancel_(cancel) {}

  // The connection stays open until this object goes: while it is, the supervisor leaves the
  // processors to us.
  Outcome run() override {
    Outcome outcome = is_readable(cancel_) ? stop_before_it_began() : go_and_wait();
    if (cut_by_stop_) name_the_stop(outcome);
    return outcome;
  }

 private:
  static bool is_readable(int fd) {
    pollfd event{.fd = fd, .events = POLLIN, .revents = 0};
    return fd >= 0 && ::poll(&event, 1, 0) == 1;
  }

  Outcome stop_before_it_began() {
    cut_by_stop_ = service_stops;
    socket_.reset();
    return cancelled(call_id_);
  }

  Outcome go_and_wait() {
    // One that has refused the call may be gone already; what it said is still there.
    told_to_go_ = send_packet(socket_.get(), PacketKind::go, 0, {}).has_value();
    return wait_for_outcome();
  }

  Outcome wait_for_outcome() {
    Clock::time_point deadline = Clock::now() + kAcceptTime;
    for (;;) {
      pollfd events[] = {{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                         {.fd = ended_ ? -1 : cancel_, .events = POLLIN, .revents = 0}};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) return give_up();
      if (::poll(events, 2, static_cast<int>(std::min<std::int64_t>(left.count(), 1'000'000))) < 0)
        continue;
      if (events[0].revents != 0) {
        const bool was_accepted = accepted_;
        if (auto outcome = receive()) return std::move(*outcome);
        if (accepted_ && !was_accepted) deadline = Clock::now() + timeout_ + kOverTime;
      } else if (events[1].revents != 0) {
        cut_by_stop_ = service_stops;
        end();
        // Before it was accepted there may be nobody to say more.
        if (!accepted_)
          if (auto outcome = receive_or(cancelled(call_id_))) return std::move(*outcome);
        if (accepted_) deadline = Clock::now() + kOverTime;
      }
    }
  }

  // From here on the supervisor kills the cell; or, if it has not said yet that it accepts the
  // claim, it will not run it.
  void end() {
    ended_ = true;
    (void)::shutdown(socket_.get(), SHUT_WR);
  }

  // What has come, if it is the end of the call.
  std::optional<Outcome> receive() {
    auto packet = receive_packet(socket_.get());
    if (!packet && packet.error().err == EAGAIN) return std::nullopt;
    if (packet && packet->kind == PacketKind::accepted && !accepted_) {
      accepted_ = true;
      return std::nullopt;
    }
    if (!packet || packet->kind != PacketKind::outcome) return gone();
    auto outcome = outcome_in(*packet);
    if (!outcome) return gone();
    outcome->call_id = call_id_;
    return std::move(*outcome);
  }

  // The same after end(): the outcome `otherwise` if it was not accepted before.
  std::optional<Outcome> receive_or(Outcome otherwise) {
    if (auto outcome = receive()) return outcome;
    if (accepted_) return std::nullopt;
    return otherwise;
  }

  Outcome gone() {
    return accepted_ && told_to_go_ ? lost(call_id_)
                                    : not_started(call_id_, "the launcher has ended");
  }

  Outcome give_up() {
    if (accepted_) return lost(call_id_);
    if (!ended_) end();
    auto outcome = receive_or(not_started(call_id_, "the launcher does not answer"));
    return outcome ? std::move(*outcome) : lost(call_id_);
  }

  Fd socket_;
  Fd directory_;  // of the artifacts, which is held as long
  std::string call_id_;
  Duration timeout_;
  int cancel_;
  bool told_to_go_ = false, accepted_ = false, ended_ = false, cut_by_stop_ = false;
};

std::optional<PacketId> from_hex(std::string_view text) {
  PacketId id{};
  if (text.size() != 2 * id.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    id[i / 2] = static_cast<std::uint8_t>(id[i / 2] * std::size_t{16} + digit);
  }
  if (id == PacketId{}) return std::nullopt;
  return id;
}

// One that could not be asked for.
class NoCell : public RemoteCell {
 public:
  explicit NoCell(Outcome why) : why_(std::move(why)) {}
  Outcome run() override { return std::move(why_); }

 private:
  Outcome why_;
};

std::unique_ptr<RemoteCell> none(Outcome why) {
  return std::make_unique<NoCell>(std::move(why));
}

}  // namespace

std::unique_ptr<RemoteCell> ask_for_cell(const std::string& socket, const std::string& tenant,
                                         const CellSpec& spec, const CellStreams& streams) {
  Claim claim{.tenant = tenant, .spec = spec};
  if (spec.call_id.empty()) claim.spec.call_id = make_call_id();
  const std::string& call_id = claim.spec.call_id;
  if (spec.observation != nullptr || (spec.use_stdin && !spec.input))
    return none(blocked(
        call_id,
        {Reason::cannot_enforce, "a cell of the launcher can neither be observed nor read a stream",
         "run it without a service"}));

  std::vector<int> fds;
  std::uint8_t flags = 0;
  KnownClass known;
  if (streams.connection < 0 && may_be_parked(spec) && fits_parked(spec)) {
    known = known_class(tenant, spec);
    if (known.bytes) {
      fds.push_back(known.bytes->get());
      flags |= kHasClass;
    }
  }
  if (!spec.client.files.empty()) {
    const auto ticket = from_hex(spec.client.ticket);
    if (!ticket)
      return none(blocked(call_id, {Reason::argument, "that is no ticket of the launcher", {}}));
    known.id = *ticket;
    flags |= kHasTicket;
  }
  for (const auto& [fd, flag] :
       {std::pair(streams.output, kHasOutput), std::pair(streams.error, kHasError)}) {
    if (fd < 0) continue;
    fds.push_back(fd);
    flags |= flag;
  }
  Fd directory;
  claim.spec.output_directory.clear();
  if (!spec.outputs.empty()) {
    const char* place = spec.output_directory.empty() ? "." : spec.output_directory.c_str();
    directory = Fd(::open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory)
      return none(blocked(call_id, {Reason::unavailable,
                                    "the directory " + quoted(place) +
                                        " for artifacts cannot be opened: " + std::strerror(errno),
                                    {}}));
    hold_artifacts(directory.get(), place);
    fds.push_back(directory.get());
    flags |= kHasDirectory;
  }
  if (streams.connection >= 0) {
    fds.push_back(streams.connection);
    flags |= kHasConnection;
  }
  const auto bytes = encode(claim);
  if (!bytes) return none(blocked(call_id, bytes.error()));
  const bool is_small = bytes->size() <= kMostPacketContent;
  Fd file;
  if (!is_small) {
    auto made = make_memory_file(*bytes);
    if (!made) return none(blocked(call_id, {Reason::unavailable, describe(made.error()), {}}));
    file = std::move(*made);
    fds.insert(fds.begin(), file.get());
  }

  auto connection = connect_to_launcher(socket);
  if (!connection) return none(not_started(call_id, describe(connection.error())));
  if (auto sent = send_packet(connection->get(), PacketKind::claim, flags, fds, known.id, 0,
                              is_small ? std::string_view(*bytes) : std::string_view());
      !sent)
    return none(not_started(call_id, describe(sent.error())));
  return std::make_unique<Conversation>(std::move(*connection), std::move(directory), call_id,
                                        spec.limits.timeout, streams.cancel);
}

Outcome run_cell_remotely(const std::string& socket, const std::string& tenant,
                          const CellSpec& spec, const CellStreams& streams) {
  return ask_for_cell(socket, tenant, spec, streams)->run();
}

void blame_the_stop() {
  service_stops = true;
}

}  // namespace sallyport
