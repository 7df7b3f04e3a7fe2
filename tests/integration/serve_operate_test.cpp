// The service as who operates it meets it: how it is started, by whom it is watched, what it says
// to whom, and what becomes of it when a part of it dies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "audit/checkpoint.h"
#include "audit/signing_key.h"
#include "http/http_fixture.h"
#include "http/identity_fixture.h"
#include "http/loopback_fixture.h"
#include "support/live_service.h"

namespace sallyport::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPolicy = R"(
version: 1
roles:
  viewer: [read:data]
  worker: [read:data, execute:code]
callers:
  vera: { role: viewer }
  will: { role: worker }
lockout: { after: 3 denials, within: 5min, for: 5min, by: [caller] }
defaults: { rate: 600/min }
tools:
  hello: { run: [echo, hello], needs: [read:data] }
  python: { use: run_python, needs: [execute:code], limits: { timeout: 30s }, collect: ["*.txt"] }
)";

class ServeOperate : public CellTest {};
SALLYPORT_FOR_ROOT_AND_USER(ServeOperate);

std::vector<std::string> serve(const std::string& policy, const std::string& state,
                               const std::string& listen) {
  return {sallyport_path(), "serve", "--policy", policy, "--state", state, "--listen", listen};
}

// --- the policy file

// Who could write the policy would choose what the launcher lets through.
TEST(ServeStart, RefusesAPolicyInTheDirectoryThatItGivesAway) {
  const TempDir directory;
  fs::permissions(directory.path(), fs::perms{0755});
  fs::create_directory(directory / "state");
  fs::create_directory_symlink(directory / "state", directory / "alias");
  write_file(directory / "state/policy.yaml", kPolicy);
  write_file(directory / "outside.yaml", kPolicy);
  fs::create_symlink(directory / "state/policy.yaml", directory / "inward.yaml");
  fs::create_symlink(directory / "outside.yaml", directory / "state/outward.yaml");
  for (const char* policy : {"state/policy.yaml", "alias/policy.yaml", "inward.yaml",
                             "state/../state/policy.yaml", "state/outward.yaml"}) {
    const Ran ran =
        run(serve(directory / policy, directory / "state", "unix:" + (directory / "sock")));
    EXPECT_EQ(ran.exit_code, 125) << policy;
    EXPECT_THAT(ran.err, HasSubstr("the policy file is in the state directory")) << policy;
    EXPECT_THAT(ran.err, HasSubstr("/etc/sallyport/policy.yaml")) << policy;
    struct stat status{};
    ASSERT_EQ(::stat((directory / "state").c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, 0U) << "and nothing was given away";
  }
}

// --- checkpoints

TEST_P(ServeOperate, SendsSignedCheckpointsToAReceiver) {
  LoopbackServer receiver(
      [](const std::string&) { return "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"; });
  LiveService service(kPolicy, GetParam(), {"--checkpoint-url", receiver.url("/notes")});
  const std::string key = service.key("vera");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(service.call("hello", "{}", key).status, 200);
  EXPECT_EQ(service.end(), 0) << service.log();

  const auto public_key = VerifyingKey::parse(read_file(service.state() + "/audit-key.pub"));
  ASSERT_TRUE(public_key) << public_key.error().message;
  std::uint64_t largest = 0;
  std::string notes;
  for (const std::string& request : receiver.requests()) {
    EXPECT_TRUE(request.starts_with("POST /notes HTTP/1.1\r\n")) << request;
    const auto body = boost::json::parse(body_in(request)).as_object();
    const std::string note(body.at("checkpoint").as_string());
    const auto checkpoint = Checkpoint::open_note(note, &*public_key);
    ASSERT_TRUE(checkpoint) << checkpoint.error().message << "\n" << note;
    EXPECT_EQ(std::string(body.at("stream").as_string()), checkpoint->stream);
    largest = std::max(largest, checkpoint->size);
    notes += note + "\n";
    std::string forged = note;
    forged[forged.find('\n') + 1] ^= 1;
    EXPECT_FALSE(Checkpoint::open_note(forged, &*public_key));
  }
  EXPECT_GE(largest, 6U) << "three intents and three outcomes";
  // What was received is what the log is checked against.
  const std::string kept = service.directory() / "notes";
  write_file(kept, notes);
  const Ran verified =
      run({sallyport_path(), "audit", "verify", "--state", service.state(), "--checkpoint", kept});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
}

TEST_P(ServeOperate, GoesOnWhenNobodyReceivesItsCheckpoints) {
  LiveService service(
      kPolicy, GetParam(),
      {"--checkpoint-url", "http://127.0.0.1:" + std::to_string(free_port()) + "/"});
  const std::string key = service.key("vera");
  EXPECT_EQ(service.call("hello", "{}", key).status, 200);
  // The first one is due ten seconds after a record, and at the end.
  EXPECT_EQ(service.call("hello", "{}", key).status, 200);
  service.signal(SIGTERM);
  EXPECT_TRUE(service.says("\"event\":\"checkpoints\",\"state\":\"cannot be sent\""));
  EXPECT_TRUE(service.says("\"event\":\"stopped\""));
  EXPECT_EQ(service.command({"audit", "verify"}).exit_code, 0);
}

// --- lock-outs

TEST_P(ServeOperate, LockoutsAreListedAndLiftedWhileItRuns) {
  LiveService service(kPolicy, GetParam());
  const std::string vera = service.key("vera");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(service.call("python", R"({"code": "1"})", vera).status, 403);
  EXPECT_EQ(service.call("hello", "{}", vera).text("reason"), "locked_out");
  // The answer of a service that runs: the files of the ledger are its own.
  EXPECT_TRUE(fs::is_socket(service.state() + "/operator.sock"));
  const Ran listed = service.command({"lockout", "list", "--json"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("caller/vera"));
  EXPECT_EQ(service.command({"lockout", "lift", "will"}).exit_code, 1);
  EXPECT_EQ(service.command({"lockout", "lift", "vera"}).exit_code, 0);
  EXPECT_EQ(service.call("hello", "{}", vera).status, 200);
  EXPECT_THAT(service.command({"lockout", "list"}).out, Not(HasSubstr("vera")));
  EXPECT_EQ(service.command({"lockout", "lift", "vera"}).exit_code, 1);
  // To the socket belongs the directory: whoever cannot enter it cannot ask.
  if (GetParam() == As::root) {
    const Ran stranger =
        run({sallyport_path(), "lockout", "list", "--state", service.state()}, {.as = As::user});
    EXPECT_NE(stranger.exit_code, 0);
    const Ran knocked = run({"curl", "-s", "-i", "--unix-socket",
                             service.state() + "/operator.sock", "http://localhost/v1/lockouts"},
                            {.as = As::user});
    EXPECT_EQ(knocked.out, "");
  }
}

// --- TLS

class Certificates {
 public:
  explicit Certificates(As as) : directory_(as) {
    fs::permissions(directory_.path(), fs::perms{0755});
    authority_ = make_identity({"our authority"});
    stranger_ = make_identity({"their authority"});
    put("ca", *authority_, as);
    put("other-ca", *stranger_, as);
    put("server", *make_identity({"localhost"}, authority_.get()), as);
    put("vera", *make_identity({"vera"}, authority_.get()), as);
    put("nobody", *make_identity({"nobody"}, authority_.get()), as);
    put("forged", *make_identity({"vera"}, stranger_.get()), as);
  }
  [[nodiscard]] std::string certificate(const std::string& name) const {
    return directory_ / (name + ".pem");
  }
  [[nodiscard]] std::string key(const std::string& name) const {
    return directory_ / (name + ".key");
  }

 private:
  void put(const std::string& name, const TestIdentity& identity, As as) {
    write_file(certificate(name), certificate_pem(identity), as);
    write_file(key(name), key_pem(identity), as, 0600);
  }
  TempDir directory_;
  std::unique_ptr<TestIdentity> authority_, stranger_;
};

// A call of `hello` with curl, which trusts `ca` and shows the certificate of `name`, if any.
Reply call_by_tls(const LiveService& service, const Certificates& certificates,
                  const std::string& ca, const std::string& name,
                  std::vector<std::string> more = {}) {
  std::vector<std::string> argv = {
      "curl", "-s", "-i", "--max-time", "60", "--cacert", certificates.certificate(ca)};
  if (!name.empty())
    argv.insert(argv.end(),
                {"--cert", certificates.certificate(name), "--key", certificates.key(name)});
  argv.insert(argv.end(), more.begin(), more.end());
  argv.insert(
      argv.end(),
      {"-d", "{}", "https://localhost:" + std::to_string(service.port()) + "/v1/tools/hello/call"});
  return LiveService::reply(run(argv).out);
}

TEST_P(ServeOperate, KnowsClientsByTheirCertificates) {
  const Certificates certificates(GetParam());
  LiveService service(kPolicy, GetParam(),
                      {"--certificate", certificates.certificate("server"), "--key",
                       certificates.key("server"), "--client-ca", certificates.certificate("ca")});
  const Reply called = call_by_tls(service, certificates, "ca", "vera");
  EXPECT_EQ(called.status, 200) << called.body;
  EXPECT_EQ(called.text("caller"), "vera");
  EXPECT_EQ(called.text("output"), "hello\n");
  // The certificate is who the caller is, not what it may do.
  EXPECT_EQ(call_by_tls(service, certificates, "ca", "nobody").status, 403);
  EXPECT_EQ(call_by_tls(service, certificates, "ca", "").status, 401);
  EXPECT_EQ(call_by_tls(service, certificates, "ca", "forged").status, 0) << "no handshake";
  EXPECT_EQ(call_by_tls(service, certificates, "other-ca", "vera").status, 0)
      << "the client does not take it for the service";
  EXPECT_EQ(service.get("/healthz").status, 0) << "nothing without TLS";
  // A key is shown through TLS as well, and says who the caller is.
  const Reply keyed =
      call_by_tls(service, certificates, "ca", "", LiveService::credential(service.key("will")));
  EXPECT_EQ(keyed.text("caller"), "will") << keyed.body;
}

TEST_P(ServeOperate, MayRequireACertificateOfEverybody) {
  const Certificates certificates(GetParam());
  LiveService service(
      kPolicy, GetParam(),
      {"--certificate", certificates.certificate("server"), "--key", certificates.key("server"),
       "--client-ca", certificates.certificate("ca"), "--require-certificate"});
  EXPECT_EQ(call_by_tls(service, certificates, "ca", "vera").status, 200);
  EXPECT_EQ(
      call_by_tls(service, certificates, "ca", "", LiveService::credential(service.key("vera")))
          .status,
      0)
      << "a key does not stand in for it";
}

// --- systemd

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

Fd bound_socket(const std::string& path, int type) {
  Fd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  const sockaddr_un address = unix_address(path);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return socket;
}

// What systemd is told, with the process that told it.
struct Notice {
  std::string text;
  pid_t sender = -1;
};
Notice next_notice(const Fd& manager) {
  Notice notice;
  pollfd readable{.fd = manager.get(), .events = POLLIN, .revents = 0};
  if (::poll(&readable, 1, 60'000) != 1) return notice;
  char text[512];
  iovec bytes{.iov_base = text, .iov_len = sizeof(text)};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(ucred))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof(space);
  const ssize_t size = ::recvmsg(manager.get(), &message, MSG_CMSG_CLOEXEC);
  if (size > 0) notice.text.assign(text, static_cast<std::size_t>(size));
  if (const cmsghdr* part = CMSG_FIRSTHDR(&message);
      part != nullptr && part->cmsg_type == SCM_CREDENTIALS) {
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(part), sizeof(sender));
    notice.sender = sender.pid;
  }
  return notice;
}

// Starts it as systemd starts deploy/systemd/sallyport.service: two listening sockets from
// descriptor 3 on, and a socket for notices.
pid_t start_activated(const std::vector<std::string>& words, const Fd& tcp, const Fd& local,
                      const std::string& notify, const std::string& log) {
  std::vector<std::string> argv = words;
  std::vector<char*> pointers;
  for (std::string& word : argv)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::umask(077);
  // Out of the way of 3 and 4 first.
  const int first = ::fcntl(tcp.get(), F_DUPFD, 100), second = ::fcntl(local.get(), F_DUPFD, 100);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ::dup2(out, 2);
  ::dup2(first, 3);
  ::dup2(second, 4);
  ::close_range(5, ~0U, 0);
  ::setenv("LISTEN_FDS", "2", 1);
  ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
  ::setenv("NOTIFY_SOCKET", notify.c_str(), 1);
  ::execv(pointers[0], pointers.data());
  ::_exit(98);
}

TEST(ServeUnderSystemd, TakesItsSocketsAndTellsItsState) {
  const TempDir directory;
  fs::permissions(directory.path(), fs::perms{0755});
  write_file(directory / "policy.yaml", kPolicy);
  std::uint16_t port = 0;
  Fd tcp = listening_socket(port);
  Fd local = bound_socket(directory / "sock", SOCK_STREAM);
  ASSERT_EQ(::listen(local.get(), 1024), 0);
  const Fd manager = bound_socket(directory / "notify", SOCK_DGRAM);
  const int on = 1;
  ASSERT_EQ(::setsockopt(manager.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);

  const pid_t pid = start_activated({sallyport_path(), "serve", "--policy",
                                     directory / "policy.yaml", "--state", directory / "state"},
                                    tcp, local, directory / "notify", directory / "log");
  ASSERT_GT(pid, 0);
  tcp.reset();
  local.reset();
  // NotifyAccess=main: a notice of another process is not heard.
  const Notice ready = next_notice(manager);
  EXPECT_EQ(ready.text, "READY=1") << read_file(directory / "log");
  EXPECT_EQ(ready.sender, pid);
  const std::string url = "http://127.0.0.1:" + std::to_string(port);
  EXPECT_TRUE(eventually([&] {
    return LiveService::reply(run({"curl", "-s", "-i", url + "/readyz"}).out).status == 200;
  }));
  EXPECT_EQ(LiveService::reply(run({"curl", "-s", "-i", "--unix-socket", directory / "sock",
                                    "http://localhost/healthz"})
                                   .out)
                .status,
            200);
  const std::string log = read_file(directory / "log");
  EXPECT_THAT(log, Not(HasSubstr("8640"))) << "none of its own beside them";

  ASSERT_EQ(::kill(pid, SIGHUP), 0);
  const Notice reloading = next_notice(manager);
  EXPECT_THAT(reloading.text, HasSubstr("RELOADING=1\nMONOTONIC_USEC="));
  EXPECT_EQ(reloading.sender, pid);
  EXPECT_EQ(next_notice(manager).text, "READY=1");

  ASSERT_EQ(::kill(pid, SIGTERM), 0);
  const Notice stopping = next_notice(manager);
  EXPECT_EQ(stopping.text, "STOPPING=1");
  EXPECT_EQ(stopping.sender, pid);
  int status = -1;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << read_file(directory / "log");
  EXPECT_TRUE(fs::is_socket(directory / "sock")) << "it is systemd's";
}

// --- many connections

// Raises the limit on open files for a test and the programs that it starts.
class ManyFiles {
 public:
  explicit ManyFiles(rlim_t count) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit more{.rlim_cur = count, .rlim_max = std::max(count, before_.rlim_max)};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &more), 0);
  }
  ~ManyFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  ManyFiles(const ManyFiles&) = delete;
  ManyFiles& operator=(const ManyFiles&) = delete;

 private:
  rlimit before_{};
};

