#include "cell/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <set>
#include <utility>

#include "base/text.h"
#include "cell/control.h"
#include "cell/launcher.h"
#include "cell/observe_names.h"
#include "cell/pump.h"
#include "cell/scratch_scan.h"
#include "cell/trust.h"
#include "kernel/seccomp_names.h"
#include "kernel/syscalls.h"
#include "warm/image_format.h"

namespace sallyport {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A launch takes milliseconds; one that takes this long is stuck.
constexpr auto kLaunchDeadline = std::chrono::seconds(60);
// How long the answer waits for a killed cell to be gone.
constexpr auto kGrace = milliseconds(500);
// How often limits are looked at that the kernel does not report by itself.
constexpr auto kWatchInterval = milliseconds(50);
constexpr auto kShortestInterval = milliseconds(2);
constexpr std::size_t kInputBuffer = 65536;
// A tool that has ended by then has left its output in its pipes, and nobody needs to carry it.
// Where nobody looks at it while the tool runs, what counts is that a full pipe does not wait long.
constexpr auto kFirstOutput = milliseconds(2);
constexpr auto kFirstUnseenOutput = milliseconds(10);

int pidfd_wait(int pidfd, siginfo_t& info, rusage& usage) {
  return static_cast<int>(::syscall(SYS_waitid, P_PIDFD, pidfd, &info, WEXITED | WNOHANG, &usage));
}

std::uint64_t to_us(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_usec);
}

}  // namespace

Supervisor::Supervisor(const CellSpec& spec, const CellStreams& streams, Prepared& cell,
                       Board& board, LaunchedCell& launched)
    : spec_(spec),
      streams_(streams),
      cell_(cell),
      board_(board),
      launched_(launched),
      output_({}, streams.output, spec.limits.max_output),
      error_({}, streams.error, spec.limits.max_output),
      input_open_(false),
      deadline_(Clock::now() + kLaunchDeadline),
      next_limit_look_(Clock::time_point::max()) {
  if (!cell_.plan.parked && !cell_.runner) open_input();
  if (pump_failed_) end_cell(Reason::internal);
}

void Supervisor::open_input() {
  input_open_ = spec_.use_stdin && streams_.input >= 0;
  if (input_open_)
    cell_.stdin_write = pumped(pump_to, cell_.stdin_write);
  else
    cell_.stdin_write.reset();
}

Fd Supervisor::pumped(Sys<Fd> (*pump)(Fd), Fd& tool_end) {
  auto ours = pump(std::move(tool_end));
  if (ours) return std::move(*ours);
  pump_failed_ = true;
  return {};
}

bool Supervisor::park(int claim) {
  claim_ = claim;
  claimed_ = false;
  const auto is_over = [&] { return parked_ && (claim < 0 || claimed_); };
  while (!ended_ && verdict_ == Reason::none && !is_over())
    poll_once();
  claim_ = -1;
  return !ended_ && verdict_ == Reason::none;
}

// From here on it costs no time and no attention until it is claimed.
void Supervisor::note_parked() {
  parked_ = true;
  deadline_ = Clock::time_point::max();
  next_limit_look_ = Clock::time_point::max();
  if (cell_.cgroup) before_ = cell_.cgroup->usage_so_far();
}

