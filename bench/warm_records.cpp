#include "warm_records.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "quick_log.h"
#include "warm_client.h"

namespace sallyport::warm {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) give_up("there are no pipes left");
    reading = Fd(ends[0]);
    writing = Fd(ends[1]);
  }
  Fd reading, writing;
};

void reap(pid_t child) {
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) give_up("the tool of the floor failed: status " + std::to_string(status));
}

// An interpreter that has been started, has compiled something, and waits for its code.
class Waiting {
 public:
  explicit Waiting(Kind kind) {
    std::string script = R"python(import os, sys
exec(compile("print(end='')", "first", "exec"))
os.write(1, b".")
exec(compile(os.read(0, 65536), "call", "exec"))
sys.stdout.flush()
os._exit(0)
)python";
    if (kind == Kind::numpy) script.insert(0, "import numpy\n");
    char path[] = "/usr/bin/python3", option[] = "-c", variable[] = "PATH=/usr/bin:/bin";
    char* argv[] = {path, option, script.data(), nullptr};
    char* environment[] = {variable, nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, code_.reading.get(), 0);
    posix_spawn_file_actions_adddup2(&actions, output_.writing.get(), 1);
    if (::posix_spawn(&child_, path, &actions, nullptr, argv, environment) != 0)
      give_up("cannot start python3");
    posix_spawn_file_actions_destroy(&actions);
    code_.reading.reset();
    output_.writing.reset();
    char dot = 0;
    if (::read(output_.reading.get(), &dot, 1) != 1) give_up("python3 does not come up");
  }

  void ask(const Question& asked) {
    if (::write(code_.writing.get(), asked.code.data(), asked.code.size()) !=
        std::ssize(asked.code))
      give_up("python3 takes no code");
    std::string output;
    char bytes[4096];
    for (ssize_t got = 0; (got = ::read(output_.reading.get(), bytes, sizeof(bytes))) > 0;)
      output.append(bytes, static_cast<std::size_t>(got));
    reap(child_);
    if (output != asked.answer + "\n") give_up("the floor answered '" + output + "'");
  }

 private:
  Pipe code_, output_;
  pid_t child_ = -1;
};

void run_true() {
  char path[] = "/bin/true";
  char* argv[] = {path, nullptr};
  char* environment[] = {nullptr};
  pid_t child = -1;
  if (::posix_spawn(&child, path, nullptr, nullptr, argv, environment) != 0)
    give_up("cannot start /bin/true");
  reap(child);
}

double between_records(QuickLog& log, const std::function<void()>& tool) {
  constexpr std::size_t kRecord = 1000;  // about as long as ours are
  const auto begin = Clock::now();
  log.force(kRecord);
  tool();
  log.force(kRecord);
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

}  // namespace

Contestant floor_with_records(Kind kind, const std::string& work) {
  const auto open = [=]() -> Once {
    const auto log = std::make_shared<QuickLog>(work + "/floor.log");
    if (kind == Kind::command) return [log] { return between_records(*log, run_true); };
    // The next one is started between the turns.
    auto next = std::make_shared<std::optional<Waiting>>(std::in_place, kind);
    return [=] {
      const Question asked = next_question(kind);
      const double took = between_records(*log, [&] { (*next)->ask(asked); });
      next->emplace(kind);
      return took;
    };
  };
  return {kind == Kind::command ? "bare, two records" : "waiting python3, two records", open};
}

}  // namespace sallyport::warm
