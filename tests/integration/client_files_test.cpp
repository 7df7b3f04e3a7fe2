// Files that a client of the launcher shows to its own command: with the client's rights, for that
// command and no other, whatever the front or another client says.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "launch/launcher_fixture.h"
#include "launch/remote_cell.h"
#include "launch/visit.h"
#include "launch/visitors.h"
#include "policy/rules.h"
#include "support/leftovers.h"

namespace sallyport::test {
namespace {

using testing::HasSubstr;

constexpr uid_t kAnn = 43301, kBob = 43302;

// The rights of one user for as long as it lives.
class ActAs {
 public:
  explicit ActAs(uid_t uid) {
    EXPECT_EQ(::setegid(uid), 0);
    EXPECT_EQ(::seteuid(uid), 0);
  }
  ~ActAs() {
    EXPECT_EQ(::seteuid(0), 0);
    EXPECT_EQ(::setegid(0), 0);
  }
  ActAs(const ActAs&) = delete;
  ActAs& operator=(const ActAs&) = delete;
};

LaunchCeiling ceiling_with(const std::string& files, const std::string& more = "") {
  const auto policy = Policy::parse(
      "version: 1\nroles: {r: {permissions: [p]}}\n"
      "tools:\n  run:\n    use: run_command\n    needs: [p]\n    commands: [sh]\n    limits: "
      "{timeout: 2min}\n    environment: {LANG: C}\n" +
      (files.empty() ? "" : "    files: " + files + "\n") + more);
  if (!policy) {
    ADD_FAILURE() << to_text(policy.error().front());
    return {};
  }
  auto ceiling = make_launch_ceiling(policy->rules(), "", UidRange{});
  EXPECT_TRUE(ceiling);
  return std::move(*ceiling);
}

std::string in_hex(const PacketId& id) {
  std::string text;
  for (const std::uint8_t byte : id)
    text.append({"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]});
  return text;
}

Fd open_path(const std::string& path, int flags = O_PATH | O_NOFOLLOW) {
  Fd fd(::open(path.c_str(), flags | O_CLOEXEC));
  EXPECT_TRUE(fd) << path << ": " << std::strerror(errno);
  return fd;
}

// A client that has shown something.
struct Client {
  Fd connection;
  std::string ticket;   // empty: it was refused
  std::string refusal;  // empty as well: it was hung up on
};

class ClientFilesTest : public testing::Test {
 protected:
  ClientFilesTest() {
    char name[] = "/var/tmp/sallyport-test.XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    EXPECT_EQ(::chmod(name, 0755), 0);
    directory_ = name;
    make_directory("ann", kAnn, 0755);
    write("ann/in", "of ann\n", kAnn, 0600);
  }
  ~ClientFilesTest() override { std::filesystem::remove_all(directory_); }

  std::string at(const std::string& name) const { return directory_ + "/" + name; }
  void make_directory(const std::string& name, uid_t owner, mode_t mode) const {
    EXPECT_EQ(::mkdir(at(name).c_str(), mode), 0);
    EXPECT_EQ(::chmod(at(name).c_str(), mode), 0);
    EXPECT_EQ(::chown(at(name).c_str(), owner, owner), 0);
  }
  void write(const std::string& name, const std::string& text, uid_t owner, mode_t mode) const {
    const Fd file(::open(at(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    EXPECT_EQ(::write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    EXPECT_EQ(::fchmod(file.get(), mode), 0);
    EXPECT_EQ(::fchown(file.get(), owner, owner), 0);
  }

  static Visit visit_of(const CellSpec& spec) {
    Visit visit{.tool = "run",
                .command = spec.command,
                .inputs = {},
                .input = {},
                .outputs = {},
                .files = spec.client.files};
    for (const InputFile& input : spec.inputs)
      visit.inputs.push_back(visit_input(input.name, *input.content));
    if (spec.input) visit.input = visit_digest(*spec.input);
    return visit;
  }
  static Client send(const LauncherUnderTest& launcher, uid_t uid, std::string_view bytes,
                     const std::vector<Fd>& opened) {
    Client client;
    const auto file = make_memory_file(bytes);
    std::vector<int> fds = {file->get()};
    for (const Fd& fd : opened)
      fds.push_back(fd.get());
    {
      const ActAs act(uid);
      client.connection = launcher.connect_as_client();
      (void)send_packet(client.connection.get(), PacketKind::visit, 0, fds);
    }
    const auto packet = next_packet(client.connection);
    if (packet && packet->kind == PacketKind::ticket) client.ticket = in_hex(packet->id);
    if (packet && packet->kind == PacketKind::outcome)
      client.refusal = outcome_in(*packet).value_or(Outcome{}).message;
    return client;
  }
  static Client send(const LauncherUnderTest& launcher, uid_t uid, const CellSpec& spec,
                     const std::vector<Fd>& opened) {
    return send(launcher, uid, *encode(visit_of(spec)), opened);
  }
  // As the program does: opens its own files, and shows them for the command.
  static Client show(const LauncherUnderTest& launcher, uid_t uid, const CellSpec& spec) {
    std::vector<Fd> opened;
    {
      const ActAs act(uid);
      for (const ClientFile& file : spec.client.files)
        opened.push_back(open_path(file.host));
    }
    return send(launcher, uid, spec, opened);
  }

  CellSpec shell(const std::string& script, std::vector<ClientFile> files, uid_t uid = kAnn) const {
    CellSpec spec = ceiling_.clients.at(0).frame;
    spec.command = {"sh", "-c", script};
    spec.client.files = std::move(files);
    spec.client.uid = uid;
    return spec;
  }
  static Outcome claim(const LauncherUnderTest& launcher, CellSpec spec,
                       const std::string& ticket) {
    spec.client.ticket = ticket;
    return run_cell_remotely(launcher.path(), "default", spec, {});
  }
  // Both halves of an honest call.
  static Outcome run(const LauncherUnderTest& launcher, uid_t uid, const CellSpec& spec) {
    const Client client = show(launcher, uid, spec);
    if (client.ticket.empty()) {
      Outcome outcome;
      outcome.status = Status::blocked;
      outcome.message = client.refusal;
      return outcome;
    }
    return claim(launcher, spec, client.ticket);
  }

  std::string directory_;
  LaunchCeiling ceiling_ = ceiling_with("{ client: write }");
};

TEST_F(ClientFilesTest, AreReadAndWrittenWithTheRightsOfTheClient) {
  const LauncherUnderTest launcher(ceiling_);
  const Outcome outcome =
      run(launcher, kAnn,
          shell("cat /workspace/p/in; echo new > /workspace/p/out; id -u; stat -c %u /workspace/p",
                {{.host = at("ann"), .inside = "/workspace/p", .write = true}}));
  EXPECT_EQ(outcome.status, Status::success) << outcome.message << outcome.error;
  EXPECT_EQ(outcome.output, "of ann\n1000\n1000\n");
  struct stat made{};
  ASSERT_EQ(::stat(at("ann/out").c_str(), &made), 0);
  EXPECT_EQ(made.st_uid, kAnn);
  EXPECT_EQ(made.st_gid, kAnn);
  const auto disk = std::ranges::find(outcome.layers, "disk", &Layer::name);
  EXPECT_EQ(disk->value, "unbounded");
}

TEST_F(ClientFilesTest, ThatAreShownToBeReadCannotBeWritten) {
  const LauncherUnderTest launcher(ceiling_);
  for (const char* inside : {"/workspace/p", "/data"}) {
    const std::string place = inside;
    const Outcome outcome =
        run(launcher, kAnn,
            shell("cat " + place + "/in; echo x > " + place + "/out || echo refused; rm -f " +
                      place + "/in || echo refused",
                  {{.host = at("ann"), .inside = place, .write = false}}));
    EXPECT_EQ(outcome.output, "of ann\nrefused\nrefused\n") << outcome.message << outcome.error;
  }
  EXPECT_NE(::access(at("ann/out").c_str(), F_OK), 0);
  EXPECT_EQ(::access(at("ann/in").c_str(), F_OK), 0);
}

TEST_F(ClientFilesTest, OfOthersAreNotReadableForBeingShown) {
  const LauncherUnderTest launcher(ceiling_);
  write("secret", "of root\n", 0, 0600);
  write("ann/secret", "of root\n", 0, 0600);
  make_directory("bob", kBob, 0711);
  write("bob/open", "open\n", kBob, 0644);
  write("bob/closed", "of bob\n", kBob, 0640);
  make_directory("private", kBob, 0700);
  write("private/open", "private\n", kBob, 0644);
  const auto spec = [&](uid_t uid) {
    return shell(
        "cat /s /p/secret /workspace/p/secret /b/open /b/closed /q/open; ls /b; ls /q; echo end",
        {{.host = at("secret"), .inside = "/s"},
         {.host = at("ann"), .inside = "/p"},
         {.host = at("ann"), .inside = "/workspace/p"},
         {.host = at("bob"), .inside = "/b"},
         {.host = at("private"), .inside = "/q"}},
        uid);
  };
  const Outcome ann = run(launcher, kAnn, spec(kAnn));
  EXPECT_EQ(ann.output, "open\nend\n") << ann.message << ann.error;
  // The twin: for whom they belong to, they are readable.
  const Outcome root = run(launcher, 0, spec(0));
  EXPECT_THAT(root.output, testing::StartsWith("of root\nof root\nof root\nopen\n"))
      << root.message;
  const Outcome bob = run(launcher, kBob, spec(kBob));
  EXPECT_EQ(bob.output, "open\nof bob\nprivate\nclosed\nopen\nopen\nend\n") << bob.message;
}

TEST_F(ClientFilesTest, AreNotWrittenWhereTheyBelongToAnother) {
  const LauncherUnderTest launcher(ceiling_);
  make_directory("everybodys", kBob, 0777);
  const Outcome outcome = run(
      launcher, kAnn, shell("true", {{.host = at("everybodys"), .inside = "/p", .write = true}}));
  EXPECT_EQ(outcome.status, Status::blocked);
  EXPECT_THAT(outcome.message, HasSubstr("belongs to another user"));
}

TEST_F(ClientFilesTest, KeepTheirProtectedNames) {
  const LauncherUnderTest launcher(ceiling_);
  make_directory("ann/.git", kAnn, 0755);
  make_directory("ann/.git/hooks", kAnn, 0755);
  write("ann/.git/config", "x\n", kAnn, 0644);
  const Outcome outcome = run(
      launcher, kAnn,
      shell("echo y > /p/.git/config || echo refused; echo z > /p/.git/hooks/pre-commit || echo "
            "refused; mv /p/.git /p/git || echo refused; echo data > /p/.git/data && echo done",
            {{.host = at("ann"), .inside = "/p", .write = true}}));
  EXPECT_EQ(outcome.output, "refused\nrefused\nrefused\ndone\n")
      << outcome.message << outcome.error;
  EXPECT_EQ(
      run(launcher, kAnn, shell("true", {{.host = at("ann/.git"), .inside = "/p", .write = true}}))
          .status,
      Status::blocked);
}

TEST_F(ClientFilesTest, AreWhatTheDescriptorStandsForWhateverComesToItsPlace) {
  const LauncherUnderTest launcher(ceiling_);
  const CellSpec spec = shell("cat /p/in", {{.host = at("ann"), .inside = "/p"}});
  const Client client = show(launcher, kAnn, spec);
  ASSERT_NE(client.ticket, "") << client.refusal;
  make_directory("other", 0, 0755);
  write("other/in", "of root\n", 0, 0644);
  ASSERT_EQ(::rename(at("ann").c_str(), at("moved").c_str()), 0);
  ASSERT_EQ(::symlink(at("other").c_str(), at("ann").c_str()), 0);
  const Outcome outcome = claim(launcher, spec, client.ticket);
  EXPECT_EQ(outcome.output, "of ann\n") << outcome.message;
}

// ---- A front that has been taken over

TEST_F(ClientFilesTest, AreForOneCommandAndNoOther) {
  const LauncherUnderTest launcher(ceiling_);
  write("ann/two", "two\n", kAnn, 0600);
  CellSpec honest = shell("cat /p/in && cat", {{.host = at("ann"), .inside = "/p"},
                                               {.host = at("ann/two"), .inside = "/q"}});
  honest.inputs.push_back({.host = {}, .name = "script", .content = "true"});
  honest.use_stdin = true;
  honest.input = "stdin\n";
  using Change = void (*)(CellSpec&);
  const std::pair<const char*, Change> changes[] = {
      {"command", [](CellSpec& spec) { spec.command[2] = "cat /p/in /p/two"; }},
      {"one word more", [](CellSpec& spec) { spec.command.emplace_back("x"); }},
      {"loader", [](CellSpec& spec) { spec.environment.emplace_back("LD_PRELOAD", "/x.so"); }},
      {"no settings of git", [](CellSpec& spec) { spec.environment.pop_back(); }},
      {"other content", [](CellSpec& spec) { spec.inputs[0].content = "false"; }},
      {"other name", [](CellSpec& spec) { spec.inputs[0].name = "other"; }},
      {"one file more",
       [](CellSpec& spec) { spec.inputs.push_back({.host = {}, .name = "x", .content = "y"}); }},
      {"other input", [](CellSpec& spec) { spec.input = "other\n"; }},
      {"no input", [](CellSpec& spec) { spec.input.reset(), spec.use_stdin = false; }},
      {"writable", [](CellSpec& spec) { spec.client.files[0].write = true; }},
      {"other place", [](CellSpec& spec) { spec.client.files[0].inside = "/x"; }},
      {"other name of it", [](CellSpec& spec) { spec.client.files[0].host = "/etc"; }},
      {"order", [](CellSpec& spec) { std::swap(spec.client.files[0], spec.client.files[1]); }},
      {"one less", [](CellSpec& spec) { spec.client.files.pop_back(); }},
      {"none", [](CellSpec& spec) { spec.client.files.clear(); }},
      {"other user", [](CellSpec& spec) { spec.client.uid = kBob; }},
      {"root", [](CellSpec& spec) { spec.client.uid = 0; }},
      {"other directory to start in", [](CellSpec& spec) { spec.cwd = "/p"; }},
      {"other machine", [](CellSpec& spec) { spec.hostname = "other"; }},
  };
  for (const auto& [what, change] : changes) {
    const Client client = show(launcher, kAnn, honest);
    ASSERT_NE(client.ticket, "") << client.refusal;
    CellSpec changed = honest;
    change(changed);
    Claim asked{.tenant = "default", .spec = changed};
    asked.spec.call_id = plain_claim().spec.call_id;
    const Fd connection = launcher.connect();
    const auto file = make_memory_file(*encode(asked));
    PacketId id{};
    for (std::size_t i = 0; i < id.size(); ++i)
      id[i] = static_cast<std::uint8_t>(std::stoi(client.ticket.substr(2 * i, 2), nullptr, 16));
    const int fds[] = {file->get()};
    ASSERT_TRUE(send_packet(connection.get(), PacketKind::claim, kHasTicket, fds, id));
    send_go(connection);
    const auto outcome = outcome_on(connection);
    ASSERT_TRUE(outcome) << what;
    EXPECT_EQ(outcome->status, Status::blocked) << what;
    EXPECT_EQ(outcome->reason, Reason::cannot_enforce) << what;
    EXPECT_EQ(outcome->output, "") << what;
  }
  // The twin.
  const Outcome outcome = run(launcher, kAnn, honest);
  EXPECT_EQ(outcome.output, "of ann\nstdin\n") << outcome.message;
}

TEST_F(ClientFilesTest, AreForTheCellOfAToolThatTakesThem) {
  make_directory("granted", 0, 0777);
  // Another tool has a directory; no tool that callers show files to has one.
  const LauncherUnderTest launcher(
      ceiling_with("{ client: read }",
                   "  other:\n    use: run_command\n    needs: [p]\n"
                   "    commands: [sh]\n    collect: ['*']\n    files: {write: [" +
                       at("granted") + ":/g]}\n"));
  CellSpec spec = shell("cp /p/in /g/", {{.host = at("ann"), .inside = "/p"}});
  spec.grants.push_back({.host = at("granted"), .inside = "/g", .write = true});
  const Outcome outcome = run(launcher, kAnn, spec);
  EXPECT_EQ(outcome.status, Status::blocked);
  EXPECT_THAT(outcome.message, HasSubstr("no tool of the policy"));
  EXPECT_NE(::access(at("granted/in").c_str(), F_OK), 0);
  EXPECT_THAT(
      run(launcher, kAnn, shell("true", {{.host = at("ann"), .inside = "/p", .write = true}}))
          .message,
      HasSubstr("to write to"));
}

TEST_F(ClientFilesTest, AreUsedOnceAndOnlyWhileTheClientIsThere) {
  const LauncherUnderTest launcher(ceiling_);
  const CellSpec spec = shell("cat /p/in", {{.host = at("ann"), .inside = "/p"}});
  Client client = show(launcher, kAnn, spec);
  EXPECT_EQ(claim(launcher, spec, client.ticket).output, "of ann\n");
  const Outcome again = claim(launcher, spec, client.ticket);
  EXPECT_EQ(again.status, Status::blocked);
  EXPECT_THAT(again.message, HasSubstr("not there any more"));

  const Client gone = show(launcher, kAnn, spec);
  ASSERT_NE(gone.ticket, "");
  const std::string ticket = gone.ticket;
  ::shutdown(gone.connection.get(), SHUT_RDWR);
  EXPECT_EQ(claim(launcher, spec, ticket).output, "");

  EXPECT_EQ(claim(launcher, spec, std::string(32, 'a')).status, Status::blocked);
  EXPECT_EQ(claim(launcher, spec, "").status, Status::blocked);
  EXPECT_EQ(claim(launcher, spec, "../../etc/passwd").status, Status::blocked);
}

TEST_F(ClientFilesTest, DoNotComeFromTheFront) {
  const LauncherUnderTest launcher(ceiling_);
  const CellSpec spec = shell("cat /p/in", {{.host = at("ann"), .inside = "/p"}});
  Claim asked{.tenant = "default", .spec = spec};
  asked.spec.call_id = plain_claim().spec.call_id;
  asked.spec.client.files[0].fd = 3;
  const Fd directory = open_path(at("ann"));
  for (const int bits : {0, int{kHasDirectory}, int{kHasConnection}}) {
    const auto flags = static_cast<std::uint8_t>(bits);
    const Fd connection = launcher.connect();
    send_claim(connection, *encode(asked), flags,
               flags == 0 ? std::vector<int>{} : std::vector<int>{directory.get()});
    const auto outcome = outcome_on(connection);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->status, Status::blocked);
    EXPECT_EQ(outcome->output, "");
  }
  // More descriptors than the claim has is no claim.
  const Fd connection = launcher.connect();
  const auto file = make_memory_file(*encode(asked));
  const int fds[] = {file->get(), directory.get()};
  PacketId id{};
  id[0] = 1;
  ASSERT_TRUE(send_packet(connection.get(), PacketKind::claim, kHasTicket, fds, id));
  EXPECT_FALSE(next_packet(connection));
}

// ---- A hostile client

TEST_F(ClientFilesTest, AreFilesAndDirectoriesOnly) {
  const LauncherUnderTest launcher(ceiling_);
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0666), 0);
  ASSERT_EQ(::mknod(at("null").c_str(), S_IFCHR | 0666, ::makedev(1, 3)), 0);
  ASSERT_EQ(::symlink("/etc", at("link").c_str()), 0);
  const std::string socket = launcher.path();
  for (const std::string& path : {at("fifo"), at("null"), at("link"), socket}) {
    std::vector<Fd> opened;
    opened.push_back(open_path(path));
    const Client client =
        send(launcher, kAnn, shell("true", {{.host = path, .inside = "/p"}}), opened);
    EXPECT_EQ(client.ticket, "") << path;
    EXPECT_THAT(client.refusal, HasSubstr("neither a file nor a directory")) << path;
  }
  // One that is open would be more than its rights tell.
  std::vector<Fd> opened;
  opened.push_back(open_path(at("ann"), O_RDONLY));
  EXPECT_THAT(
      send(launcher, kAnn, shell("true", {{.host = at("ann"), .inside = "/p"}}), opened).refusal,
      HasSubstr("O_PATH"));
  opened.clear();
  write("gone", "x", kAnn, 0644);
  opened.push_back(open_path(at("gone")));
  ::unlink(at("gone").c_str());
  EXPECT_THAT(
      send(launcher, kAnn, shell("true", {{.host = at("gone"), .inside = "/p"}}), opened).refusal,
      HasSubstr("not among the files"));
}

TEST_F(ClientFilesTest, AreNotOfTheKernelsOwnFileSystems) {
  const LauncherUnderTest launcher(ceiling_);
  for (const char* path : {"/proc", "/sys", "/proc/1", "/"}) {
    const Outcome outcome = run(launcher, kAnn, shell("ls /p", {{.host = path, .inside = "/p"}}));
    EXPECT_EQ(outcome.status, Status::blocked) << path << outcome.output;
    EXPECT_EQ(outcome.output, "") << path;
  }
}

TEST_F(ClientFilesTest, AreNotPlacedOverThePartsOfTheCell) {
  const LauncherUnderTest launcher(ceiling_);
  for (const char* inside :
       {"/", "/usr", "/proc", "/p/../etc", "p", "/etc", "/dev/x", "/usr/bin/sh", "/usr/local/bin",
        "/etc/ld.so.preload", "/bin/sh", "/lib/x", "/.scratch"}) {
    const Outcome outcome =
        run(launcher, kAnn, shell("true", {{.host = at("ann"), .inside = inside}}));
    EXPECT_EQ(outcome.status, Status::blocked) << inside;
  }
}

TEST_F(ClientFilesTest, AreShownBesideTheFilesOfTheToolAndNotInTheirPlace) {
  make_directory("granted", 0, 0755);
  const LauncherUnderTest launcher(
      ceiling_with("{ client: read, read: [" + at("granted") + ":/opt/app/lib] }"));
  for (const char* inside : {"/opt/app/lib", "/opt/app/lib/x", "/opt/app", "/opt"}) {
    CellSpec spec = shell("true", {{.host = at("ann"), .inside = inside}});
    spec.grants.push_back({.host = at("granted"), .inside = "/opt/app/lib"});
    const Outcome outcome = run(launcher, kAnn, spec);
    EXPECT_EQ(outcome.status, Status::blocked) << inside;
    EXPECT_THAT(outcome.message, HasSubstr("the tool has its own files there")) << inside;
  }
  CellSpec beside = shell("cat /opt/p/in", {{.host = at("ann"), .inside = "/opt/p"}});
  beside.grants.push_back({.host = at("granted"), .inside = "/opt/app/lib"});
  EXPECT_EQ(run(launcher, kAnn, beside).output, "of ann\n");
}

TEST_F(ClientFilesTest, AreForOneToolAndNoOther) {
  const LauncherUnderTest launcher(ceiling_with(
      "{ client: read }",
      "  other:\n    use: run_command\n    needs: [p]\n    commands: [sh]\n    limits: {timeout: "
      "2min}\n    environment: {LANG: other}\n    files: {client: read}\n"));
  CellSpec spec = shell("cat /p/in", {{.host = at("ann"), .inside = "/p"}});
  EXPECT_EQ(run(launcher, kAnn, spec).output, "of ann\n");
  const auto language =
      std::ranges::find(spec.environment, "LANG", &std::pair<std::string, std::string>::first);
  ASSERT_NE(language, spec.environment.end());
  language->second = "other";
  EXPECT_EQ(run(launcher, kAnn, spec).status, Status::blocked);
}

TEST_F(ClientFilesTest, AreRecordedByTheirRealNames) {
  const LauncherUnderTest launcher(ceiling_);
  make_directory("second", kAnn, 0755);
  const CellSpec spec = shell("true", {{.host = at("second"), .inside = "/p"}});
  std::vector<Fd> opened;
  opened.push_back(open_path(at("ann")));
  EXPECT_THAT(send(launcher, kAnn, spec, opened).refusal, HasSubstr("stands for"));
}

TEST_F(ClientFilesTest, DoNotShowWhatAMountCovers) {
  const LauncherUnderTest launcher(ceiling_);
  make_directory("ann/covered", kAnn, 0755);
  write("ann/covered/secret", "hidden", kAnn, 0644);
  const CellSpec spec =
      shell("cat /workspace/p/covered/secret", {{.host = at("ann"), .inside = "/workspace/p"}});
  EXPECT_EQ(run(launcher, kAnn, spec).output, "hidden") << "the twin";
  ASSERT_EQ(::mount("none", at("ann/covered").c_str(), "tmpfs", 0, nullptr), 0);
  const Outcome outcome = run(launcher, kAnn, spec);
  ASSERT_EQ(::umount(at("ann/covered").c_str()), 0);
  EXPECT_EQ(outcome.output, "");
  EXPECT_THAT(outcome.message, HasSubstr("mounted below"));
}

// A TCP connection with bytes that nobody reads, and whose end waits for them.
struct Lingering {
  explicit Lingering(int seconds) {
    const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* name = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener.get(), name, size), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener.get(), name, &size), 0);
    socket = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), name, size), 0);
    peer = Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const linger wait{.l_onoff = 1, .l_linger = seconds};
    EXPECT_EQ(::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof(wait)), 0);
    const std::string bytes(1 << 16, 'x');
    while (::send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
      ;
  }
  Fd socket, peer;
};