bool Supervisor::wake() {
  dozes_ = parked_ = false;
  deadline_ = Clock::now() + kLaunchDeadline;
  return ::send(cell_.runner.get(), "c", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

// One letter, and behind an 'E' a sentence. The kernel says who has written it.
void Supervisor::hear_runner() {
  char text[512];
  iovec part{.iov_base = text, .iov_len = sizeof(text)};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(ucred))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof(space);
  const ssize_t size = ::recvmsg(cell_.runner.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0 || text[0] == 'E') {
    complaint_ = to_utf8(size <= 0 ? "it has ended" : std::string(text + 1, text + size));
    return end_cell(Reason::internal);
  }
  const cmsghdr* const sender = CMSG_FIRSTHDR(&message);
  if (sender != nullptr && sender->cmsg_type == SCM_CREDENTIALS) {
    ucred who{};
    std::memcpy(&who, CMSG_DATA(sender), sizeof(who));
    runner_ = who.pid;
  }
  dozes_ = text[0] == *SALLYPORT_DOZES;
  note_parked();
}

void Supervisor::begin() {
  output_.pass_on_to(streams_.output);
  error_.pass_on_to(streams_.error);
  open_input();
  if (pump_failed_) return end_cell(Reason::internal);
  // What its own start was refused is not the call's.
  refused_.clear();
  refusals_ = 0;
  begin_run(Clock::now());
}

void Supervisor::watch() {
  while (!ended_ && Clock::now() < give_up_)
    poll_once();
  end_ = Clock::now();
  // A cell may end faster than its messages are read.
  while (cell_.control && !heard_end_)
    handle_control();
  finish_output(output_, cell_.stdout_read);
  finish_output(error_, cell_.stderr_read);
  // A tool that was quicker than a look at its output is no better than one that was caught.
  if (verdict_ == Reason::none && is_output_over()) verdict_ = Reason::output;
  check_output();
}

// What can be polled. That takes no lock of the pipe; reading from it does (see pump.h).
int Supervisor::wants_output(const StreamRelay& relay, const Fd& tool_end) const {
  if (!tool_end) return relay.wants_read();
  return looks_for_output_ ? tool_end.get() : -1;
}

// When nobody writes to a pipe any more, mostly the tool has ended, and that will be heard in a
// moment. If not, somebody is to carry what is there after all.
bool Supervisor::can_wait_for_end(const Fd& tool_end, short happened) {
  if (!tool_end || (happened & POLLHUP) == 0) return false;
  if (!std::exchange(saw_hang_up_, true)) output_due_ = Clock::now() + kFirstOutput;
  return Clock::now() < output_due_;
}

void Supervisor::take_output(StreamRelay& relay, Fd& tool_end) {
  if (!tool_end) return relay.read_some();
  relay.read_from(pumped(pump_from, tool_end));
  if (pump_failed_) end_cell(Reason::internal);
}

// All writers are dead, so the streams end as soon as the pumps have carried the rest; unless
// something is stuck. A pipe that only the dead have had needs no pump.
void Supervisor::finish_output(StreamRelay& relay, Fd& tool_end) {
  if (tool_end) {
    const bool by_ourselves =
        ended_ && has_pipes_alone() && ::fcntl(tool_end.get(), F_SETFL, O_NONBLOCK) == 0;
    relay.read_from(by_ourselves ? std::move(tool_end) : pumped(pump_from, tool_end));
  }
  relay.finish(streams_.cancel, ended_ ? milliseconds(kGrace) : milliseconds(0));
}

// Whether no process outside of the cell can have got an end of the tool's pipes, with which it
// could hold them locked: there is no socket over which the tool could have sent one.
bool Supervisor::has_pipes_alone() const {
  return spec_.grants.empty() && spec_.client.files.empty() && spec_.root.empty() &&
         spec_.network.allow.empty() && streams_.connection < 0;
}

void Supervisor::poll_once() {
  enum {
    kPid,
    kControl,
    kListener,
    kOutput,
    kError,
    kOutputReader,
    kErrorReader,
    kInput,
    kTool,
    kOom,
    kNames,
    kNetwork,
    kCancel,
    kRunner,
    kClaim,
    kCount
  };
  looks_for_output_ = Clock::now() >= output_due_;
  std::array<pollfd, kCount> events{};
  const auto want = [&](int index, int fd, short mask) {
    events[index] = {.fd = fd, .events = mask, .revents = 0};
  };
  want(kPid, launched_.pidfd.get(), POLLIN);
  want(kControl, cell_.control.get(), POLLIN);
  want(kListener, listener_ ? listener_->fd() : -1, POLLIN);
  want(kOutput, wants_output(output_, cell_.stdout_read), POLLIN);
  want(kError, wants_output(error_, cell_.stderr_read), POLLIN);
  want(kOutputReader, output_.wants_write(), POLLOUT);
  want(kErrorReader, error_.wants_write(), POLLOUT);
  want(kInput, input_open_ && input_.empty() ? streams_.input : -1, POLLIN);
  want(kTool, !input_.empty() ? cell_.stdin_write.get() : -1, POLLOUT);
  want(kOom, cell_.cgroup ? cell_.cgroup->oom_fd() : -1,
       cell_.cgroup ? cell_.cgroup->oom_poll_events() : short{0});
  want(kNames, name_server_.get(), POLLIN);
  want(kNetwork, network_ ? network_->fd() : -1, POLLIN);
  want(kRunner, parked_ ? -1 : cell_.runner.get(), POLLIN);
  want(kClaim, parked_ ? claim_ : -1, POLLIN);
  want(kCancel, verdict_ == Reason::none ? streams_.cancel : -1, POLLIN);

  const auto look = next_look();
  const bool forever = look == Clock::time_point::max();
  const auto left =
      forever ? Clock::duration::zero() : std::max(look - Clock::now(), Clock::duration::zero());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec timeout{.tv_sec = seconds.count(),
                         .tv_nsec = std::chrono::nanoseconds(left - seconds).count()};
  if (::ppoll(events.data(), events.size(), forever ? nullptr : &timeout, nullptr) < 0) return;

  const auto ready = [&](int index) { return events[index].revents != 0; };
  if (ready(kControl)) handle_control();
  if (ready(kListener)) {
    if ((events[kListener].revents & POLLIN) != 0)
      handle_call();
    else
      listener_.reset();
  }
  if (ready(kNames)) answer_names(name_server_.get(), *spec_.observation);
  if (ready(kNetwork)) network_->take();
  if (ready(kOutput) && !can_wait_for_end(cell_.stdout_read, events[kOutput].revents))
    take_output(output_, cell_.stdout_read);
  if (ready(kError) && !can_wait_for_end(cell_.stderr_read, events[kError].revents))
    take_output(error_, cell_.stderr_read);
  if (ready(kOutputReader)) output_.write_some();
  if (ready(kErrorReader)) error_.write_some();
  if (ready(kInput) || ready(kTool)) handle_input();
  if (ready(kCancel)) end_cell(Reason::cancelled);
  if (ready(kRunner)) hear_runner();
  if (ready(kClaim)) claimed_ = true;
  check_output();
  look_at_limits();
  if (ready(kOom)) look_at_oom();
  if (ready(kPid)) reap();
}

Supervisor::Clock::time_point Supervisor::next_look() const {
  const auto look = std::min({deadline_, next_limit_look_, give_up_});
  return looks_for_output_ ? look : std::min(look, output_due_);
}

void Supervisor::look_at_limits() {
  const auto now = Clock::now();
  if (now >= deadline_ && verdict_ == Reason::none)
    end_cell(started_ ? Reason::timeout : Reason::internal);
  if (!started_ || verdict_ != Reason::none || now < next_limit_look_) return;
  next_limit_look_ = now + kWatchInterval;
  if (cell_.cgroup)
    look_at_cgroup();
  else if (processes_)
    look_at_processes();
  if (scratch_full()) disk_full_ = true;
  note_scratch();
}

// v1 speaks before it kills: an event without a kill is looked at again when the kill must have
// been done.
void Supervisor::look_at_oom() {
  if (cell_.cgroup->oom_kills() > 0)
    end_cell(Reason::memory);
  else if (started_)
    next_limit_look_ = std::min(next_limit_look_, Clock::now() + kShortestInterval);
}

void Supervisor::look_at_cgroup() {
  if (cell_.cgroup->oom_kills() > 0) return end_cell(Reason::memory);
  const microseconds used(cell_.cgroup->cpu_used_us() - before_.cpu_user_us -
                          before_.cpu_system_us);
  if (used >= spec_.limits.cpu) return end_cell(Reason::cpu);
  next_limit_look_ = Clock::now() + until_cpu_limit(used);
}

// The cell cannot use up what is left of its CPU time faster than this.
Supervisor::Clock::duration Supervisor::until_cpu_limit(microseconds used) const {
  const microseconds soonest(static_cast<std::int64_t>(
      static_cast<double>((spec_.limits.cpu - used).count()) / std::max(spec_.limits.cpus, 0.01)));
  return std::clamp<Clock::duration>(soonest, kShortestInterval, milliseconds(250));
}

void Supervisor::look_at_processes() {
  const WatchedUsage usage = processes_->look(deadline_);
  const std::uint64_t memory = usage.memory_bytes + scratch_used();
  watched_user_us_ = std::max(watched_user_us_, usage.cpu_user_us);
  watched_system_us_ = std::max(watched_system_us_, usage.cpu_system_us);
  peak_watched_memory_ = std::max(peak_watched_memory_, memory);
  peak_watched_processes_ = std::max(peak_watched_processes_, usage.processes);
  if (microseconds(usage.cpu_user_us + usage.cpu_system_us) >= spec_.limits.cpu)
    return end_cell(Reason::cpu);
  if (memory > spec_.limits.memory.bytes) return end_cell(Reason::memory);
}

std::uint64_t Supervisor::scratch_used() const {
  struct statvfs space{};
  if (!scratch_ || ::fstatvfs(scratch_.get(), &space) != 0) return 0;
  return (space.f_blocks - space.f_bfree) * space.f_frsize;
}

bool Supervisor::scratch_full() const {
  struct statvfs space{};
  return scratch_ && ::fstatvfs(scratch_.get(), &space) == 0 &&
         (space.f_bfree == 0 || space.f_ffree == 0);
}

void Supervisor::note_scratch() {
  if (spec_.observation == nullptr) return;
  std::uint64_t& peak = spec_.observation->peak_scratch_bytes;
  peak = std::max(peak, scratch_used());
}

void Supervisor::handle_control() {
  auto received = receive(cell_.control.get());
  if (!received || (received->message == ControlMessage{} && received->descriptors.empty())) {
    cell_.control.reset();
    return;
  }
  switch (received->message) {
    case ControlMessage::map_groups: {
      const Identity& self = cell_.plan.outside;
      const auto subordinate = own_subordinate_gid(self.uid);
      const bool mapped = subordinate && map_groups(launched_.pid, self.gid, *subordinate);
      // Without an answer init finds the socket closed and gives up.
      if (!mapped || !send_message(cell_.control.get(), ControlMessage::done))
        cell_.control.reset();
      break;
    }
    case ControlMessage::egress:
      serve_network(received->descriptors);
      break;
    case ControlMessage::descriptors: {
      std::vector<Fd>& given = received->descriptors;
      const std::size_t expected =
          2 + (cell_.plan.watch_processes ? 1 : 0) + (cell_.plan.observe ? 1 : 0);
      if (given.size() != expected) return end_cell(Reason::internal);
      auto listener = RefusalListener::make(std::move(given[0]));
      if (!listener) return end_cell(Reason::internal);
      listener_ = std::move(*listener);
      scratch_ = std::move(given[1]);
      // The tool is started next. The clock does not wait for init to say so: the tool could keep
      // it from speaking.
      if (!cell_.plan.parked && !cell_.runner) begin_run(Clock::now());
      if (cell_.plan.watch_processes) processes_.emplace(std::move(given[2]));
      if (cell_.plan.observe) {
        name_server_ = std::move(given.back());
        observer_.emplace(*spec_.observation, cell_.profile_options);
      }
      break;
    }
    case ControlMessage::started: {
      if (!cell_.runner) begin_run(Clock::time_point(std::chrono::nanoseconds(board_.run_ns)));
      break;
    }
    case ControlMessage::parked:
      note_parked();
      break;
    case ControlMessage::ended:
      // Without a cgroup, what was used is known only when init itself is reaped.
      heard_end_ = true;
      if (cell_.cgroup) ended_ = true;
      break;
    case ControlMessage::done:
    case ControlMessage::go:
      break;
  }
}

// Init waits for the answer; without one it finds the socket closed and gives up.
void Supervisor::serve_network(const std::vector<Fd>& sockets) {
  if (streams_.egress < 0) {
    refusal_ = Error{Reason::unavailable, "there is no egress process to serve the cell's network",
                     "start the service, or use `sallyport run --net`"};
  } else {
    auto channel = EgressChannel::open(streams_.egress, cell_.call_id, spec_.network,
                                       cell_.plan.placeholders, sockets);
    if (channel) {
      network_ = std::move(*channel);
      if (!network_->fingerprints().of.empty())
        for (StreamRelay* relay : {&output_, &error_})
          relay->cover(network_->fingerprints());
    } else {
      refusal_ = std::move(channel.error());
    }
  }
  if (!refusal_ && cell_.plan.trust) {
    if (auto done = complete_trust(cell_.plan, network_->authority()); !done)
      refusal_ = Error{Reason::unavailable, describe(done.error()), {}};
    cell_.plan.trust.reset();
    cell_.plan.java_trust.reset();
  }
  if (refusal_ || !send_message(cell_.control.get(), ControlMessage::done)) cell_.control.reset();
}

void Supervisor::begin_run(Clock::time_point run) {
  if (verdict_ != Reason::none) return;
  started_ = true;
  run_ = run;
  deadline_ = run_ + spec_.limits.timeout;
  const auto now = Clock::now();
  const bool seen = streams_.output >= 0 || streams_.error >= 0;
  output_due_ = now + (seen ? kFirstOutput : kFirstUnseenOutput);
  next_limit_look_ = cell_.cgroup ? now + until_cpu_limit({}) : now;
}

void Supervisor::handle_call() {
  std::function<void(const WaitingCall&)> look;
  if (observer_) look = [this](const WaitingCall& call) { observer_->look(call, *listener_); };
  const auto answered = listener_->receive_and_answer(*cell_.policy, look);
  if (!answered || !*answered) return;
  if (!(*answered)->refused) return note_scratch();
  ++refused_[name_of_call((*answered)->call)];
  if (++refusals_ > spec_.limits.refused_syscalls) end_cell(Reason::syscall);
}

void Supervisor::handle_input() {
  if (input_.empty() && input_open_) {
    input_.resize(kInputBuffer);
    const ssize_t size = ::read(streams_.input, input_.data(), input_.size());
    input_.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) input_open_ = false;
  }
  if (!input_.empty() && cell_.stdin_write) {
    const ssize_t size = ::write(cell_.stdin_write.get(), input_.data(), input_.size());
    if (size > 0) {
      input_.erase(0, static_cast<std::size_t>(size));
    } else if (errno != EAGAIN && errno != EINTR) {
      // The tool reads no more.
      input_.clear();
      input_open_ = false;
    }
  }
  if (input_.empty() && !input_open_) cell_.stdin_write.reset();
}

