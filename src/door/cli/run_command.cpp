#include "door/cli/run_command.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "cell/parked.h"
#include "cell/result_json.h"
#include "door/cli/call_files.h"
#include "door/cli/options.h"
#include "door/cli/process.h"
#include "door/cli/run_via.h"
#include "door/cli/tell_end.h"
#include "egress/child.h"
#include "kernel/syscalls.h"

namespace sallyport {
namespace {

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

// "network: refused name tracker.example: no rule allows this name"
std::string network_line(const NetworkEvent& event) {
  std::string line = "network: " + event.verdict + " " + event.kind;
  if (!event.host.empty()) line += " " + event.host;
  if (event.port != 0) line += ":" + std::to_string(event.port);
  if (!event.address.empty()) line += " at " + event.address;
  if (!event.why.empty()) line += ": " + event.why;
  return line;
}

void explain(const RunRequest& request, const Outcome& outcome) {
  if (!outcome.message.empty()) say(outcome.message);
  if (!outcome.hint.empty()) say("hint: " + outcome.hint);
  if (outcome.truncated)
    say("output was cut at " + to_text(request.spec.limits.max_output) +
        " a stream (--max-output); " + std::to_string(outcome.usage.output_bytes) +
        " bytes were written in all");
  for (const Finding& finding : outcome.findings)
    say(finding.kind + ": " + finding.path + ": " + finding.why);
  for (const NetworkEvent& event : outcome.network)
    if (event.verdict != "allowed" || request.verbose) say(network_line(event));
  if (!request.verbose) return;
  for (const Layer& layer : outcome.layers)
    say("layer " + layer.name + ": " + layer.value);
  const Usage& usage = outcome.usage;
  if (!outcome.limits_hit.empty()) say("limits hit: " + list(outcome.limits_hit));
  say("used: " + std::to_string(usage.wall_us / 1000) + " ms wall, " +
      std::to_string((usage.cpu_user_us + usage.cpu_system_us) / 1000) + " ms CPU, " +
      std::to_string(usage.peak_memory_bytes / 1024) + " KiB memory at most");
}

void print_timings(const Outcome& outcome) {
  for (const Timing& timing : outcome.timings)
    std::fprintf(stderr, "%8lld us  %s\n", static_cast<long long>(timing.microseconds),
                 timing.step.c_str());
}

// The place may lie in a directory that tools can write: no symlink is followed, no FIFO waited
// for, and nothing is cut short before it is known to be a file.
Result<Fd> open_result_file(const std::string& path) {
  Fd file(sys::openat2(AT_FDCWD, path.c_str(),
                       O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                       RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, 0644));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) {
    const bool link = errno == ELOOP;
    return fail(Reason::argument,
                "the result file " + quoted(path) + " cannot be written: " + std::strerror(errno),
                link ? "give a path without symlinks" : "");
  }
  if (!S_ISREG(status.st_mode) || ::ftruncate(file.get(), 0) != 0)
    return fail(Reason::argument, "the result file " + quoted(path) + " is not a regular file");
  return file;
}

// The result as JSON, where it was asked for.
bool write_result(const RunRequest& request, const Fd& file, const std::string& text) {
  if (request.json && !write_all(STDOUT_FILENO, text)) return false;
  if (file && !write_all(file.get(), text)) {
    say("the result file could not be written");
    return false;
  }
  return true;
}

int run_in_service(const RunRequest& request, const Fd& result_file) {
  Fd cancel = catch_signals();
  auto answer = run_via(request, cancel.get());
  release_signals(std::move(cancel));
  if (!answer) {
    print_error(answer.error());
    return kCouldNotStart;
  }
  const bool put = put_files(request.spec.outputs, answer->result);
  if (!write_result(request, result_file, answer->text + "\n")) return kCouldNotStart;
  if (!request.json) tell_end(answer->result);
  const int code = exit_code_of(answer->result);
  return code == 0 && !put ? 1 : code;
}

}  // namespace

int run_command(std::span<const char* const> words) {
  if (auto streams = open_missing_streams(); !streams) {
    print_error(streams.error());
    return kCouldNotStart;
  }
  auto request = parse_run(words);
  if (!request) {
    print_error(request.error());
    say("`sallyport run --help` lists all options");
    return kCouldNotStart;
  }
  if (request->help) {
    std::fputs(help_text().c_str(), stdout);
    return 0;
  }
  Fd result_file;
  if (request->result_file) {
    auto opened = open_result_file(*request->result_file);
    if (!opened) {
      print_error(opened.error());
      return kCouldNotStart;
    }
    result_file = std::move(*opened);
  }

  if (!request->via.empty()) return run_in_service(*request, result_file);

  std::optional<EgressChild> egress;
  if (!request->spec.network.allow.empty()) {
    auto started = EgressChild::start("/proc/self/exe");
    if (!started) {
      print_error(started.error());
      return kCouldNotStart;
    }
    egress.emplace(std::move(*started));
  }

  Fd cancel = catch_signals();
  CellStreams streams{.input = STDIN_FILENO,
                      .output = STDOUT_FILENO,
                      .error = STDERR_FILENO,
                      .egress = egress ? egress->door() : -1,
                      .cancel = cancel.get()};
  if (request->json) streams.output = streams.error = -1;
  const Outcome outcome =
      request->ahead ? run_parked_cell(request->spec, streams) : run_cell(request->spec, streams);
  release_signals(std::move(cancel));

  if ((request->json || result_file) &&
      !write_result(*request, result_file, result_json(outcome) + "\n"))
    return kCouldNotStart;
  if (!request->json) explain(*request, outcome);
  if (request->timings) print_timings(outcome);
  return exit_code_of(outcome);
}

}  // namespace sallyport
