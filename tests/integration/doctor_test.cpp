// `sallyport doctor` on hosts that lack something. What is lacking is made by the test in
// namespaces of its own, so that the verdict and the fix are those of the real kernel.
#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <thread>

#include "support/cell_runner.h"

namespace sallyport::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

const std::string kUserWords = "setpriv --reuid " + std::to_string(kUserUid) + " --regid " +
                               std::to_string(kUserGid) + " --clear-groups -- ";

Ran doctor(const RunOptions& options = {}) {
  return run({sallyport_path(), "doctor", "--json"}, options);
}

// In a mount namespace of its own, in which root first did `preparation`.
Ran doctor_after(const std::string& preparation, const std::string& prefix = "") {
  return run({"unshare", "--mount", "sh", "-ec",
              preparation + "; exec " + prefix + sallyport_path() + " doctor --json"});
}

struct Found {
  std::string verdict, found, fix;
};

Found check(const Ran& ran, std::string_view name) {
  const boost::json::object answer = ran.json();
  for (const boost::json::value& value : answer.at("checks").as_array()) {
    const boost::json::object& each = value.as_object();
    if (each.at("name").as_string() != name) continue;
    Found found{.verdict = std::string(each.at("verdict").as_string()),
                .found = std::string(each.at("found").as_string()),
                .fix = {}};
    if (each.contains("fix")) found.fix = std::string(each.at("fix").as_string());
    return found;
  }
  ADD_FAILURE() << "there is no check " << name << " in " << ran.out;
  return {};
}

std::vector<std::string> weaker_layers(const Ran& ran) {
  std::vector<std::string> names;
  for (const boost::json::value& name : ran.json().at("weaker").as_array())
    names.emplace_back(name.as_string());
  return names;
}

TEST(Doctor, RootHasTheStrongestCell) {
  const Ran ran = doctor();
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  const auto answer = ran.json();
  EXPECT_EQ(answer.at("verdict").as_string(), "strongest");
  EXPECT_EQ(answer.at("exit_code").as_int64(), 0);
  EXPECT_TRUE(weaker_layers(ran).empty());
  EXPECT_NE(answer.at("layers").as_object().at("cgroup").as_string(), "none");
  EXPECT_FALSE(answer.at("kernel").as_string().empty());
  for (const char* name : {"user namespaces", "seccomp", "Landlock", "/proc", "cgroup",
                           "idmapped mounts", "a whole cell"})
    EXPECT_EQ(check(ran, name).verdict, "good") << name << ": " << check(ran, name).found;
}

TEST(Doctor, AnOrdinaryUserHasCellsWithoutACgroup) {
  const Ran ran = doctor({.as = As::user});
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  EXPECT_EQ(ran.json().at("verdict").as_string(), "weaker");
  EXPECT_THAT(weaker_layers(ran), ElementsAre("cgroup", "memory"));
  EXPECT_EQ(check(ran, "cgroup").verdict, "weaker");
  EXPECT_NE(check(ran, "cgroup").fix, "");
  EXPECT_EQ(check(ran, "a whole cell").verdict, "good");
  EXPECT_EQ(check(ran, "idmapped mounts").verdict, "note");
}

TEST(Doctor, AUsersOtherGroupsAreNamedWithTheLineThatLetsThemBeDropped) {
  const Ran ran = doctor({.as = As::user, .groups = {kUserGid + 1}});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(weaker_layers(ran), ElementsAre("cgroup", "memory", "groups"));
  EXPECT_EQ(check(ran, "groups").verdict, "weaker");
  EXPECT_THAT(check(ran, "groups").fix, HasSubstr("echo " + std::to_string(kUserUid) + ":"));
  EXPECT_THAT(check(ran, "groups").fix, HasSubstr(":65536 >> /etc/subgid"));
}

TEST(Doctor, PeopleReadTheVerdictInTheLastLine) {
  const Ran root = run({sallyport_path(), "doctor"});
  EXPECT_EQ(root.exit_code, 0);
  EXPECT_THAT(root.out, AllOf(HasSubstr("  ok       kernel "), HasSubstr("In force in a cell\n"),
                              EndsWith("works here: every layer is in force.\n")));
  const Ran user = run({sallyport_path(), "doctor"}, {.as = As::user});
  EXPECT_EQ(user.exit_code, 1);
  EXPECT_THAT(user.out, AllOf(HasSubstr("\nTo mend"), HasSubstr("\n  1. cgroup\n"),
                              EndsWith("not in force: cgroup, memory.\n")));
  EXPECT_EQ(root.err + user.err, "");
}

TEST(Doctor, UserNamespacesTurnedOffAreFoundWithTheSettingThatTurnsThemOn) {
  const Ran ran = run(
      {"unshare", "--user", "--map-root-user", "sh", "-ec",
       "echo 0 > /proc/sys/user/max_user_namespaces; exec " + sallyport_path() + " doctor --json"},
      {.as = As::user});
  EXPECT_EQ(ran.exit_code, 2) << ran.out << ran.err;
  EXPECT_EQ(ran.json().at("verdict").as_string(), "none");
  EXPECT_TRUE(ran.json().at("layers").as_object().empty());
  const Found found = check(ran, "user namespaces");
  EXPECT_EQ(found.verdict, "missing");
  EXPECT_THAT(found.found, HasSubstr("user.max_user_namespaces is 0"));
  EXPECT_THAT(found.fix, AllOf(HasSubstr("user.max_user_namespaces=15000"), HasSubstr("sysctl")));
  EXPECT_THAT(check(ran, "a whole cell").found, HasSubstr("clone3"));
}