bool Supervisor::is_output_over() const {
  return output_.total() + error_.total() > spec_.limits.max_output_hard.bytes;
}

void Supervisor::check_output() {
  if (is_output_over()) {
    end_cell(Reason::output);
    // A kill takes its time on a loaded machine, and the limit holds meanwhile.
    output_.stop_reading();
    error_.stop_reading();
  }
  if (output_.reader_gone() || error_.reader_gone()) end_cell(Reason::cancelled);
}

void Supervisor::end_cell(Reason reason) {
  if (verdict_ != Reason::none || ended_) return;
  verdict_ = reason;
  give_up_ = Clock::now() + kGrace;
  deadline_ = Clock::time_point::max();
  next_limit_look_ = Clock::time_point::max();
  // The death of init takes every process of its namespace with it, whatever they ignore.
  sys::pidfd_send_signal(launched_.pidfd.get(), SIGKILL);
  if (cell_.cgroup) cell_.cgroup->kill();
}

void Supervisor::reap() {
  siginfo_t info{};
  rusage usage{};
  if (pidfd_wait(launched_.pidfd.get(), info, usage) != 0 || info.si_pid == 0) return;
  rusage_user_us_ = to_us(usage.ru_utime);
  rusage_system_us_ = to_us(usage.ru_stime);
  rusage_peak_bytes_ = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  launched_.pid = -1;
  ended_ = true;
}

