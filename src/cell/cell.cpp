#include "cell/cell.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/call_id.h"
#include "base/clock.h"
#include "cell/bring_out.h"
#include "cell/control.h"
#include "cell/init.h"
#include "cell/late.h"
#include "cell/root_layout.h"
#include "cell/steps.h"
#include "cell/verdict.h"
#include "kernel/memory_file.h"
#include "kernel/privilege.h"
#include "kernel/syscalls.h"
#include "warm/hot_pages.h"
#include "warm/take_image.h"

namespace sallyport {
namespace {

// How long the end of a cell's init is waited for; what is stuck in the kernel stays behind.
constexpr int kEndPatience = 500;

Sys<LaunchedCell> clone_init(Prepared& cell, Board& board) {
  Plan& plan = cell.plan;
  clone_args args{};
  // Without the handlers of this process, which are not for a cell.
  args.flags =
      CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_PIDFD | CLONE_CLEAR_SIGHAND;
  // Of the mounts of a shared root it takes a copy itself, and needs none of the host's.
  if (plan.shared_root < 0) args.flags |= CLONE_NEWNS;
  if (!plan.privileged) args.flags |= CLONE_NEWUSER;
  if (plan.cgroup_directory >= 0) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(plan.cgroup_directory);
  }
  args.exit_signal = SIGCHLD;
  int pidfd = -1;
  args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  const pid_t pid = sys::clone3(args);
  if (pid < 0) return sys_fail("clone3", "namespaces");
  if (pid == 0) run_init(plan, board);
  for (Fd* ours : {&plan.stdin_read, &plan.stdout_write, &plan.stderr_write, &plan.connection,
                   &plan.image, &plan.control})
    ours->reset();
  return LaunchedCell{.pid = pid, .pidfd = Fd(pidfd)};
}

std::vector<Timing> list_timings(const Board& board, std::int64_t begin, std::int64_t prepared,
                                 std::int64_t launched) {
  std::vector<Timing> timings = {{"prepare", (prepared - begin) / 1000}};
  std::int64_t last = prepared;
  const auto steps = launch_steps();
  timings.push_back({"clone (until the launcher is back)", (launched - prepared) / 1000});
  for (std::size_t i = 0; i < steps.size() && board.step_end_ns[i] != 0; ++i) {
    timings.push_back({steps[i].name, (board.step_end_ns[i] - last) / 1000});
    last = board.step_end_ns[i];
  }
  const std::int64_t end = monotonic_ns();
  if (board.run_ns != 0) {
    timings.push_back({"start", (board.run_ns - last) / 1000});
    timings.push_back({"run and reap", (end - board.run_ns) / 1000});
  }
  timings.push_back({"total", (end - begin) / 1000});
  return timings;
}

// A descriptor for the tool, with a number that is not in the way of others.
Sys<void> give(int descriptor, int least, Fd& place, Plan& plan) {
  if (descriptor < 0) return {};
  place = Fd(::fcntl(descriptor, F_DUPFD_CLOEXEC, least));
  if (!place) return sys_fail("fcntl", "a descriptor for the tool");
  plan.descriptors.insert(std::ranges::upper_bound(plan.descriptors, place.get()), place.get());
  return {};
}

Sys<void> give_runner(const Parking& parking, Prepared& cell) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return sys_fail("socketpair", "runner");
  cell.runner = Fd(ends[0]);
  const Fd theirs(ends[1]);
  if (auto given = give(theirs.get(), kConnection, cell.plan.connection, cell.plan); !given)
    return given;
  const int yes = 1;
  if (::setsockopt(cell.runner.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) != 0)
    return sys_fail("setsockopt", "runner");
  if (!parking.image) return {};
  if (cell.plan.shared_root < 0) cell.plan.root_entries.push_back(restore_entry());
  // A copy that hears this goes on.
  if (!parking.dozes &&
      ::send(cell.runner.get(), parking.rehearses ? "r" : "c", 1, MSG_NOSIGNAL) != 1)
    return sys_fail("send", "runner");
  return give(parking.image.get(), kImage + 1, cell.plan.image, cell.plan);
}

}  // namespace