std::uint64_t resident_kib(pid_t pid) {
  return std::strtoull(status_of(pid, "VmRSS").c_str(), nullptr, 10);
}

std::size_t closed_ones(std::vector<RawClient>& clients) {
  std::size_t count = 0;
  for (RawClient& client : clients)
    if (client.readable(0)) ++count;
  return count;
}

TEST(ServeManyConnections, StayCheapAndLeaveOthersAnswered) {
  constexpr std::size_t kIdle = 5000, kMostAtOnce = 8192, kTooMany = 200;
  constexpr std::uint64_t kMostMib = 100;
  const ManyFiles files(20'000);
  LiveService service(kPolicy);
  const std::string key = service.key("vera");
  EXPECT_EQ(service.call("hello", "{}", key).status, 200);
  const pid_t front = service.named("sally-front");
  ASSERT_GT(front, 0);
  const std::uint64_t before = resident_kib(front);
  ASSERT_GT(before, 0U);

  const auto port = static_cast<std::uint16_t>(service.port());
  const std::string ask = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  std::vector<RawClient> idle;
  const auto add = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      idle.emplace_back(port);
      ASSERT_TRUE(idle.back().send(ask));
      ASSERT_EQ(status_in(idle.back().read_answer()), 200U);
    }
  };
  add(kIdle);
  EXPECT_EQ(service.call("hello", "{}", key).status, 200);
  EXPECT_LT(resident_kib(front), before + kMostMib * 1024);
  EXPECT_EQ(closed_ones(idle), 0U) << "an idle connection has a minute";
  // Past the most that there may be, the oldest idle ones make room.
  add(kMostAtOnce - kIdle + kTooMany);
  EXPECT_EQ(service.call("hello", "{}", key).status, 200);
  EXPECT_TRUE(eventually([&] { return closed_ones(idle) >= kTooMany; }));
  EXPECT_FALSE(idle.back().readable(0));
  EXPECT_LT(resident_kib(front), before + kMostMib * 1024);
}

