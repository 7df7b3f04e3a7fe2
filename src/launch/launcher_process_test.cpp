// A front that has been taken over speaks to the launcher: nothing here is ever run. What runs is
// in tests/integration/launcher_test.cpp.
#include "launch/launcher_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <random>

#include "launch/launcher_fixture.h"
#include "launch/remote_cell.h"
#include "tool/cell_call.h"

namespace sallyport {
namespace {

using test::LauncherUnderTest;
using test::next_packet;
using test::outcome_on;
using test::plain_claim;
using test::send_claim;
using testing::HasSubstr;
using testing::Not;

// Lets nothing through: no profile.
LaunchCeiling closed_ceiling() {
  LaunchCeiling ceiling;
  ceiling.uids["default"] = {};
  return ceiling;
}

// That one claim is refused is the sign that the launcher lives and reads.
void expect_it_answers(const LauncherUnderTest& launcher) {
  const Fd connection = launcher.connect();
  send_claim(connection, *encode(plain_claim()));
  const auto outcome = outcome_on(connection);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->status, Status::blocked);
  EXPECT_EQ(outcome->reason, Reason::cannot_enforce);
  EXPECT_EQ(outcome->call_id, plain_claim().spec.call_id);
  EXPECT_THAT(outcome->message, HasSubstr("profile 'default'"));
}

std::string refusal_of(const LauncherUnderTest& launcher, std::string_view bytes,
                       std::uint8_t flags = 0, std::vector<int> fds = {}) {
  const Fd connection = launcher.connect();
  send_claim(connection, bytes, flags, std::move(fds));
  const auto outcome = outcome_on(connection);
  if (!outcome) return "hung up";
  EXPECT_EQ(outcome->status, Status::blocked);
  EXPECT_EQ(outcome->reason, Reason::cannot_enforce);
  return outcome->message;
}

TEST(LauncherProcess, SaysWhatItRefuses) {
  const LauncherUnderTest launcher(closed_ceiling());
  expect_it_answers(launcher);
  EXPECT_THAT(refusal_of(launcher, ""), HasSubstr("these bytes are not a claim"));
  EXPECT_THAT(refusal_of(launcher, std::string(kLargestClaim + 1, 'x')),
              HasSubstr("File too large"));
}

TEST(LauncherProcess, OutlivesRandomPackets) {
  const LauncherUnderTest launcher(closed_ceiling());
  std::mt19937 random(4);
  for (int i = 0; i < 200; ++i) {
    const Fd connection = launcher.connect();
    std::string bytes(random() % 64, '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random());
    if (i % 2 == 0) bytes.insert(0, "SPK1\x01");
    ASSERT_GE(::send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
    EXPECT_FALSE(test::next_packet(connection)) << "it hangs up";
  }
  expect_it_answers(launcher);
}

TEST(LauncherProcess, OutlivesRandomAndTruncatedClaims) {
  const LauncherUnderTest launcher(closed_ceiling());
  const std::string whole = *encode(plain_claim());
  std::mt19937 random(5);
  for (int i = 0; i < 100; ++i) {
    std::string bytes = whole.substr(0, random() % whole.size());
    if (i % 2 == 0) {
      bytes = whole;
      for (int changes = 0; changes < 3; ++changes)
        bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    EXPECT_NE(refusal_of(launcher, bytes), "hung up");
  }
  expect_it_answers(launcher);
}

TEST(LauncherProcess, TakesAClaimOnlyFromASealedMemoryFile) {
  const LauncherUnderTest launcher(closed_ceiling());
  const auto refusal = [&](int fd) {
    const Fd connection = launcher.connect();
    const int fds[] = {fd};
    EXPECT_TRUE(send_packet(connection.get(), PacketKind::claim, 0, fds));
    const auto outcome = outcome_on(connection);
    return outcome ? outcome->message : "hung up";
  };
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd read_end(ends[0]), write_end(ends[1]);
  const Fd unsealed(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const std::string bytes = *encode(plain_claim());
  ASSERT_EQ(::write(unsealed.get(), bytes.data(), bytes.size()),
            static_cast<ssize_t>(bytes.size()));
  const Fd device(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  const Fd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const Fd directory(::open("/etc", O_RDONLY | O_CLOEXEC));
  const Fd name(::open("/etc/passwd", O_PATH | O_CLOEXEC));
  const Fd socket = launcher.connect();
  for (const Fd* fd :
       {&read_end, &write_end, &unsealed, &device, &file, &directory, &name, &socket})
    EXPECT_THAT(refusal(fd->get()), HasSubstr("its claim cannot be read")) << fd->get();
  expect_it_answers(launcher);
}

TEST(LauncherProcess, ClosesWhatItWasNotAskedToTake) {
  const LauncherUnderTest launcher(closed_ceiling());
  // More descriptors than a packet has, up to the kernel's most.
  for (const std::size_t count : {std::size_t{0}, std::size_t{2}, std::size_t{5}, std::size_t{250}})
    for (int i = 0; i < 20; ++i) {
      const Fd connection = launcher.connect();
      const auto file = make_memory_file(*encode(plain_claim()));
      const std::vector<int> fds(count, file->get());
      std::string header = "SPK1";
      header.append("\x01\0\0\0", 4);
      iovec text{.iov_base = header.data(), .iov_len = header.size()};
      std::vector<char> space(CMSG_SPACE(std::max<std::size_t>(count, 1) * sizeof(int)));
      msghdr message{};
      message.msg_iov = &text;
      message.msg_iovlen = 1;
      if (count != 0) {
        message.msg_control = space.data();
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        cmsghdr* rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(count * sizeof(int));
        std::memcpy(CMSG_DATA(rights), fds.data(), count * sizeof(int));
      }
      ASSERT_EQ(::sendmsg(connection.get(), &message, MSG_NOSIGNAL), 8);
      EXPECT_FALSE(test::next_packet(connection)) << count;
    }
  expect_it_answers(launcher);
  std::size_t open = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    struct stat there{};
    const std::string path =
        "/proc/" + std::to_string(launcher.pid()) + "/fd/" + std::to_string(fd);
    if (::lstat(path.c_str(), &there) == 0) ++open;
  }
  EXPECT_LT(open, 64U) << "what the test itself had open, and no more";
}

TEST(LauncherProcess, DropsTheOldestOfTooManyConnections) {
  const LauncherUnderTest launcher(closed_ceiling());
  std::vector<Fd> idle;
  for (int i = 0; i < 300; ++i)
    idle.push_back(launcher.connect());
  expect_it_answers(launcher);
  EXPECT_FALSE(test::next_packet(idle.front())) << "it was closed";
}

TEST(LauncherProcess, HearsNobodyButTheFront) {
  const LauncherUnderTest launcher(closed_ceiling(), ::geteuid() + 1);
  const Fd connection = launcher.connect();
  const auto file = make_memory_file(*encode(plain_claim()));
  const int fds[] = {file->get()};
  (void)send_packet(connection.get(), PacketKind::claim, 0, fds);
  EXPECT_FALSE(test::next_packet(connection));
  EXPECT_TRUE(launcher.alive());
}

TEST(LauncherProcess, TakesNothingButPipesAsStreams) {
  LaunchCeiling ceiling = closed_ceiling();
  ceiling.profiles = {"default"};
  const LauncherUnderTest launcher(ceiling);
  char name[] = "/tmp/sallyport-test-fifo.XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  const std::string fifo = std::string(name) + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd read_end(ends[0]), write_end(ends[1]);
  const Fd named(::open(fifo.c_str(), O_RDWR | O_CLOEXEC));
  const Fd path(::open(fifo.c_str(), O_PATH | O_CLOEXEC));
  const Fd file(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const Fd memory(::memfd_create("x", MFD_CLOEXEC));
  const Fd socket = launcher.connect();
  const std::string bytes = *encode(plain_claim());
  for (const Fd* fd : {&read_end, &named, &path, &file, &memory, &socket})
    for (const std::uint8_t flag : {kHasOutput, kHasError})
      EXPECT_THAT(refusal_of(launcher, bytes, flag, {fd->get()}),
                  HasSubstr("not the write end of a pipe"));
  EXPECT_THAT(refusal_of(launcher, bytes, kHasOutput | kHasError, {write_end.get(), named.get()}),
              HasSubstr("not the write end of a pipe"));
  ::unlink(fifo.c_str());
  ::rmdir(name);
}

TEST(LauncherProcess, WritesArtifactsNowhereButIntoDirectoriesOfTheFront) {
  LaunchCeiling ceiling = closed_ceiling();
  ceiling.profiles = {"default"};
  const LauncherUnderTest launcher(ceiling, ::geteuid());
  Claim claim = plain_claim();
  claim.spec.outputs = {"*"};
  const std::string bytes = *encode(claim);
  const Fd memory(::memfd_create("x", MFD_CLOEXEC));
  EXPECT_THAT(refusal_of(launcher, bytes, kHasDirectory, {memory.get()}), HasSubstr("is none"));
  EXPECT_THAT(refusal_of(launcher, bytes), HasSubstr("no directory"));
  if (::geteuid() != 0) return;
  char name[] = "/tmp/sallyport-test-foreign.XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  ASSERT_EQ(::chown(name, 12345, 12345), 0);
  const Fd foreign(::open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Fd by_path(::open(name, O_PATH | O_CLOEXEC));
  for (const Fd* fd : {&foreign, &by_path})
    EXPECT_THAT(refusal_of(launcher, bytes, kHasDirectory, {fd->get()}),
                HasSubstr("belongs to uid 12345"));
  ::rmdir(name);
}

TEST(LauncherProcess, GivesACellNothingButAConnectionAndOnlyToTheSqlTool) {
  LaunchCeiling ceiling = closed_ceiling();
  ceiling.profiles = {"default"};
  ceiling.connections = true;
  ceiling.program = "/proc/self/exe";
  const LauncherUnderTest launcher(ceiling, ::geteuid());
  Claim claim = plain_claim();
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const Fd near(pair[0]), far(pair[1]);
  EXPECT_THAT(refusal_of(launcher, *encode(claim), kHasConnection, {near.get()}),
              HasSubstr("only the sql tool"));
  claim.spec.command = sql_tool_command();
  const std::string bytes = *encode(claim);
  const Fd root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Fd path(::open("/", O_PATH | O_CLOEXEC));
  const Fd memory(::memfd_create("x", MFD_CLOEXEC));
  const Fd datagrams(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const Fd listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::listen(listening.get(), 1), 0);
  const Fd launcher_itself = launcher.connect();  // of packets
  const Fd alone(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (const Fd* fd : {&root, &path, &memory, &datagrams, &listening, &launcher_itself, &alone})
    EXPECT_THAT(refusal_of(launcher, bytes, kHasConnection, {fd->get()}), HasSubstr("is none"));
  // A connection passes; what runs then is another matter.
  const Fd connection = launcher.connect();
  send_claim(connection, bytes, kHasConnection, {near.get()});
  const auto outcome = outcome_on(connection);
  ASSERT_TRUE(outcome);
  EXPECT_THAT(outcome->message, Not(HasSubstr("the launcher refused")));

  const LauncherUnderTest without(closed_ceiling(), ::geteuid());
  EXPECT_THAT(refusal_of(without, bytes, kHasConnection, {near.get()}), HasSubstr("refused"));
}

TEST(LauncherProcess, SaysHelloToWhomeverGreetsIt) {
  LauncherUnderTest launcher(closed_ceiling());
  const Fd connection = launcher.connect();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(send_packet(connection.get(), PacketKind::hello, 0, {}));
    const auto packet = next_packet(connection);
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->kind, PacketKind::hello);
  }
  send_claim(connection, *encode(plain_claim()));
  EXPECT_TRUE(outcome_on(connection)) << "and takes its claim";
  // With something in its hand it is no greeting.
  const Fd other = launcher.connect();
  const int fd = other.get();
  ASSERT_TRUE(send_packet(other.get(), PacketKind::hello, 0, {&fd, 1}));
  EXPECT_FALSE(next_packet(other));
  // The end of the launcher is the end of the connection.
  const Fd last = launcher.connect();
  ASSERT_TRUE(send_packet(last.get(), PacketKind::hello, 0, {}));
  EXPECT_TRUE(next_packet(last));
  launcher.signal(SIGKILL);
  EXPECT_FALSE(next_packet(last));
}

TEST(LauncherProcess, EndsAtSigtermWhenNothingRuns) {
  LauncherUnderTest launcher(closed_ceiling());
  expect_it_answers(launcher);
  launcher.signal(SIGTERM);
  EXPECT_TRUE(launcher.has_stopped_accepting());
  EXPECT_EQ(launcher.wait(), 0);
}

TEST(LauncherProcess, IsWaitedForByTheClaimsThatCameWhileThereWasNone) {
  LauncherUnderTest launcher(closed_ceiling());
  launcher.signal(SIGKILL);
  EXPECT_EQ(launcher.wait(), 128 + SIGKILL);
  const Fd connection = launcher.connect();
  send_claim(connection, *encode(plain_claim()));
  launcher.start(closed_ceiling());
  const auto outcome = outcome_on(connection);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->status, Status::blocked);
}

TEST(RemoteCell, SaysThatNothingRanWhereThereIsNoLauncher) {
  const Outcome outcome =
      run_cell_remotely("/tmp/no-such-launcher", "default", plain_claim().spec, {});
  EXPECT_EQ(outcome.status, Status::blocked);
  EXPECT_EQ(outcome.reason, Reason::unavailable);
  EXPECT_EQ(outcome.call_id, plain_claim().spec.call_id);
  EXPECT_FALSE(outcome.hint.empty());
  EXPECT_EQ(run_cell_remotely(std::string(200, 'x'), "default", plain_claim().spec, {}).reason,
            Reason::unavailable);
}

TEST(RemoteCell, BringsTheLaunchersRefusalBack) {
  const LauncherUnderTest launcher(closed_ceiling());
  CellSpec spec = plain_claim().spec;
  const Outcome outcome = run_cell_remotely(launcher.path(), "default", spec, {});
  EXPECT_EQ(outcome.status, Status::blocked);
  EXPECT_EQ(outcome.reason, Reason::cannot_enforce);
  spec.use_stdin = true;
  EXPECT_EQ(run_cell_remotely(launcher.path(), "default", spec, {}).reason, Reason::cannot_enforce);
  spec.input = std::string(kLargestClaim, 'x');
  EXPECT_EQ(run_cell_remotely(launcher.path(), "default", spec, {}).status, Status::blocked);
}

// The connection waits in the queue of a launcher that does not come.
TEST(RemoteCell, IsEndedWhileItWaitsForALauncher) {
  LauncherUnderTest launcher(closed_ceiling());
  launcher.signal(SIGKILL);
  EXPECT_EQ(launcher.wait(), 128 + SIGKILL);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd cancel(ends[0]);
  Fd(ends[1]).reset();  // readable: its end
  const Outcome outcome =
      run_cell_remotely(launcher.path(), "default", plain_claim().spec, {.cancel = cancel.get()});
  EXPECT_EQ(outcome.status, Status::killed);
  EXPECT_EQ(outcome.reason, Reason::cancelled);
}

}  // namespace
}  // namespace sallyport
