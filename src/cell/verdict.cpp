#include "cell/verdict.h"

#include <sys/wait.h>

#include <cstring>

#include "base/text.h"
#include "cell/steps.h"
#include "sallyport/units.h"

namespace sallyport {
namespace {

constexpr int kNotExecutable = 126, kNotFound = 127, kSignalled = 128;

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

}  // namespace

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
    outcome.exit_code = kSignalled + WTERMSIG(status);
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

}  // namespace sallyport