Outcome blocked(std::string call_id, Error error) {
  Outcome outcome;
  outcome.call_id = std::move(call_id);
  outcome.status = Status::blocked;
  outcome.reason = error.reason;
  outcome.message = std::move(error.message);
  outcome.hint = std::move(error.hint);
  return outcome;
}

Result<std::unique_ptr<Cell>> Cell::make(const CellSpec& spec, const CellStreams& streams,
                                         const LaunchFault* fault, std::optional<Parking> parking) {
  std::unique_ptr<Cell> cell(new Cell(spec, streams));
  cell->begin_ns_ = monotonic_ns();
  if (cell->spec_.call_id.empty()) cell->spec_.call_id = make_call_id();
  if (auto launched = cell->launch(fault, std::move(parking)); !launched)
    return std::unexpected(std::move(launched.error()));
  return cell;
}

Result<void> Cell::launch(const LaunchFault* fault, std::optional<Parking> parking) {
  // From here on nobody of the same user may look into this process or take its core.
  if (auto done = set_dumpable(false); !done) return fail(Reason::internal, describe(done.error()));
  if (auto served = serve_input(); !served) return served;
  if (parking) {
    // Init starts nothing of it; the plan wants a command all the same.
    spec_.command = parking->runner.empty() ? std::vector<std::string>{"-"} : parking->runner;
    runner_words_ = parking->stands_for;
  }

  auto prepared = prepare(spec_, spec_.call_id, parking ? parking->root : nullptr);
  if (!prepared) return std::unexpected(std::move(prepared.error()));
  prepared_ = std::move(*prepared);
  prepared_.plan.parked = parking && parking->runner.empty();
  const auto given =
      parking && !parking->runner.empty()
          ? give_runner(*parking, prepared_)
          : give(streams_.connection, kConnection, prepared_.plan.connection, prepared_.plan);
  if (!given) return fail(Reason::unavailable, given.error());
  if (fault != nullptr) {
    const auto steps = launch_steps();
    const auto step = std::ranges::find(steps, fault->step, &Step::name);
    prepared_.plan.fail_before = static_cast<int>(step - steps.begin());
  }
  prepared_ns_ = monotonic_ns();
  auto launched = clone_init(prepared_, board());
  launched_ns_ = monotonic_ns();
  if (!launched)
    return fail(Reason::cannot_enforce,
                "the cell's namespaces cannot be made: " + describe(launched.error()),
                "`sallyport doctor` says what this machine lacks");
  launched_ = std::move(*launched);
  supervisor_.emplace(spec_, streams_, prepared_, board(), launched_);
  return {};
}

Result<void> Cell::serve_input() {
  if (!spec_.input) return {};
  auto file = make_memory_file(*spec_.input);
  if (!file) return fail(Reason::unavailable, file.error());
  input_ = std::move(*file);
  streams_.input = input_.get();
  return {};
}

// Init dies with us; but where this process goes on, it must not be left behind.
Cell::~Cell() {
  if (end() && prepared_.order) OrderSpace::keep(std::move(*prepared_.order));
}

bool Cell::end() {
  if (launched_.pid >= 0) {
    sys::pidfd_send_signal(launched_.pidfd.get(), SIGKILL);
    pollfd ended{.fd = launched_.pidfd.get(), .events = POLLIN, .revents = 0};
    siginfo_t info{};
    if (::poll(&ended, 1, kEndPatience) != 1 ||
        ::waitid(P_PIDFD, static_cast<id_t>(launched_.pidfd.get()), &info, WEXITED | WNOHANG) != 0)
      return false;
    launched_.pid = -1;
  }
  return !prepared_.cgroup || prepared_.cgroup->remove();
}

