#include "cell/run.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/text.h"
#include "base/units.h"
#include "cell/board.h"
#include "cell/copy_back.h"
#include "cell/init.h"
#include "cell/prepare.h"
#include "cell/root_build.h"
#include "cell/steps.h"
#include "cell/supervisor.h"
#include "kernel/privilege.h"
#include "kernel/syscalls.h"

namespace sallyport {
namespace {

constexpr std::uint64_t kMaxArtifacts = 1000;
constexpr int kNotExecutable = 126, kNotFound = 127;

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

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
  plan.control.reset();
  return LaunchedCell{.pid = pid, .pidfd = Fd(pidfd)};
}

// What a failed step means to the person who asked for the cell.
Error explain_failed_step(const Board& board) {
  const std::string step = launch_steps()[static_cast<std::size_t>(board.step.load())].name;
  const SysError cause{board.call, board.path, board.err};
  const std::string path = quoted(board.path);
  if (step == "working directory")
    return {Reason::argument,
            "the working directory " + path + " cannot be used: " + std::strerror(board.err),
            "give a directory that exists inside the cell"};
  if (step == "attach grants" && board.err == ENOENT)
    return {Reason::argument, "there is no place for " + path + " inside the cell",
            "a mount point is never made in a tree of the host: make the directory there first, or "
            "choose another place with PATH:INSIDE"};
  if (step == "copy inputs" && board.err == ENOSPC)
    return {Reason::argument, "the input " + path + " does not fit into the scratch",
            "raise --disk"};
  if (step == "copy inputs" && board.err == EEXIST)
    return {Reason::argument, "two inputs have the name " + path, "give names with --in FILE:NAME"};
  if (step == "clone host mounts" && board.err == EROFS)
    return {Reason::argument, path + " is mounted read-only on this machine", "use --read"};
  return {Reason::cannot_enforce,
          "the cell could not be built: step \"" + step + "\" failed at " + describe(cause),
          "nothing was run; `sallyport doctor` says what this machine lacks"};
}

// A launch that was cut short from outside, so that no step of it could say why.
Error explain_unfinished_launch(const Board& board, const CellSpec& spec, Reason verdict) {
  const std::string step = launch_steps()[static_cast<std::size_t>(board.step.load())].name;
  if (verdict == Reason::memory)
    return {Reason::memory,
            "the cell needs more than " + to_text(spec.limits.memory) +
                " of memory before the command can start (step \"" + step + "\")",
            "raise --memory; inputs and the scratch count as memory"};
  return {Reason::unavailable, "the cell could not be built: it ended in step \"" + step + "\"",
          "nothing was run; something outside Sallyport killed it or held it up"};
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
  const std::int64_t end = now_ns();
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
  Fd destination(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
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
    auto copied = copy_back(upper.get(), target.directory.get(),
                            {.uid = target.owner.st_uid, .gid = target.owner.st_gid}, marks,
                            {.max_bytes = spec.limits.disk.bytes}, outcome.findings);
    if (!copied) {
      outcome.status = Status::error;
      outcome.reason = copied.error().reason;
      outcome.message = "the changes could not all be copied back: " + copied.error().message;
      outcome.hint = copied.error().hint;
    }
  }
}

std::string killed_message(Reason reason, const CellSpec& spec) {
  const Limits& limits = spec.limits;
  switch (reason) {
    case Reason::timeout:
      return "killed: it ran longer than " + to_text(limits.timeout);
    case Reason::cpu:
      return "killed: it used more than " + to_text(limits.cpu) + " of CPU time";
    case Reason::memory:
      return "killed: it needed more than " + to_text(limits.memory) + " of memory";
    case Reason::output:
      return "killed: it wrote more than " + to_text(limits.max_output_hard) + " of output";
    case Reason::syscall:
      return "killed: more than " + std::to_string(limits.refused_syscalls) +
             " system calls were refused";
    case Reason::cancelled:
      return "killed: the caller ended it";
    default:
      return "killed: Sallyport could not supervise it";
  }
}

std::string killed_hint(Reason reason) {
  switch (reason) {
    case Reason::timeout:
      return "raise --timeout, or give it less to do";
    case Reason::cpu:
      return "raise --cpu, or give it less to do";
    case Reason::memory:
      return "raise --memory, or work on less data at a time; the scratch counts as memory";
    case Reason::output:
      return "write to a file and take it out with --out, or raise --max-output-hard";
    case Reason::syscall:
      return "limits_hit names the calls; another --syscalls profile may allow them";
    default:
      return {};
  }
}

void judge(const Board& board, const CellSpec& spec, Reason verdict, Outcome& outcome) {
  if (verdict != Reason::none) {
    outcome.status = Status::killed;
    outcome.reason = verdict;
    outcome.message = killed_message(verdict, spec);
    outcome.hint = killed_hint(verdict);
    return;
  }
  if (const int err = board.exec_errno; err != 0) {
    const bool missing = err == ENOENT;
    outcome.status = Status::error;
    outcome.reason = Reason::exit;
    outcome.exit_code = missing ? kNotFound : kNotExecutable;
    outcome.message =
        quoted(spec.command.front()) +
        (missing ? " was not found in the cell"
                 : " cannot be executed in the cell: " + std::string(std::strerror(err)));
    outcome.hint = "the cell sees the host's /usr and what --read and --write give it";
    return;
  }
  if (!board.tool_ended) {
    outcome.status = Status::killed;
    outcome.reason = Reason::internal;
    outcome.message = "the cell was ended by something outside Sallyport";
    return;
  }
  const int status = board.tool_status;
  if (WIFSIGNALED(status)) {
    outcome.status = Status::error;
    outcome.reason = Reason::signal;
    outcome.exit_code = 128 + WTERMSIG(status);
    outcome.message = std::string("the command was ended by signal ") +
                      std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) + ")";
    return;
  }
  outcome.exit_code = WEXITSTATUS(status);
  if (*outcome.exit_code != 0) {
    outcome.status = Status::error;
    outcome.reason = Reason::exit;
  }
}

}  // namespace

