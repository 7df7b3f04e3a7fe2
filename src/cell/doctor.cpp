#include "cell/doctor.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <csignal>

#include "base/fd.h"
#include "cell/spec.h"

namespace sallyport {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

// Far more than a cell needs on a loaded machine: it is there for one that hangs.
constexpr std::chrono::seconds kPatience{30};

constexpr const char* kSelf = "/proc/self/exe";

std::string text_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

Trial failed(std::string message) {
  return {.worked = false, .layers = {}, .message = std::move(message), .hint = {}};
}

// A parent group or a uid range that the administrator named is part of what is tried.
std::vector<char*> own_settings() {
  std::vector<char*> kept;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (std::string_view(*variable).starts_with("SALLYPORT_")) kept.push_back(*variable);
  kept.push_back(nullptr);
  return kept;
}

struct Started {
  pid_t pid = -1;
  Fd output;
};

Sys<Started> start(const std::vector<std::string>& words) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return sys_fail("pipe2");
  Started started{.pid = -1, .output = Fd(ends[0])};
  const Fd write_end(ends[1]);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const std::vector<char*> environment = own_settings();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  const int err =
      ::posix_spawn(&started.pid, kSelf, &actions, nullptr, argv.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (err != 0) return sys_fail("posix_spawn", kSelf, err);
  return started;
}

// Everything until the program closes its end; false when the time is up first.
bool read_until(int fd, Clock::time_point deadline, std::string& text) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&readable, 1, static_cast<int>(left.count())) == 0)
      return false;
    char buffer[4096];
    const ssize_t size = ::read(fd, buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return true;
    text.append(buffer, static_cast<std::size_t>(size));
  }
}

std::vector<std::string> layers_not_in_force() {
  std::vector<std::string> all, weaker;
  for (const LayerText& layer : kLayers)
    all.emplace_back(layer.name);
  if (try_cell(all).worked) return weaker;
  for (const std::string& layer : all)
    if (!try_cell({layer}).worked) weaker.push_back(layer);
  return weaker;
}

// The hint counts only where no check has found the cause; and one that sends people here would
// send them round in circles.
Check check_whole_cell(const Trial& trial, const std::vector<Check>& others) {
  if (trial.worked)
    return {"a whole cell", "built and used, in a fresh process", Check::Verdict::good, ""};
  const bool is_explained =
      std::ranges::find(others, Check::Verdict::missing, &Check::verdict) != others.end();
  const bool is_about_us = trial.hint.find("sallyport doctor") != std::string::npos;
  return {"a whole cell", trial.message, Check::Verdict::missing,
          is_explained || is_about_us ? "" : trial.hint};
}

}  // namespace

Trial parse_trial(std::string_view output) {
  boost::system::error_code error;
  const json::value value = json::parse(output, error);
  if (error || !value.is_object())
    return failed("it did not answer with a result, but with: " +
                  std::string(output.empty() ? "nothing" : output.substr(0, 200)));
  const json::object& result = value.get_object();
  Trial trial{.worked = text_at(result, "status") == "success",
              .layers = {},
              .message = text_at(result, "message"),
              .hint = text_at(result, "hint")};
  const json::value* isolation = result.if_contains("isolation");
  const json::object* object = isolation == nullptr ? nullptr : isolation->if_object();
  const json::value* layers = object == nullptr ? nullptr : object->if_contains("layers");
  if (layers != nullptr && layers->is_object())
    for (const auto& [name, _] : layers->get_object())
      trial.layers.emplace_back(name, text_at(layers->get_object(), name));
  if (!trial.worked && trial.message.empty()) trial.message = "/bin/true failed in it";
  return trial;
}

Trial try_cell(const std::vector<std::string>& required_layers) {
  std::vector<std::string> words = {"sallyport", "run", "--json"};
  for (const std::string& layer : required_layers)
    words.insert(words.end(), {"--require", layer});
  words.insert(words.end(), {"--", "/bin/true"});

  auto started = start(words);
  if (!started) return failed(describe(started.error()));
  std::string output;
  const bool answered = read_until(started->output.get(), Clock::now() + kPatience, output);
  // A cell dies with its launcher.
  if (!answered) ::kill(started->pid, SIGKILL);
  ::waitpid(started->pid, nullptr, 0);
  if (!answered)
    return failed("it did not answer within " + std::to_string(kPatience.count()) + " s");
  return parse_trial(output);
}

Diagnosis diagnose() {
  Diagnosis diagnosis;
  diagnosis.cell = try_cell({});
  if (diagnosis.cell.worked) diagnosis.weaker = layers_not_in_force();
  HostFacts host = read_host_facts();
  host.cell_works = diagnosis.cell.worked;
  diagnosis.kernel = host.kernel;
  diagnosis.checks = judge(host);
  diagnosis.checks.push_back(check_whole_cell(diagnosis.cell, diagnosis.checks));
  return diagnosis;
}

}  // namespace sallyport