namespace {

// A credential that was on its way to where it must not go, or that a call wanted in vain: each
// place once.
void note_misused_credentials(Outcome& outcome) {
  std::set<std::string> noted;
  for (const NetworkEvent& event : outcome.network) {
    if (event.credential.empty() || event.verdict != "refused") continue;
    const std::string place = event.credential + " to " + event.host;
    if (noted.insert(place).second)
      outcome.findings.push_back({.kind = "credential_refused", .path = place, .why = event.why});
  }
}

}  // namespace

const Fingerprints& Supervisor::fingerprints() const {
  static const Fingerprints none;
  return network_ ? network_->fingerprints() : none;
}

void Supervisor::report(Outcome& outcome) {
  outcome.output = output_.text();
  outcome.error = error_.text();
  outcome.truncated = output_.truncated() || error_.truncated();
  outcome.refused_syscalls = refused_;
  if (network_) outcome.network = network_->finish();
  note_misused_credentials(outcome);
  for (const auto& [relay, name] : {std::pair(&output_, "output"), std::pair(&error_, "error")})
    if (relay->covered() > 0)
      outcome.findings.push_back(
          {"credential_covered", name, "a credential of the call was in it"});

  Usage& usage = outcome.usage;
  usage.final = ended_;
  usage.output_bytes = output_.total() + error_.total();
  if (started_) usage.wall_us = std::chrono::duration_cast<microseconds>(end_ - run_).count();
  bool processes_refused = false, throttled = false, memory_touched = false;
  if (cell_.cgroup) {
    const CgroupUsage counted = cell_.cgroup->usage();
    usage.cpu_user_us = counted.cpu_user_us - before_.cpu_user_us;
    usage.cpu_system_us = counted.cpu_system_us - before_.cpu_system_us;
    usage.peak_memory_bytes = counted.peak_memory_bytes;
    usage.processes = counted.peak_processes > 0 ? counted.peak_processes - 1 : 0;
    usage.read_bytes = counted.read_bytes;
    usage.write_bytes = counted.write_bytes;
    processes_refused = counted.processes_refused > 0;
    throttled = counted.throttled_periods > 0;
    if (counted.oom_kills > 0 && verdict_ == Reason::none) verdict_ = Reason::memory;
  } else {
    // The kernel's figures leave out who was killed with init; the watcher's, who was quicker than
    // a look.
    usage.cpu_user_us = std::max(watched_user_us_, rusage_user_us_);
    usage.cpu_system_us = std::max(watched_system_us_, rusage_system_us_);
    usage.peak_memory_bytes = std::max(peak_watched_memory_, rusage_peak_bytes_);
    usage.processes = std::max<std::uint64_t>(peak_watched_processes_, started_ ? 1 : 0);
    // What the rlimit refused was an error inside, so nothing was killed.
    memory_touched =
        verdict_ == Reason::none && usage.peak_memory_bytes >= spec_.limits.memory.bytes;
  }

  if (scratch_full()) disk_full_ = true;
  note_scratch();
  const auto hit = [&](bool was, const char* name) {
    if (was) outcome.limits_hit.emplace_back(name);
  };
  // Most runs leave less in the whole scratch than one file may have, and need no search.
  const bool large_file = scratch_used() >= spec_.limits.file_size.bytes &&
                          has_file_of_size(scratch_.get(), spec_.limits.file_size);
  hit(memory_touched, "memory");
  hit(processes_refused, "processes");
  hit(throttled, "cpus");
  hit(disk_full_, "disk");
  hit(large_file, "file_size");
  hit(outcome.truncated, "output");
  for (const auto& [name, count] : refused_)
    outcome.limits_hit.push_back("syscall:" + name);
}

}  // namespace sallyport