Outcome run_cell(const CellSpec& spec, const CellStreams& streams, const LaunchFault* fault) {
  const std::int64_t begin = now_ns();
  // From here on nobody of the same user may look into this process or take its core.
  if (auto done = set_dumpable(false); !done)
    return blocked({}, {Reason::internal, describe(done.error()), {}});

  auto prepared = prepare(spec);
  if (!prepared) return blocked({}, std::move(prepared.error()));
  if (fault != nullptr) {
    const auto steps = launch_steps();
    const auto step = std::ranges::find(steps, fault->step, &Step::name);
    prepared->plan.fail_before = static_cast<int>(step - steps.begin());
  }
  auto board = SharedBoard::make();
  if (!board) return blocked(prepared->call_id, {Reason::unavailable, describe(board.error()), {}});

  const std::int64_t ready = now_ns();
  auto launched = launch(*prepared, *board->get());
  const std::int64_t back = now_ns();
  if (!launched)
    return blocked(prepared->call_id,
                   {Reason::cannot_enforce,
                    "the cell's namespaces cannot be made: " + describe(launched.error()),
                    "`sallyport doctor` says what this machine lacks"});

  Supervisor supervisor(spec, streams, *prepared, *board->get(), *launched);
  supervisor.watch();

  if ((*board)->step_failed && supervisor.verdict() == Reason::none)
    return blocked(prepared->call_id, explain_failed_step(*board->get()));

  Outcome outcome;
  outcome.call_id = prepared->call_id;
  outcome.layers = prepared->layers;
  supervisor.report(outcome);
  if ((*board)->run_ns == 0 && supervisor.verdict() != Reason::cancelled)
    return blocked(prepared->call_id,
                   explain_unfinished_launch(*board->get(), spec, supervisor.verdict()));
  judge(*board->get(), spec, supervisor.verdict(), outcome);
  if (supervisor.ended() && outcome.status != Status::killed && supervisor.scratch() >= 0) {
    collect(spec, supervisor.scratch(), outcome);
    copy_changes_back(spec, *prepared, supervisor.scratch(), outcome);
  }
  outcome.timings = list_timings(*board->get(), begin, ready, back);
  return outcome;
}

}  // namespace sallyport