TEST_P(ServeOperate, KeepsRoomForTheBodiesOfOthers) {
  LiveService service(kPolicy, GetParam());
  const std::string vera = service.key("vera"), will = service.key("will");
  const std::string head =
      "POST /v1/tools/hello/call HTTP/1.1\r\nHost: localhost\r\n"
      "Authorization: Bearer " +
      vera + "\r\nContent-Length: 16000000\r\n\r\n";
  const std::string most(12'000'000, 'x');
  // Two that never end: the room of one caller holds one of them.
  std::vector<RawClient> slow;
  for (int i = 0; i < 2; ++i) {
    slow.emplace_back(static_cast<std::uint16_t>(service.port()));
    slow.back().send(head);
    slow.back().send(most);
  }
  ASSERT_TRUE(eventually([&] { return slow[0].readable(0) || slow[1].readable(0); }));
  const std::string refused = slow[slow[0].readable(0) ? 0 : 1].read_all();
  EXPECT_EQ(status_in(refused), 503U);
  EXPECT_THAT(refused, HasSubstr("\"reason\":\"unavailable\""));
  EXPECT_THAT(refused, HasSubstr("of this sender"));
  EXPECT_EQ(service.call("hello", "{}", vera).status, 200);
  const std::string large =
      R"({"arguments": {}, "stdin": ")" + std::string(12'000'000, 'x') + "\"}";
  write_file(service.directory() / "body", large);
  const Reply other =
      service.post("/v1/tools/hello/call", "@" + (service.directory() / "body"), will);
  EXPECT_NE(other.status, 503) << other.body;
  EXPECT_NE(other.status, 0);
}