constexpr const char* kMaskProc =
    "mount --bind /proc/sys /proc/sys; mount --bind /dev/null /proc/version";

TEST(Doctor, AMaskedProcIsFoundWithTheContainersFlag) {
  const Ran ran = doctor_after(kMaskProc, kUserWords);
  EXPECT_EQ(ran.exit_code, 2) << ran.out << ran.err;
  const Found found = check(ran, "/proc");
  EXPECT_EQ(found.verdict, "missing");
  EXPECT_THAT(found.found, AllOf(HasSubstr("/proc/sys"), HasSubstr("/proc/version")));
  EXPECT_THAT(found.fix, HasSubstr(" run --security-opt "));
  EXPECT_THAT(found.fix,
              testing::AnyOf(HasSubstr("systempaths=unconfined"), HasSubstr("unmask=ALL")));
  EXPECT_THAT(found.fix, testing::Not(HasSubstr("seccomp=unconfined"))) << "it is not needed";
  EXPECT_THAT(check(ran, "a whole cell").found, HasSubstr("private proc"));
}

TEST(Doctor, AMaskedProcDoesNotTroubleRoot) {
  const Ran ran = doctor_after(kMaskProc);
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_EQ(check(ran, "/proc").verdict, "good");
}

TEST(Doctor, CgroupsThatAreNotMountedAreWeakerAndTheMountIsNamed) {
  const Ran ran = doctor_after("umount -R /sys/fs/cgroup");
  EXPECT_EQ(ran.exit_code, 1) << ran.out << ran.err;
  EXPECT_THAT(weaker_layers(ran), ElementsAre("cgroup", "memory"));
  EXPECT_EQ(check(ran, "cgroup").verdict, "weaker");
  EXPECT_THAT(check(ran, "cgroup").fix,
              AllOf(HasSubstr("mount -t cgroup"), HasSubstr("/sys/fs/cgroup")));
}

TEST(Doctor, RootWithoutItsCapabilitiesIsFound) {
  const Ran ran = run({"setpriv", "--bounding-set", "-sys_admin,-net_admin", "--", sallyport_path(),
                       "doctor", "--json"});
  EXPECT_EQ(ran.exit_code, 2) << ran.out << ran.err;
  EXPECT_EQ(check(ran, "launcher").verdict, "missing");
  EXPECT_THAT(check(ran, "launcher").found,
              AllOf(HasSubstr("CAP_SYS_ADMIN"), HasSubstr("CAP_NET_ADMIN")));
  EXPECT_NE(check(ran, "launcher").fix, "");
}

// As Docker's default profile answers a process without CAP_SYS_ADMIN. A filter holds the thread
// that asks for it and what that starts, so the other tests do not notice.
Ran doctor_under_docker_filter() {
  Ran ran;
  std::thread([&ran] {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_keyctl, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pivot_root, 2, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    const sock_fprog filter{.len = std::size(program), .filter = program};
    ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
    ran = doctor({.as = As::user});
  }).join();
  return ran;
}

TEST(Doctor, AContainersFilterIsFoundWithTheFlagThatLiftsIt) {
  const Ran ran = doctor_under_docker_filter();
  EXPECT_EQ(ran.exit_code, 2) << ran.out << ran.err;
  const Found container = check(ran, "container");
  EXPECT_EQ(container.verdict, "missing");
  EXPECT_THAT(container.found, HasSubstr("a seccomp filter refuses clone3, unshare, keyctl"));
  EXPECT_THAT(container.fix, HasSubstr(" run --security-opt seccomp=unconfined IMAGE"));
  EXPECT_EQ(check(ran, "user namespaces").fix, container.fix);
  EXPECT_EQ(check(ran, "Landlock").verdict, "good");
}

TEST(Doctor, AFileSystemWithoutIdmappedMountsIsNamedAndDoesNotChangeTheVerdict) {
  const Ran ran = doctor({.cwd = "/proc"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_EQ(check(ran, "idmapped mounts").verdict, "weaker");
  EXPECT_THAT(check(ran, "idmapped mounts").found, HasSubstr("/proc (proc)"));
}

TEST(Doctor, SallyportsOwnSettingsArePartOfWhatIsTried) {
  const Ran ran = doctor({.environment = {"SALLYPORT_UID_RANGE=nonsense"}});
  EXPECT_EQ(ran.exit_code, 2) << ran.out;
  EXPECT_THAT(check(ran, "a whole cell").found, HasSubstr("SALLYPORT_UID_RANGE"));
}

TEST(Doctor, AWrongRequestIsToldFromAHostWithoutCells) {
  EXPECT_EQ(run({sallyport_path(), "doctor", "--bogus"}).exit_code, 125);
  EXPECT_EQ(run({sallyport_path(), "doctor", "now"}).exit_code, 125);
  const Ran help = run({sallyport_path(), "doctor", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("Exit codes"));
}

}  // namespace
}  // namespace sallyport::test
