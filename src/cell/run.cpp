#include "cell/run.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "base/call_id.h"
#include "base/clock.h"
#include "cell/board.h"
#include "cell/collect.h"
#include "cell/copy_back.h"
#include "cell/init.h"
#include "cell/prepare.h"
#include "cell/root_build.h"
#include "cell/steps.h"
#include "cell/supervisor.h"
#include "cell/verdict.h"
#include "kernel/memory_file.h"
#include "kernel/privilege.h"
#include "kernel/syscalls.h"

namespace sallyport {
namespace {

constexpr std::uint64_t kMaxArtifacts = 1000;

Outcome blocked(std::string call_id, Error error) {
  Outcome outcome;
  outcome.call_id = std::move(call_id);
  outcome.status = Status::blocked;
  outcome.reason = error.reason;
  outcome.message = std::move(error.message);
  outcome.hint = std::move(error.hint);
  return outcome;
}

Sys<LaunchedCell> launch(Prepared& cell, Board& board) {
  Plan& plan = cell.plan;
  clone_args args{};
  args.flags =
      CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_PIDFD;
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
  plan.stdin_read.reset();
  plan.stdout_write.reset();
  plan.stderr_write.reset();
  plan.connection.reset();
  plan.control.reset();
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

void collect(const CellSpec& spec, int scratch, Outcome& outcome) {
  if (spec.outputs.empty()) return;
  Fd workspace(::openat(scratch, "workspace", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const char* place = spec.output_directory.empty() ? "." : spec.output_directory.c_str();
  Fd destination(::open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  auto collected = collect_outputs(
      workspace.get(), spec.outputs, destination.get(),
      {.max_files = kMaxArtifacts, .max_bytes = spec.limits.disk.bytes}, outcome.findings);
  if (collected)
    outcome.artifacts = std::move(*collected);
  else
    outcome.findings.push_back({"not_exported", "", collected.error().message});
}

void copy_changes_back(const CellSpec& spec, Prepared& cell, int scratch, Outcome& outcome) {
  for (std::size_t i = 0; i < cell.copies.size(); ++i) {
    char name[16];
    copy_directory_name(static_cast<int>(i), name);
    Fd directory(::openat(scratch, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    Fd upper(::openat(directory.get(), "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const CopyTarget& target = cell.copies[i];
    const auto marks = cell.plan.privileged ? OverlayMarks::trusted : OverlayMarks::user;
    auto copied =
        copy_back(upper.get(), target.directory.get(),
                  {.uid = target.owner.st_uid, .gid = target.owner.st_gid}, marks,
                  {.max_bytes = spec.limits.disk.bytes, .prefix = target.prefix}, outcome.findings);
    if (!copied) {
      outcome.status = Status::error;
      outcome.reason = copied.error().reason;
      outcome.message = "the changes could not all be copied back: " + copied.error().message;
      outcome.hint = copied.error().hint;
    }
  }
}

// The tool's own copy of the socket, which ends with it.
Sys<void> give_connection(int connection, Plan& plan) {
  if (connection < 0) return {};
  plan.connection = Fd(::fcntl(connection, F_DUPFD_CLOEXEC, kConnection));
  if (!plan.connection) return sys_fail("fcntl", "the connection");
  plan.descriptors.insert(std::ranges::upper_bound(plan.descriptors, plan.connection.get()),
                          plan.connection.get());
  return {};
}

}  // namespace

Outcome run_cell(const CellSpec& spec, const CellStreams& streams, const LaunchFault* fault) {
  const std::int64_t begin = monotonic_ns();
  const std::string call_id = spec.call_id.empty() ? make_call_id() : spec.call_id;
  // From here on nobody of the same user may look into this process or take its core.
  if (auto done = set_dumpable(false); !done)
    return blocked(call_id, {Reason::internal, describe(done.error()), {}});

  CellStreams served = streams;
  Fd input;
  if (spec.input) {
    auto file = make_memory_file(*spec.input);
    if (!file) return blocked(call_id, {Reason::unavailable, describe(file.error()), {}});
    input = std::move(*file);
    served.input = input.get();
  }

  auto prepared = prepare(spec, call_id);
  if (!prepared) return blocked(call_id, std::move(prepared.error()));
  if (auto given = give_connection(streams.connection, prepared->plan); !given)
    return blocked(call_id, {Reason::unavailable, describe(given.error()), {}});
  if (fault != nullptr) {
    const auto steps = launch_steps();
    const auto step = std::ranges::find(steps, fault->step, &Step::name);
    prepared->plan.fail_before = static_cast<int>(step - steps.begin());
  }
  auto board = SharedBoard::make();
  if (!board) return blocked(call_id, {Reason::unavailable, describe(board.error()), {}});

  const std::int64_t ready = monotonic_ns();
  auto launched = launch(*prepared, *board->get());
  const std::int64_t back = monotonic_ns();
  if (!launched)
    return blocked(call_id, {Reason::cannot_enforce,
                             "the cell's namespaces cannot be made: " + describe(launched.error()),
                             "`sallyport doctor` says what this machine lacks"});

  Supervisor supervisor(spec, served, *prepared, *board->get(), *launched);
  supervisor.watch();

  if (supervisor.refusal()) return blocked(call_id, *supervisor.refusal());
  if ((*board)->step_failed && supervisor.verdict() == Reason::none)
    return blocked(call_id, explain_failed_step(*board->get()));

  Outcome outcome;
  outcome.call_id = call_id;
  outcome.layers = prepared->layers;
  supervisor.report(outcome);
  if ((*board)->run_ns == 0 && supervisor.verdict() != Reason::cancelled)
    return blocked(call_id, explain_unfinished_launch(*board->get(), spec, supervisor.verdict()));
  judge(*board->get(), spec, supervisor.verdict(), outcome);
  if (supervisor.ended() && outcome.status != Status::killed && supervisor.scratch() >= 0) {
    collect(spec, supervisor.scratch(), outcome);
    copy_changes_back(spec, *prepared, supervisor.scratch(), outcome);
  }
  for (const ProtectedTree& tree : prepared->protected_trees) {
    const auto found = find_new_protected(tree);
    outcome.findings.insert(outcome.findings.end(), found.begin(), found.end());
  }
  outcome.timings = list_timings(*board->get(), begin, ready, back);
  return outcome;
}

}  // namespace sallyport