bool Cell::park(int claim) {
  return supervisor_->park(claim);
}

// Both lead groups of their own.
void Cell::set_priority(int nice) const {
  for (const pid_t leader : {launched_.pid, supervisor_->runner()})
    if (leader > 0) ::setpriority(PRIO_PGRP, static_cast<id_t>(leader), nice);
}

Result<Fd> Cell::take_image() {
  return sallyport::take_image(supervisor_->runner(), "python3", spec_.limits.memory);
}

Result<Fd> Cell::note_hot_pages(int image) const {
  return sallyport::note_hot_pages(image, supervisor_->runner());
}

bool Cell::get_ready(const CellSpec& spec, const CellStreams& streams) {
  spec_ = spec;
  streams_ = streams;
  // It gets ready while the rest is done, too.
  if (dozes() && !wake()) return false;
  return serve_input() && put_inputs(spec_, prepared_.plan, supervisor_->scratch()) &&
         write_order();
}

bool Cell::start() {
  claimed_ns_ = monotonic_ns();
  // One that was woken for this call may still be on its way.
  if (!supervisor_->park(-1)) return false;
  if (!is_current(prepared_.plan)) return false;
  // First, so that no tool runs whose clock does not.
  supervisor_->begin();
  return send_order();
}

bool Cell::write_order() {
  const CommandLine command = make_command(spec_, prepared_.plan);
  if (!prepared_.runner) return prepared_.order->put(command);
  if (command.argv.size() < runner_words_) return false;
  order_ = encode_order(std::span(command.argv).subspan(runner_words_), command.environment);
  return true;
}

bool Cell::send_order() {
  if (!prepared_.runner)
    return send_message(prepared_.control.get(), ControlMessage::go).has_value();
  const ssize_t sent =
      ::send(prepared_.runner.get(), order_.data(), order_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  board().run_ns = monotonic_ns();
  prepared_.runner.reset();
  return sent == static_cast<ssize_t>(order_.size());
}

Outcome Cell::run() {
  Board& board = this->board();
  supervisor_->watch();
  if (supervisor_->refusal()) return blocked(spec_.call_id, *supervisor_->refusal());
  if (board.step_failed && supervisor_->verdict() == Reason::none)
    return blocked(spec_.call_id, explain_failed_step(board));

  Outcome outcome;
  outcome.call_id = spec_.call_id;
  outcome.layers = prepared_.layers;
  supervisor_->report(outcome);
  // Only now: a kill for memory may have been counted after the last look at it.
  const Reason verdict = supervisor_->verdict();
  if (board.run_ns == 0 && verdict != Reason::cancelled)
    return blocked(spec_.call_id, explain_unfinished_launch(board, spec_, verdict));
  judge(board, spec_, verdict, outcome);
  if (supervisor_->ended() && outcome.status != Status::killed && supervisor_->scratch() >= 0)
    bring_out(spec_, prepared_, supervisor_->scratch(), supervisor_->fingerprints(), outcome);
  for (const ProtectedTree& tree : prepared_.protected_trees) {
    const auto found = find_new_protected(tree);
    outcome.findings.insert(outcome.findings.end(), found.begin(), found.end());
  }
  outcome.timings = claimed_ns_ == 0 ? list_timings(board, begin_ns_, prepared_ns_, launched_ns_)
                                     : std::vector<Timing>{
                                           {"start", (board.run_ns - claimed_ns_) / 1000},
                                           {"run and reap", (monotonic_ns() - board.run_ns) / 1000},
                                           {"total", (monotonic_ns() - claimed_ns_) / 1000}};
  return outcome;
}

Outcome run_cell(const CellSpec& spec, const CellStreams& streams, const LaunchFault* fault) {
  auto cell = Cell::make(spec, streams, fault);
  if (cell) return (*cell)->run();
  return blocked(spec.call_id.empty() ? make_call_id() : spec.call_id, std::move(cell.error()));
}

}  // namespace sallyport
