#include "kernel/landlock.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include <csignal>
#include <cstddef>

#include "kernel/child_fixture.h"
#include "kernel/privilege.h"

namespace sallyport {
namespace {

struct PathRule {
  std::string path;
  LandlockAccess access;
};

// Puts this process under the rules. Tests run as root, whom file modes do not stop: what is
// refused from here on Landlock refuses.
bool confine(std::initializer_list<PathRule> rules, int abi = landlock_abi()) {
  auto ruleset = LandlockRuleset::create(abi);
  if (!ok(ruleset)) return false;
  for (const PathRule& rule : rules)
    if (!ok(ruleset->allow(rule.path.c_str(), rule.access))) return false;
  return ok(set_no_new_privileges()) && ok(ruleset->restrict_self());
}

using enum LandlockAccess;

TEST(Landlock, IsThereAndNewEnough) {
  EXPECT_GE(landlock_abi(), kLandlockFloor);
  EXPECT_FALSE(landlock_covers_unix_sockets(8));
  EXPECT_TRUE(landlock_covers_unix_sockets(9));
}

TEST(Landlock, ClosesWhatNoRuleNames) {
  const SharedDirectory place;
  place.directory("open");
  place.directory("closed");
  place.file("open/file");
  place.file("closed/file");
  EXPECT_EQ(in_child([&]() -> std::string {
              CHILD_EXPECT(can_open(place / "closed/file", O_RDONLY));
              CHILD_EXPECT(confine({{place / "open", read}}));
              CHILD_EXPECT(can_open(place / "open/file", O_RDONLY));
              CHILD_EXPECT(!can_open(place / "closed/file", O_RDONLY) && errno == EACCES);
              CHILD_EXPECT(!can_open("/etc/passwd", O_RDONLY) && errno == EACCES);
              CHILD_EXPECT(!can_open("/", O_RDONLY | O_DIRECTORY) && errno == EACCES);
              return {};
            }),
            "");
}

TEST(Landlock, ReadMeansReadingAndExecutingAndNothingElse) {
  const SharedDirectory place;
  const std::string file = place.file("file");
  EXPECT_EQ(in_child([&]() -> std::string {
              CHILD_EXPECT(confine({{place.path(), read}, {"/usr", read}}));
              CHILD_EXPECT(can_open(file, O_RDONLY));
              CHILD_EXPECT(!can_open(file, O_WRONLY) && errno == EACCES);
              CHILD_EXPECT(!can_open(place / "new", O_WRONLY | O_CREAT) && errno == EACCES);
              CHILD_EXPECT(refused_with(EACCES, ::unlink(file.c_str())));
              CHILD_EXPECT(refused_with(EACCES, ::mkdir((place / "new").c_str(), 0755)));
              CHILD_EXPECT(refused_with(EACCES, ::symlink("/", (place / "new").c_str())));
              const pid_t child = ::fork();
              if (child == 0) {
                ::execl("/usr/bin/true", "true", nullptr);
                ::_exit(1);
              }
              int status = 1;
              CHILD_EXPECT(::waitpid(child, &status, 0) == child && status == 0);
              return {};
            }),
            "");
}

TEST(Landlock, ReadAndWriteMeansOrdinaryFilesAndNoDevices) {
  const SharedDirectory place;
  const std::string device = place / "device";
  const auto make_device = [&] { return ::mknod(device.c_str(), S_IFCHR | 0666, ::makedev(1, 3)); };
  EXPECT_EQ(in_child([&]() -> std::string {
              CHILD_EXPECT(make_device() == 0 && ::unlink(device.c_str()) == 0);
              CHILD_EXPECT(confine({{place.path(), read_write}}));
              CHILD_EXPECT(can_open(place / "new", O_RDWR | O_CREAT));
              CHILD_EXPECT(::mkdir((place / "directory").c_str(), 0755) == 0);
              CHILD_EXPECT(::mkfifo((place / "fifo").c_str(), 0644) == 0);
              CHILD_EXPECT(::unlink((place / "new").c_str()) == 0);
              CHILD_EXPECT(refused_with(EACCES, make_device()));
              return {};
            }),
            "");
}

TEST(Landlock, MovesFilesBetweenWritablePlacesOnly) {
  const SharedDirectory place;
  for (const char* name : {"a", "b", "shown"})
    place.directory(name);
  place.file("a/file");
  EXPECT_EQ(in_child([&]() -> std::string {
              CHILD_EXPECT(confine(
                  {{place / "a", read_write}, {place / "b", read_write}, {place / "shown", read}}));
              const auto move = [&](const char* from, const char* to) {
                return ::rename((place / from).c_str(), (place / to).c_str());
              };
              CHILD_EXPECT(move("a/file", "b/file") == 0);
              CHILD_EXPECT(refused_with(EACCES, move("b/file", "shown/file")));
              return {};
            }),
            "");
}

TEST(Landlock, ARuleForAFileIsForThatFileAlone) {
  const SharedDirectory place;
  const std::string one = place.file("one"), other = place.file("other");
  EXPECT_EQ(in_child([&]() -> std::string {
              CHILD_EXPECT(confine({{one, read_write}}));
              CHILD_EXPECT(can_open(one, O_RDWR | O_TRUNC));
              CHILD_EXPECT(!can_open(other, O_RDONLY) && errno == EACCES);
              return {};
            }),
            "");
}

// Otherwise whoever can write a link chooses what is opened.
TEST(Landlock, ARuleForASymlinkDoesNotOpenWhatItPointsTo) {
  const SharedDirectory place;
  place.directory("target");
  place.file("target/file");
  std::filesystem::create_directory_symlink(place / "target", place / "link");
  EXPECT_EQ(in_child([&]() -> std::string {
              CHILD_EXPECT(confine({{place / "link", read}}));
              CHILD_EXPECT(!can_open(place / "target/file", O_RDONLY) && errno == EACCES);
              CHILD_EXPECT(!can_open(place / "link/file", O_RDONLY) && errno == EACCES);
              return {};
            }),
            "");
}

TEST(Landlock, SaysWhichPathCannotBeRuled) {
  auto ruleset = LandlockRuleset::create(landlock_abi());
  ASSERT_TRUE(ruleset);
  const auto allowed = ruleset->allow("/none/such", read);
  ASSERT_FALSE(allowed);
  EXPECT_EQ(describe(allowed.error()), "open(/none/such): No such file or directory");
}

TEST(Landlock, TruncatingIsWriting) {
  const SharedDirectory place;
  const std::string file = place.file("file");
  EXPECT_EQ(in_child([&]() -> std::string {
              CHILD_EXPECT(confine({{place.path(), read}}));
              CHILD_EXPECT(refused_with(EACCES, ::truncate(file.c_str(), 0)));
              return {};
            }),
            "");
  EXPECT_EQ(std::filesystem::file_size(file), 7u);
}

// On an older kernel the newer rights are left out and the rest still holds.
TEST(Landlock, AnOlderAbiHandlesWhatItKnows) {
  const SharedDirectory place;
  const std::string file = place.file("file");
  EXPECT_EQ(in_child([&]() -> std::string {
              CHILD_EXPECT(confine({{place.path(), read}}, kLandlockFloor));
              CHILD_EXPECT(!can_open(file, O_WRONLY) && errno == EACCES);
              CHILD_EXPECT(!can_open("/etc/passwd", O_RDONLY) && errno == EACCES);
              CHILD_EXPECT(::truncate(file.c_str(), 0) == 0);
              CHILD_EXPECT(::kill(::getppid(), 0) == 0);
              return {};
            }),
            "");
}

TEST(Landlock, OnlyDevicesThatAreNamedTakeRequests) {
  EXPECT_EQ(in_child([]() -> std::string {
              CHILD_EXPECT(confine({{"/dev/null", device}, {"/dev/zero", read_write}}));
              const Fd named(::open("/dev/null", O_RDWR | O_CLOEXEC));
              const Fd other(::open("/dev/zero", O_RDWR | O_CLOEXEC));
              int size = 0;
              // "Inappropriate ioctl" is the device's own answer.
              CHILD_EXPECT(refused_with(ENOTTY, ::ioctl(named.get(), TIOCGWINSZ, &size)));
              CHILD_EXPECT(refused_with(EACCES, ::ioctl(other.get(), TIOCGWINSZ, &size)));
              return {};
            }),
            "");
}

TEST(Landlock, KeepsSignalsInside) {
  EXPECT_EQ(in_child([]() -> std::string {
              CHILD_EXPECT(::kill(::getppid(), 0) == 0);
              CHILD_EXPECT(confine({}));
              CHILD_EXPECT(refused_with(EPERM, ::kill(::getppid(), 0)));
              const pid_t child = ::fork();
              if (child == 0) {
                ::pause();
                ::_exit(0);
              }
              CHILD_EXPECT(::kill(child, SIGKILL) == 0);
              return {};
            }),
            "");
}

TEST(Landlock, KeepsAbstractSocketsInside) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "sallyport-unit-" + std::to_string(::getpid());
  name.copy(address.sun_path + 1, name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const Fd server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(server.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(server.get(), 4), 0);
  const auto connect = [&] {
    const Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), size);
  };
  EXPECT_EQ(in_child([&]() -> std::string {
              CHILD_EXPECT(connect() == 0);
              CHILD_EXPECT(confine({}));
              CHILD_EXPECT(refused_with(EPERM, connect()));
              return {};
            }),
            "");
}

}  // namespace
}  // namespace sallyport
