#include "support/cell_runner.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace sallyport::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Where this test binary lies, and the programs beside it.
fs::path own_directory() {
  return fs::read_symlink("/proc/self/exe").parent_path();
}

// One copy of the programs for all tests of this process.
const std::string& published() {
  static const TempDir directory;
  static const bool copied = [] {
    for (const char* name : {"sallyport", "probe"}) {
      fs::copy_file(own_directory() / name, fs::path(directory.path()) / name);
      fs::permissions(fs::path(directory.path()) / name, fs::perms(0755));
    }
    const fs::path warm = fs::path(directory.path()) / "warm";
    fs::create_directory(warm);
    std::ofstream(warm / "start.js")
        << "const [program, ...words] = process.argv.slice(2);\n"
           "const end = require('child_process').spawnSync(program, words, {stdio: 'inherit'});\n"
           "process.exit(end.error ? 127 : end.signal ? 137 : end.status);\n";
    return ::chmod(directory.path().c_str(), 0755) == 0;
  }();
  EXPECT_TRUE(copied);
  return directory.path();
}

[[noreturn]] void become_and_exec(const std::vector<std::string>& argv, const RunOptions& options) {
  if (::chdir(options.cwd.c_str()) != 0) ::_exit(99);
  if (options.as == As::user && (::setgroups(options.groups.size(), options.groups.data()) != 0 ||
                                 ::setresgid(kUserGid, kUserGid, kUserGid) != 0 ||
                                 ::setresuid(kUserUid, kUserUid, kUserUid) != 0))
    ::_exit(99);
  std::vector<std::string> environment = {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"};
  environment.insert(environment.end(), options.environment.begin(), options.environment.end());
  std::vector<char*> words, variables;
  for (const std::string& word : argv)
    words.push_back(const_cast<char*>(word.c_str()));
  for (const std::string& variable : environment)
    variables.push_back(const_cast<char*>(variable.c_str()));
  words.push_back(nullptr);
  variables.push_back(nullptr);
  ::execvpe(words[0], words.data(), variables.data());
  ::_exit(98);
}

}  // namespace

std::string name_of(As as) {
  return as == As::root ? "root" : "user";
}

boost::json::object Ran::json() const {
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(out, error);
  if (error || !value.is_object()) {
    ADD_FAILURE() << "not a JSON result: " << out << "\nstderr: " << err;
    return {};
  }
  return value.as_object();
}

Ran run(const std::vector<std::string>& argv, const RunOptions& options) {
  int in[2], out[2], err[2];
  EXPECT_EQ(::pipe2(in, O_CLOEXEC) | ::pipe2(out, O_CLOEXEC) | ::pipe2(err, O_CLOEXEC), 0);
  const auto begin = Clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(options.input.empty() ? null : in[0], 0);
    ::dup2(out[1], 1);
    ::dup2(err[1], 2);
    become_and_exec(argv, options);
  }
  ::close(in[0]);
  ::close(out[1]);
  ::close(err[1]);
  ::fcntl(in[1], F_SETFL, O_NONBLOCK);
  std::signal(SIGPIPE, SIG_IGN);

  Ran ran;
  std::string input = options.input;
  bool out_open = true, err_open = true, timed_out = false;
  if (input.empty()) ::close(std::exchange(in[1], -1));
  const auto deadline = begin + options.patience;
  while (out_open || err_open) {
    pollfd events[] = {{out_open ? out[0] : -1, POLLIN, 0},
                       {err_open ? err[0] : -1, POLLIN, 0},
                       {in[1], POLLOUT, 0}};
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0 || ::poll(events, 3, static_cast<int>(left.count())) == 0) {
      timed_out = true;
      ::kill(child, SIGKILL);
      break;
    }
    char buffer[65536];
    if (events[0].revents != 0) {
      const ssize_t size = ::read(out[0], buffer, sizeof(buffer));
      if (size > 0)
        ran.out.append(buffer, static_cast<std::size_t>(size));
      else
        out_open = false;
    }
    if (events[1].revents != 0) {
      const ssize_t size = ::read(err[0], buffer, sizeof(buffer));
      if (size > 0)
        ran.err.append(buffer, static_cast<std::size_t>(size));
      else
        err_open = false;
    }
    if (events[2].revents != 0) {
      const ssize_t size = ::write(in[1], input.data(), input.size());
      if (size > 0) input.erase(0, static_cast<std::size_t>(size));
      if (size < 0 || input.empty()) ::close(std::exchange(in[1], -1));
    }
  }
  for (int fd : {in[1], out[0], err[0]})
    if (fd >= 0) ::close(fd);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_FALSE(timed_out) << "still running after " << options.patience.count()
                          << " s: " << argv[0];
  ran.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  ran.took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
  return ran;
}

