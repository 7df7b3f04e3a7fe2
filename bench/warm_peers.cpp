#include "warm_peers.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/fd.h"
#include "warm_client.h"

namespace sallyport::warm {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> command_of(Kind kind, const Question& question) {
  switch (kind) {
    case Kind::python:
    case Kind::numpy:
      return {"/usr/bin/python3", "-c", question.code};
    case Kind::command:
      return {"/bin/true"};
    case Kind::node:
      return {"node", "-e", question.code};
  }
  return {};
}

std::vector<std::string> bubblewrap(const std::vector<std::string>& command) {
  // numpy finds its library of linear algebra by way of /etc/alternatives, so all get that.
  std::vector<std::string> words{"bwrap",
                                 "--unshare-all",
                                 "--die-with-parent",
                                 "--new-session",
                                 "--clearenv",
                                 "--setenv",
                                 "PATH",
                                 "/usr/bin:/bin",
                                 "--ro-bind",
                                 "/usr",
                                 "/usr",
                                 "--ro-bind",
                                 "/etc/alternatives",
                                 "/etc/alternatives",
                                 "--symlink",
                                 "usr/bin",
                                 "/bin",
                                 "--symlink",
                                 "usr/lib",
                                 "/lib",
                                 "--symlink",
                                 "usr/lib64",
                                 "/lib64",
                                 "--proc",
                                 "/proc",
                                 "--dev",
                                 "/dev",
                                 "--tmpfs",
                                 "/tmp"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

}  // namespace

std::vector<Peer> peers_of(Kind kind, const std::string& work) {
  // The code that is in the bundles too.
  const Question asked = kind == Kind::python ? Question{"print(6 * 7)", "42"} : question(kind, 0);
  const std::string output = asked.answer.empty() ? "" : asked.answer + "\n";
  const std::vector<std::string> command = command_of(kind, asked);
  std::vector<Peer> peers{{"bare", command, output}, {"bubblewrap", bubblewrap(command), output}};
  if (kind != Kind::python && kind != Kind::command) return peers;
  const std::string id = "sallyport-bench-" + std::to_string(::getpid());
  for (const char* runtime : {"crun", "runc"})
    peers.push_back(
        {runtime, {runtime, "run", "--bundle", work + "/" + name_of(kind), id}, output});
  return peers;
}

double run(const Peer& peer) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) give_up("there are no pipes left");
  Fd reading(ends[0]), writing(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), 1);
  // A session of its own for each, as bubblewrap makes one: the scheduler shares the processors
  // among sessions first, and on a busy machine all of ours together would get what one of its
  // gets.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::vector<char*> argv;
  for (const std::string& word : peer.argv)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  char* environment[] = {path, nullptr};

  pid_t child = -1;
  std::string output;
  char bytes[4096];
  const auto begin = Clock::now();
  if (::posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), environment) != 0)
    give_up("cannot start " + peer.argv[0]);
  writing.reset();
  for (ssize_t got = 0; (got = ::read(reading.get(), bytes, sizeof(bytes))) > 0;)
    output.append(bytes, static_cast<std::size_t>(got));
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const auto end = Clock::now();
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (status != 0 || output != peer.output)
    give_up(peer.name + " failed: status " + std::to_string(status) + ", output '" + output + "'");
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

}  // namespace sallyport::warm
