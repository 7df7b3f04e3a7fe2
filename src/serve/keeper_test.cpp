// The keeper with a front of our own, which does what a byte from a client tells it and answers
// with a line. What needs real cells is in tests/integration/launcher_test.cpp.
#include "serve/keeper.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "launch/remote_cell.h"
#include "serve/front_control.h"
#include "serve/front_user.h"

namespace sallyport {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kPolicy = "version: 1\nroles: {r: {permissions: [p]}}\n";

constexpr const char* kFailingPolicy =
    "version: 1\nroles: {r: {permissions: [p]}}\ncallers: {ann: {role: r}}\n"
    "tools: {t: {needs: [p], run: [x]}}\ntests: [{as: ann, call: t, expect: blocked}]\n";

std::string read_all(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// ---- The front

std::string answer(FrontSettings& settings, char question, std::string& policy) {
  switch (question) {
    case 'i': {  // who it is
      std::string state = std::to_string(::getpid()) + " " + std::to_string(::getuid()) + " " +
                          std::to_string(::getgid());
      std::istringstream status(read_all("/proc/thread-self/status"));
      for (std::string line; std::getline(status, line);)
        for (const char* field : {"CapEff", "CapBnd", "Groups", "NoNewPrivs"})
          if (line.starts_with(field)) state += " " + line;
      return state;
    }
    case 'd': {  // what it has open
      std::size_t count = 0;
      for (int fd = 3; fd < 1024; ++fd)
        if (::fcntl(fd, F_GETFD) >= 0) ++count;
      return std::to_string(count);
    }
    case 'l':
      return settings.launcher;
    case 'p':
      return policy;
    case 'r': {
      if (!send_control(settings.control.get(), {ControlKind::reload, {}})) return "cannot send";
      const auto message = receive_control(settings.control.get());
      if (!message) return "gone";
      if (message->kind == ControlKind::policy) policy = message->text;
      return (message->kind == ControlKind::policy ? "policy " : "bad ") + message->text;
    }
    case 'c': {
      CellSpec spec;
      spec.command = {"true"};
      spec.grants = {{.host = "/etc", .inside = "/data", .write = false}};
      return run_cell_remotely(settings.launcher, "default", spec, {}).message;
    }
    case 'w': {
      const std::string path = settings.state + "/written";
      const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
      return file ? "written" : "not written";
    }
    case 'x':
      ::_exit(3);
    default:
      return "?";
  }
}

int test_front(FrontSettings settings) {
  std::string policy = settings.policy_text;
  if (policy.contains("cannot start")) return 7;
  if (!send_control(settings.control.get(), {ControlKind::ready, {}})) return 1;
  for (;;) {
    pollfd events[] = {
        {.fd = settings.control.get(), .events = POLLIN, .revents = 0},
        {.fd = settings.http.listeners.at(0).socket.get(), .events = POLLIN, .revents = 0}};
    if (::poll(events, 2, -1) < 0) continue;
    if (events[0].revents != 0) {
      const auto message = receive_control(settings.control.get());
      if (!message || message->kind == ControlKind::stop) return 0;
      if (message->kind == ControlKind::policy) policy = message->text;
    }
    if (events[1].revents == 0) continue;
    const Fd client(
        ::accept4(settings.http.listeners[0].socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    char question = 0;
    if (!client || ::read(client.get(), &question, 1) != 1) continue;
    const std::string text = answer(settings, question, policy);
    (void)!::write(client.get(), text.data(), text.size());
  }
}

// ---- The keeper in a process of its own

class Keepers : public testing::Test {
 protected:
  Keepers() {
    char name[] = "/tmp/sallyport-test-keep.XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    EXPECT_EQ(::chmod(name, 0755), 0);
    directory_ = name;
    write_policy(kPolicy);
    options_.policy = directory_ + "/policy.yaml";
    options_.state = directory_ + "/state";
    options_.listen = {"unix:" + socket()};
    options_.drain = std::chrono::milliseconds(200);
  }
  ~Keepers() override {
    if (pid_ > 0) {
      ::kill(pid_, SIGTERM);
      (void)wait();
    }
    std::filesystem::remove_all(directory_);
  }

  [[nodiscard]] std::string socket() const { return directory_ + "/http.sock"; }
  void write_policy(const std::string& text) const {
    std::ofstream(directory_ + "/policy.yaml") << text;
  }
  void start() {
    const pid_t test = ::getpid();
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != test) ::_exit(1);
    const Fd log(
        ::open((directory_ + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    ::dup2(log.get(), 2);
    ::_exit(keep(options_, test_front));
  }
  // Its exit code; 128 + N when ended by signal N.
  int wait() {
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  [[nodiscard]] std::string log() const { return read_all(directory_ + "/log"); }

  // The front's answer; empty when it ends before it gives one.
  [[nodiscard]] std::string ask(char question) const {
    const Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    socket().copy(address.sun_path, sizeof(address.sun_path) - 1);
    std::string text;
    if (!eventually([&] {
          return ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address),
                           sizeof(address)) == 0;
        }))
      return "cannot connect: " + log();
    EXPECT_EQ(::write(client.get(), &question, 1), 1);
    char block[4096];
    for (ssize_t size; (size = ::read(client.get(), block, sizeof(block))) > 0;)
      text.append(block, static_cast<std::size_t>(size));
    return text;
  }
  [[nodiscard]] pid_t front_pid() const {
    std::istringstream text(ask('i'));
    pid_t pid = -1;
    text >> pid;
    return pid;
  }
  // The keeper's children, by their names.
  [[nodiscard]] std::vector<pid_t> children(const std::string& name) const {
    const std::string pid = std::to_string(pid_);
    std::istringstream list(read_all("/proc/" + pid + "/task/" + pid + "/children"));
    std::vector<pid_t> found;
    for (pid_t child = 0; list >> child;)
      if (read_all("/proc/" + std::to_string(child) + "/comm") == name + "\n")
        found.push_back(child);
    return found;
  }

  std::string directory_;
  ServeOptions options_;
  pid_t pid_ = -1;
};

TEST_F(Keepers, StartAFrontThatHasNoPrivileges) {
  start();
  const std::string identity = ask('i');
  if (::geteuid() == 0) {
    EXPECT_THAT(identity, HasSubstr(" " + std::to_string(kFrontUid) + " "));
    EXPECT_THAT(identity, HasSubstr("CapEff:\t0000000000000000"));
    EXPECT_THAT(identity, HasSubstr("CapBnd:\t0000000000000000"));
  }
  EXPECT_THAT(identity, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_EQ(ask('d'), "3") << "its listener, its control socket, and the client";
  EXPECT_EQ(ask('p'), kPolicy);
  EXPECT_EQ(ask('w'), "written") << "the state directory is its own";
}

TEST_F(Keepers, StartALauncherThatHoldsTheFrontToThePolicy) {
  start();
  EXPECT_THAT(ask('c'), HasSubstr("no tool of the policy grants the path '/etc'"));
}

TEST_F(Keepers, EndAtSigtermAndLeaveNothing) {
  start();
  const pid_t front = front_pid();
  ASSERT_TRUE(eventually([&] { return children("sally-launcher").size() == 1; }));
  const pid_t launcher = children("sally-launcher").front();
  const std::string place = ask('l');
  EXPECT_TRUE(std::filesystem::is_socket(place));
  ::kill(pid_, SIGTERM);
  EXPECT_EQ(wait(), 0);
  EXPECT_NE(::kill(front, 0), 0);
  EXPECT_NE(::kill(launcher, 0), 0);
  EXPECT_FALSE(std::filesystem::exists(socket()));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(place).parent_path()));
}

TEST_F(Keepers, StartAgainWhatDies) {
  start();
  const pid_t front = front_pid();
  EXPECT_EQ(ask('x'), "");
  const pid_t next = front_pid();
  EXPECT_GT(next, 0);
  EXPECT_NE(next, front);
  ::kill(next, SIGKILL);
  EXPECT_GT(front_pid(), 0);

  ASSERT_TRUE(eventually([&] { return children("sally-launcher").size() == 1; }));
  const pid_t launcher = children("sally-launcher").front();
  ::kill(launcher, SIGKILL);
  EXPECT_THAT(ask('c'), HasSubstr("'/etc'")) << "the claim waited for the next launcher";
  EXPECT_NE(children("sally-launcher").at(0), launcher);
}

TEST_F(Keepers, TakeEverybodyWithThemWhenTheyAreKilled) {
  start();
  const pid_t front = front_pid();
  ASSERT_TRUE(eventually([&] { return children("sally-launcher").size() == 1; }));
  const pid_t launcher = children("sally-launcher").front();
  const std::string place = ask('l');
  ::kill(pid_, SIGKILL);
  EXPECT_EQ(wait(), 128 + SIGKILL);
  EXPECT_TRUE(eventually([&] { return ::kill(front, 0) != 0 && ::kill(launcher, 0) != 0; }));
  // The next one takes over its socket, and removes what it left.
  start();
  EXPECT_GT(front_pid(), 0);
  EXPECT_FALSE(std::filesystem::exists(place));
}

TEST_F(Keepers, ReadThePolicyAgainWhenToldTo) {
  start();
  EXPECT_EQ(ask('p'), kPolicy);
  const pid_t front = front_pid();
  ASSERT_TRUE(eventually([&] { return children("sally-launcher").size() == 1; }));
  const pid_t launcher = children("sally-launcher").front();
  const std::string next =
      std::string(kPolicy) +
      "tools: {t: {needs: [p], run: [cat, /data/x], files: {read: [\"/etc:/data\"]}}}\n";
  write_policy(next);
  ::kill(pid_, SIGHUP);
  EXPECT_TRUE(eventually([&] { return ask('p') == next; }));
  EXPECT_EQ(front_pid(), front);
  EXPECT_TRUE(eventually([&] {
    const auto launchers = children("sally-launcher");
    return launchers.size() == 1 && launchers[0] != launcher;
  }));
  write_policy(kPolicy);
  EXPECT_EQ(ask('r'), "policy " + std::string(kPolicy)) << "the front may ask for it, too";
  EXPECT_THAT(ask('c'), HasSubstr("'/etc'")) << "and the ceiling came down with it";
}

TEST_F(Keepers, KeepTheOldPolicyWhenTheNewOneIsBad) {
  start();
  EXPECT_EQ(ask('p'), kPolicy);
  write_policy("version: 1\nnonsense: true\n");
  EXPECT_THAT(ask('r'), HasSubstr("bad "));
  EXPECT_THAT(ask('r'), HasSubstr("nonsense"));
  EXPECT_EQ(ask('p'), kPolicy);
  write_policy(kFailingPolicy);
  EXPECT_THAT(ask('r'), HasSubstr("test failed"));
  ::kill(front_pid(), SIGKILL);
  EXPECT_EQ(ask('p'), kPolicy) << "the next front gets the old one too";
}

TEST_F(Keepers, RefuseToStartWithABadPolicy) {
  write_policy("version: 1\nnonsense: true\nmore: nonsense\n");
  start();
  EXPECT_EQ(wait(), 125);
  EXPECT_THAT(log(), HasSubstr("policy.yaml:2"));
  EXPECT_THAT(log(), HasSubstr("policy.yaml:3"));
}

TEST_F(Keepers, RefuseToStartWithAPolicyWhoseTestsFail) {
  write_policy(kFailingPolicy);
  start();
  EXPECT_EQ(wait(), 125);
  EXPECT_THAT(log(), HasSubstr("test failed: ann calls t"));
}

TEST_F(Keepers, GiveUpWhenTheFrontCannotStart) {
  write_policy(std::string(kPolicy) + "# cannot start\n");
  start();
  EXPECT_EQ(wait(), 125);
}

TEST_F(Keepers, RefuseASocketThatSomebodyAnswersOn) {
  start();
  EXPECT_GT(front_pid(), 0);
  const pid_t first = std::exchange(pid_, -1);
  options_.state = directory_ + "/other";
  start();
  EXPECT_EQ(wait(), 125);
  EXPECT_THAT(log(), HasSubstr("another program answers there"));
  pid_ = first;
  EXPECT_GT(front_pid(), 0) << "and leave it to him";
}

TEST_F(Keepers, WarnOnceOfClearTextThatLeavesTheMachine) {
  options_.listen.insert(options_.listen.end(), {"0.0.0.0:0", "[::1]:0", "127.0.0.1:0"});
  start();
  EXPECT_GT(front_pid(), 0);
  const std::string said = log();
  const std::size_t at = said.find(R"("event":"warning","on":"0.0.0.0:)");
  ASSERT_NE(at, std::string::npos) << said;
  const std::string line = said.substr(at, said.find('\n', at) - at);
  EXPECT_THAT(line, HasSubstr("without TLS"));
  EXPECT_THAT(line, Not(HasSubstr("::1")));
  EXPECT_THAT(line, Not(HasSubstr("127.0.0.1:")));
  EXPECT_EQ(said.find("\"warning\"", at + line.size()), std::string::npos) << said;
}

TEST_F(Keepers, WarnOfNothingOnTheLoopback) {
  options_.listen.insert(options_.listen.end(), {"[::1]:0", "127.0.0.1:0"});
  start();
  EXPECT_GT(front_pid(), 0);
  EXPECT_THAT(log(), Not(HasSubstr("\"warning\"")));
}

TEST_F(Keepers, ServeOnSocketsThatSystemdHasOpened) {
  // As systemd does it: descriptor 3, and the pid of the service.
  const pid_t test = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != test) ::_exit(1);
    const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    socket().copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(listener, 16) != 0)
      ::_exit(2);
    ::dup2(listener, 3);
    ::setenv("LISTEN_FDS", "1", 1);
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    options_.listen.clear();
    ::_exit(keep(options_, test_front));
  }
  EXPECT_EQ(ask('p'), kPolicy);
  ::kill(pid_, SIGTERM);
  EXPECT_EQ(wait(), 0);
  EXPECT_TRUE(std::filesystem::exists(socket())) << "it is systemd's";
}

TEST_F(Keepers, TellSystemdHowTheyAreDoing) {
  const std::string path = directory_ + "/notify";
  const Fd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(manager.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const auto heard = [&] {
    char text[256];
    pollfd readable{.fd = manager.get(), .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, 60'000) != 1) return std::string("nothing");
    const ssize_t size = ::recv(manager.get(), text, sizeof(text), 0);
    return std::string(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  };
  ASSERT_EQ(::setenv("NOTIFY_SOCKET", path.c_str(), 1), 0);
  start();
  ::unsetenv("NOTIFY_SOCKET");
  EXPECT_EQ(heard(), "READY=1");
  ::kill(pid_, SIGHUP);
  EXPECT_THAT(heard(), HasSubstr("RELOADING=1\nMONOTONIC_USEC="));
  EXPECT_EQ(heard(), "READY=1");
  ::kill(pid_, SIGTERM);
  EXPECT_EQ(heard(), "STOPPING=1");
  EXPECT_EQ(wait(), 0);
}

}  // namespace
}  // namespace sallyport