// --- when a part of it dies

TEST_P(ServeOperate, IsNotReadyWhileItsLauncherIsDead) {
  LiveService service(kPolicy, GetParam());
  const pid_t launcher = service.named("sally-launcher");
  ASSERT_GT(launcher, 0);
  // Stopped, the keeper goes on holding the launcher's socket and starts no other one.
  service.signal(SIGSTOP);
  ASSERT_EQ(::kill(launcher, SIGKILL), 0);
  EXPECT_TRUE(eventually([&] { return service.get("/readyz").status == 503; }));
  const Reply reply = service.get("/readyz");
  EXPECT_EQ(reply.text("reason"), "unavailable");
  EXPECT_THAT(reply.text("message"), HasSubstr("the launcher does not answer"));
  EXPECT_EQ(service.get("/healthz").status, 200);
  service.signal(SIGCONT);
  EXPECT_TRUE(eventually([&] { return service.get("/readyz").status == 200; }));
  EXPECT_EQ(service.call("hello", "{}", service.key("vera")).status, 200);
}

// Directories for artifacts that belong to `user` and to a call.
std::vector<std::string> artifact_directories(uid_t user) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator("/tmp")) {
    struct stat status{};
    if (entry.path().filename().string().starts_with("sallyport-artifacts-") &&
        ::lstat(entry.path().c_str(), &status) == 0 && status.st_uid == user &&
        (status.st_mode & S_ISVTX) != 0)
      found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

TEST_P(ServeOperate, RemovesWhatItsKilledFrontHasLeft) {
  LiveService service(kPolicy, GetParam());
  const std::string key = service.key("will");
  const uid_t user = static_cast<uid_t>(
      std::strtoul(status_of(service.named("sally-front"), "Uid").c_str(), nullptr, 10));
  const auto before = artifact_directories(user);
  const std::string code = "print('up', flush=True)\nimport time; time.sleep(20)";
  const boost::json::object body{{"arguments", {{"code", code}}}};
  LiveProcess caller({"curl", "-s", "-N", "-H", "Accept: text/event-stream", "-H",
                      "Authorization: Bearer " + key, "-d", boost::json::serialize(body),
                      "http://" + service.address() + "/v1/tools/python/call"});
  ASSERT_TRUE(caller.says("up"));
  std::vector<std::string> left;
  std::ranges::set_difference(artifact_directories(user), before, std::back_inserter(left));
  ASSERT_EQ(left.size(), 1U);

  const auto processes = service.all();
  service.signal(SIGKILL);
  for (const pid_t pid : processes)
    EXPECT_TRUE(eventually([&] { return !fs::exists("/proc/" + std::to_string(pid)); }));
  EXPECT_TRUE(fs::is_directory(left[0])) << "nobody was there to remove it";
  // As if it had happened an hour ago.
  const timespec hour_ago[2] = {{.tv_sec = std::time(nullptr) - 3600, .tv_nsec = 0},
                                {.tv_sec = std::time(nullptr) - 3600, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, left[0].c_str(), hour_ago, AT_SYMLINK_NOFOLLOW), 0);
  service.begin();
  EXPECT_TRUE(eventually([&] { return !fs::exists(left[0]); }));
}

}  // namespace
}  // namespace sallyport::test