constexpr const char* kStart =
    "import os, sys\n"
    "try: os.execvp(sys.argv[1], sys.argv[1:])\n"
    "except OSError: os._exit(127)\n";

// The same tests for cells of every kind: SALLYPORT_TEST_CELLS is a word of `run --ahead`. A warm
// interpreter has a script that starts the command in its place.
std::vector<std::string> made_ahead(std::vector<std::string> args) {
  const char* const kind = std::getenv("SALLYPORT_TEST_CELLS");
  const auto command = std::ranges::find(args, "--");
  if (kind == nullptr || command == args.end() || std::ranges::find(args, "--root") != args.end())
    return args;
  const std::vector<std::string> starter =
      std::string_view(kind) == "python" ? std::vector<std::string>{"python3", "-B", "-c", kStart}
      : std::string_view(kind) == "node" ? std::vector<std::string>{"node", "/warm/start.js"}
                                         : std::vector<std::string>();
  args.insert(command + 1, starter.begin(), starter.end());
  args.insert(args.begin(), {"--ahead", kind});
  if (std::string_view(kind) == "node")
    args.insert(args.begin(), {"--read", published() + "/warm:/warm"});
  return args;
}

Ran run_cell(const std::vector<std::string>& args, RunOptions options) {
  std::vector<std::string> argv = {sallyport_path(), "run"};
  const std::vector<std::string> words = made_ahead(args);
  argv.insert(argv.end(), words.begin(), words.end());
  return run(argv, options);
}

std::string sallyport_path() {
  return published() + "/sallyport";
}
std::string probe_path() {
  return published() + "/probe";
}
std::string probe_inside() {
  return "/probe/probe";
}
std::vector<std::string> probe_grant() {
  return {"--read", published() + ":/probe"};
}

Ran probe_in_cell(As as, const std::vector<std::string>& probe_args,
                  std::vector<std::string> args) {
  for (const std::string& word : probe_grant())
    args.push_back(word);
  args.insert(args.end(), {"--", probe_inside()});
  args.insert(args.end(), probe_args.begin(), probe_args.end());
  return run_cell(args, RunOptions{.as = as});
}

Ran probe_outside(const std::vector<std::string>& probe_args, As as) {
  std::vector<std::string> argv = {probe_path()};
  argv.insert(argv.end(), probe_args.begin(), probe_args.end());
  return run(argv, RunOptions{.as = as});
}

testing::AssertionResult attack_refused(const Ran& ran) {
  if (ran.exit_code == 1) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "expected a refusal (1), got " << ran.exit_code
                                     << "\nstdout: " << ran.out << "\nstderr: " << ran.err;
}

testing::AssertionResult attack_worked(const Ran& ran) {
  if (ran.exit_code == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "expected the attack to work (0), got " << ran.exit_code
                                     << "\nstdout: " << ran.out << "\nstderr: " << ran.err;
}

TempDir::TempDir(As as) {
  char name[] = "/var/tmp/sallyport-test.XXXXXX";
  if (::mkdtemp(name) == nullptr) {
    ADD_FAILURE() << "mkdtemp: " << std::strerror(errno);
    return;
  }
  path_ = name;
  if (as == As::user) EXPECT_EQ(::chown(name, kUserUid, kUserGid), 0);
}

TempDir::~TempDir() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void write_file(const std::string& path, const std::string& content, As owner, unsigned mode) {
  std::ofstream(path) << content;
  EXPECT_EQ(::chmod(path.c_str(), mode), 0);
  if (owner == As::user) EXPECT_EQ(::chown(path.c_str(), kUserUid, kUserGid), 0);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace sallyport::test
