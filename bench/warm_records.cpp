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
#include "warm_client.h"

namespace sallyport::warm {
namespace {

using Clock = std::chrono::steady_clock;

class Log {
 public:
  explicit Log(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600)) {}

  void add_record() const {
    static const std::string record = std::string(999, 'x') + '\n';  // about as long as ours are
    if (::write(file_.get(), record.data(), record.size()) != std::ssize(record) ||
        ::fdatasync(file_.get()) != 0)
      give_up("a record cannot be forced to the disk");
  }

 private:
  Fd file_;
};

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

double between_records(const Log& log, const std::function<void()>& tool) {
  const auto begin = Clock::now();
  log.add_record();
  tool();
  log.add_record();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

}  // namespace

Contestant floor_with_records(Kind kind, const std::string& work) {
  const auto open = [=]() -> Once {
    const auto log = std::make_shared<Log>(work + "/floor.log");
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