TEST_F(ClientFilesTest, ThatTakeLongToCloseHoldUpNobodyElse) {
  {
    Lingering twin(1);
    const auto before = std::chrono::steady_clock::now();
    twin.socket.reset();
    EXPECT_GT(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(500));
  }
  const LauncherUnderTest launcher(ceiling_);
  const CellSpec spec = shell("true", {{.host = at("ann"), .inside = "/p"}});
  std::vector<Client> held;
  for (std::size_t i = 0; i < Visitors::kMostOfOne; ++i) {
    held.push_back(show(launcher, kAnn, spec));
    EXPECT_NE(held.back().ticket, "");
  }
  Lingering lingering(1000);
  for (int i = 0; i < 100; ++i) {
    const auto file = make_memory_file(*encode(visit_of(spec)));
    const int fds[] = {file->get(), lingering.socket.get()};
    const ActAs act(kAnn);
    const Fd connection = launcher.connect_as_client();
    (void)send_packet(connection.get(), PacketKind::visit, 0, fds);
  }
  lingering.socket.reset();
  const Fd front = launcher.connect();
  ASSERT_TRUE(send_packet(front.get(), PacketKind::hello, 0, {}));
  pollfd answer{.fd = front.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&answer, 1, 30'000), 1) << "the launcher waits";
  // And those who have a place still have it.
  EXPECT_EQ(claim(launcher, spec, held.front().ticket).status, Status::success);
}

TEST_F(ClientFilesTest, OfAnotherMountNamespaceAreRefused) {
  const LauncherUnderTest launcher(ceiling_);
  make_directory("hidden", kAnn, 0755);
  for (const bool covered : {true, false}) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    const Fd ours(ends[0]), theirs(ends[1]);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::unshare(CLONE_NEWNS) != 0 ||
          ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        ::_exit(1);
      if (covered && ::mount("none", at("hidden").c_str(), "tmpfs", 0, nullptr) != 0) ::_exit(2);
      const Fd fd(::open(at("hidden").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      const int fds[] = {fd.get()};
      ::_exit(fd && send_packet(theirs.get(), PacketKind::outcome, 0, fds) ? 0 : 3);
    }
    auto packet = next_packet(ours);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(packet);
    const CellSpec spec = shell("ls /p", {{.host = at("hidden"), .inside = "/p"}});
    const Client client = send(launcher, kAnn, spec, packet->fds);
    if (client.ticket.empty()) continue;
    EXPECT_FALSE(covered);
    EXPECT_EQ(claim(launcher, spec, client.ticket).status, Status::blocked);
  }
}

TEST_F(ClientFilesTest, AreDescribedStrictly) {
  const LauncherUnderTest launcher(ceiling_);
  const CellSpec spec = shell("true", {{.host = at("ann"), .inside = "/p"}});
  std::vector<Fd> opened;
  opened.push_back(open_path(at("ann")));
  for (const std::string& bytes :
       {std::string(), std::string("garbage"), *encode(visit_of(spec)) + "x",
        std::string(*encode(visit_of(spec))).substr(1), std::string(2 << 20, 'x')}) {
    const Client client = send(launcher, kAnn, bytes, opened);
    EXPECT_EQ(client.ticket, "");
  }
  // As many descriptors as names.
  opened.push_back(open_path(at("ann")));
  EXPECT_EQ(send(launcher, kAnn, spec, opened).ticket, "");
  opened.clear();
  EXPECT_EQ(send(launcher, kAnn, spec, opened).ticket, "");
  // What is said is not what the front says.
  for (const PacketKind kind : {PacketKind::hello, PacketKind::pool, PacketKind::go}) {
    const Fd connection = launcher.connect_as_client();
    ASSERT_TRUE(send_packet(connection.get(), kind, 0, {}));
    const auto packet = next_packet(connection);
    EXPECT_TRUE(!packet || packet->kind == PacketKind::outcome);
  }
  const Fd connection = launcher.connect_as_client();
  const auto file = make_memory_file(*encode(plain_claim()));
  const int fds[] = {file->get()};
  ASSERT_TRUE(send_packet(connection.get(), PacketKind::claim, 0, fds));
  const auto packet = next_packet(connection);
  EXPECT_TRUE(!packet || packet->kind == PacketKind::outcome);
  EXPECT_EQ(run(launcher, kAnn, spec).status, Status::success) << "it still answers";
}

TEST_F(ClientFilesTest, OfOneUserDoNotKeepOthersOut) {
  const LauncherUnderTest launcher(ceiling_);
  const CellSpec spec = shell("cat /p/in", {{.host = at("ann"), .inside = "/p"}});
  std::vector<Client> waiting;
  for (int i = 0; i < 8; ++i) {
    waiting.push_back(show(launcher, kBob, spec));
    EXPECT_NE(waiting.back().ticket, "") << i;
  }
  const Client ninth = show(launcher, kBob, spec);
  EXPECT_EQ(ninth.ticket, "");
  EXPECT_EQ(run(launcher, kAnn, spec).output, "of ann\n");
  // Silence counts, too.
  std::vector<Fd> silent;
  {
    const ActAs act(kAnn);
    for (int i = 0; i < 20; ++i)
      silent.push_back(launcher.connect_as_client());
  }
  EXPECT_EQ(run(launcher, 0, shell("cat /p/in", {{.host = at("ann"), .inside = "/p"}}, 0)).status,
            Status::error)
      << "root is not ann, and may not read";
  waiting.clear();
  EXPECT_TRUE(eventually([&] { return show(launcher, kBob, spec).ticket != ""; }));
}

TEST_F(ClientFilesTest, AreNotShownWhereTheCeilingDeniesThem) {
  LaunchCeiling ceiling = ceiling_with("{ client: write }");
  auto denied = Glob::parse("**/.env");
  ASSERT_TRUE(denied);
  ceiling.denied.deny_files.push_back({"/**/.env", std::move(*denied)});
  const LauncherUnderTest launcher(ceiling);
  const CellSpec spec = shell("cat /p/.env", {{.host = at("ann"), .inside = "/p"}});
  write("ann/.env", "x\n", kAnn, 0644);
  const Outcome outcome = run(launcher, kAnn, spec);
  EXPECT_EQ(outcome.status, Status::blocked);
  EXPECT_THAT(outcome.message, HasSubstr("ceiling.files.deny"));
  ::unlink(at("ann/.env").c_str());
  EXPECT_EQ(run(launcher, kAnn, spec).status, Status::error) << "the twin: it is let run";
}

TEST_F(ClientFilesTest, OfALauncherWithoutRootAreItsOwnUsers) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setresgid(kAnn, kAnn, 0) != 0 ||
        ::setresuid(kAnn, kAnn, 0) != 0)
      ::_exit(1);
    const CellSpec spec =
        shell("cat /p/in && echo x > /p/out", {{.host = at("ann"), .inside = "/p", .write = true}});
    // The launcher is ann for good; its clients come as whom they like.
    const LauncherUnderTest launcher(ceiling_);
    std::vector<Fd> opened;
    opened.push_back(open_path(at("ann")));
    const auto file = make_memory_file(*encode(visit_of(spec)));
    const int fds[] = {file->get(), opened[0].get()};
    const Fd own = launcher.connect_as_client();
    if (!send_packet(own.get(), PacketKind::visit, 0, fds)) ::_exit(2);
    const auto packet = next_packet(own);
    if (!packet || packet->kind != PacketKind::ticket) ::_exit(3);
    if (claim(launcher, spec, in_hex(packet->id)).output != "of ann\n") ::_exit(4);
    if (::access(at("ann/out").c_str(), F_OK) != 0) ::_exit(5);
    if (::seteuid(0) != 0) ::_exit(6);
    const Fd other = launcher.connect_as_client();
    if (!send_packet(other.get(), PacketKind::visit, 0, fds)) ::_exit(7);
    const auto refused = next_packet(other);
    if (::seteuid(kAnn) != 0) ::_exit(8);
    ::_exit(refused && refused->kind == PacketKind::outcome ? 0 : 9);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace sallyport::test
