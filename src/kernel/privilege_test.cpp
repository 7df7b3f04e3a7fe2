#include "kernel/privilege.h"

#include <grp.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <sstream>

#include "kernel/child_fixture.h"

namespace sallyport {
namespace {

constexpr uid_t kUid = 0x7123'4567;

// The bits of one of the Cap… lines of /proc/self/status, and whether there are any in all five.
std::string capabilities(const std::string& set) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(set + ":\t")) return line.substr(set.size() + 2);
  return {};
}

bool has_no_capability() {
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"})
    if (capabilities(set) != "0000000000000000") return false;
  return true;
}

// What a program that is started now prints.
std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "re"), ::pclose);
  std::string text;
  for (int byte; pipe && (byte = std::fgetc(pipe.get())) != EOF;)
    text.push_back(static_cast<char>(byte));
  return text;
}

TEST(Privilege, BecomingSomebodyLeavesNothingOfRootsIdentity) {
  EXPECT_EQ(in_child([]() -> std::string {
              const gid_t groups[] = {1, 2};
              CHILD_EXPECT(::setgroups(2, groups) == 0);
              CHILD_EXPECT(ok(become(kUid, kUid + 1)));
              uid_t uids[3];
              gid_t gids[3];
              CHILD_EXPECT(::getresuid(&uids[0], &uids[1], &uids[2]) == 0);
              CHILD_EXPECT(::getresgid(&gids[0], &gids[1], &gids[2]) == 0);
              for (int i = 0; i < 3; ++i)
                CHILD_EXPECT(uids[i] == kUid && gids[i] == kUid + 1);
              CHILD_EXPECT(::getgroups(0, nullptr) == 0);
              return {};
            }),
            "");
}

// The next step of a launch makes a user namespace, which some hosts keep for the privileged.
TEST(Privilege, BecomingSomebodyKeepsCapabilitiesUntilTheyAreDropped) {
  EXPECT_EQ(in_child([]() -> std::string {
              const std::string before = capabilities("CapEff");
              CHILD_EXPECT(ok(become(kUid, kUid)));
              CHILD_EXPECT(capabilities("CapEff") == before);
              CHILD_EXPECT(ok(drop_capabilities()));
              CHILD_EXPECT(has_no_capability());
              CHILD_EXPECT(refused_with(EPERM, ::setuid(0)));
              return {};
            }),
            "");
}

// "Capabilities from uid 0": without the locked bits, execve would give root all of them back.
TEST(Privilege, DroppedCapabilitiesDoNotComeBackWithExecve) {
  const std::string show = "grep CapEff /proc/self/status";
  EXPECT_EQ(in_child([&]() -> std::string {
              CHILD_EXPECT(output_of(show) != "CapEff:\t0000000000000000\n");
              CHILD_EXPECT(ok(drop_capabilities()));
              CHILD_EXPECT(::geteuid() == 0);
              CHILD_EXPECT(output_of(show) == "CapEff:\t0000000000000000\n");
              return {};
            }),
            "");
}

TEST(Privilege, TheRulesForCapabilitiesAreLocked) {
  EXPECT_EQ(
      in_child([]() -> std::string {
        CHILD_EXPECT(::prctl(PR_GET_SECUREBITS) == 0);
        CHILD_EXPECT(ok(drop_capabilities()));
        const int bits = ::prctl(PR_GET_SECUREBITS);
        for (const int bit : {SECBIT_NOROOT, SECBIT_NOROOT_LOCKED, SECBIT_NO_SETUID_FIXUP_LOCKED,
                              SECBIT_KEEP_CAPS_LOCKED, SECBIT_NO_CAP_AMBIENT_RAISE,
                              SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED})
          CHILD_EXPECT((bits & bit) != 0);
        CHILD_EXPECT((bits & SECBIT_KEEP_CAPS) == 0);
        CHILD_EXPECT(refused_with(EPERM, ::prctl(PR_SET_SECUREBITS, 0)));
        return {};
      }),
      "");
}

TEST(Privilege, NoNewPrivilegesMeansThatSetUidProgramsGiveNone) {
  const SharedDirectory place;
  const std::string program = place / "id";
  std::filesystem::copy_file("/usr/bin/id", program);
  ASSERT_EQ(::chmod(program.c_str(), 04755), 0);
  const std::string own = std::to_string(kUid) + "\n";
  EXPECT_EQ(in_child([&]() -> std::string {
              CHILD_EXPECT(ok(become(kUid, kUid)) && ok(drop_capabilities()));
              CHILD_EXPECT(output_of(program + " -u") == "0\n");
              CHILD_EXPECT(ok(set_no_new_privileges()));
              CHILD_EXPECT(output_of(program + " -u") == own);
              return {};
            }),
            "");
}

TEST(Privilege, WhoIsNotDumpableCannotBeLookedInto) {
  EXPECT_EQ(in_child([]() -> std::string {
              CHILD_EXPECT(ok(become(kUid, kUid)) && ok(drop_capabilities()));
              for (const bool dumpable : {true, false}) {
                int ready[2];
                CHILD_EXPECT(::pipe2(ready, O_CLOEXEC) == 0);
                const pid_t other = ::fork();
                if (other == 0) {
                  const bool done = ok(set_dumpable(dumpable));
                  static_cast<void>(!::write(ready[1], done ? "y" : "n", 1));
                  ::pause();
                  ::_exit(0);
                }
                char said = 0;
                CHILD_EXPECT(::read(ready[0], &said, 1) == 1 && said == 'y');
                const std::string path = "/proc/" + std::to_string(other) + "/environ";
                const bool seen = can_open(path, O_RDONLY);
                ::kill(other, SIGKILL);
                ::waitpid(other, nullptr, 0);
                CHILD_EXPECT(seen == dumpable);
              }
              return {};
            }),
            "");
}

// "Session keyring inherited from the launcher: tool reads the launcher's keys"
TEST(Privilege, ANewKeyringHasNoneOfTheOldKeys) {
  EXPECT_EQ(in_child([]() -> std::string {
              // Not the keyring of whoever runs the tests.
              CHILD_EXPECT(ok(join_new_keyring()));
              const auto find = [] {
                return ::syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user",
                                 "secret", 0);
              };
              CHILD_EXPECT(
                  ::syscall(SYS_add_key, "user", "secret", "x", 1, KEY_SPEC_SESSION_KEYRING) > 0);
              CHILD_EXPECT(find() > 0);
              CHILD_EXPECT(ok(join_new_keyring()));
              CHILD_EXPECT(refused_with(ENOKEY, find()));
              return {};
            }),
            "");
}

}  // namespace
}  // namespace sallyport
