// Who a tool is, on the host and inside: nobody who owns anything, without privileges, and without
// a way to get any.
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "support/live_process.h"

namespace sallyport::test {
namespace {

using Words = std::vector<std::string>;

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

constexpr unsigned kFirstSlot = 0x70000000, kSlots = 65536;

// A cell that waits, and all its processes as the host numbers them: init, then the tool.
struct WaitingCell {
  explicit WaitingCell(As as, const Words& before = {})
      : process(before + Words{sallyport_path(), "run", "--timeout", "100s", "--", "sh", "-c",
                               "echo ready; exec sleep 1000"},
                as) {
    EXPECT_TRUE(process.says("ready"));
    members = descendants_of(process.pid());
    EXPECT_EQ(members.size(), 2u);
  }
  LiveProcess process;
  std::vector<pid_t> members;
};

// Real, effective, saved and file system id, which must be one and the same.
unsigned only_id(pid_t pid, const std::string& field) {
  std::istringstream line(status_of(pid, field));
  std::set<unsigned> ids;
  for (unsigned id = 0; line >> id;)
    ids.insert(id);
  EXPECT_EQ(ids.size(), 1u) << pid << " " << field;
  return ids.empty() ? 0 : *ids.begin();
}

class Identities : public CellTest {};
SALLYPORT_FOR_ROOT_AND_USER(Identities);

TEST_P(Identities, TheToolIsAnOrdinaryUserInside) {
  const Ran inside = run_cell(GetParam(), {"--", "id"});
  EXPECT_EQ(inside.out, "uid=1000(agent) gid=1000(agent) groups=1000(agent)\n");
  EXPECT_TRUE(attack_worked(probe_outside({"be-root"})));
  EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"be-root"})));
}

// CVE-2019-5736: code that runs as the owner of the launcher's files can change them.
TEST_P(Identities, TheToolIsNeverRootOnTheHost) {
  const WaitingCell cell(GetParam());
  for (const pid_t pid : cell.members) {
    const unsigned uid = only_id(pid, "Uid"), gid = only_id(pid, "Gid");
    if (GetParam() == As::root) {
      EXPECT_GE(uid, kFirstSlot);
      EXPECT_LT(uid, kFirstSlot + kSlots);
      EXPECT_EQ(gid, uid);
    } else {
      EXPECT_EQ(uid, kUserUid);
      EXPECT_EQ(gid, kUserGid);
    }
  }
  EXPECT_EQ(only_id(cell.process.pid(), "Uid"), GetParam() == As::root ? 0 : kUserUid);
}

TEST(RootsIdentities, NoTwoLiveCellsOfRootShareAUid) {
  std::set<unsigned> uids;
  std::vector<std::unique_ptr<WaitingCell>> cells;
  for (int i = 0; i < 4; ++i) {
    cells.push_back(std::make_unique<WaitingCell>(As::root));
    uids.insert(only_id(cells.back()->members.back(), "Uid"));
  }
  EXPECT_EQ(uids.size(), cells.size());
}

// ---- Privileges

TEST_P(Identities, NoProcessOfACellHasACapability) {
  EXPECT_TRUE(attack_worked(probe_outside({"hold-capability"})));
  EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"hold-capability"})));
  const WaitingCell cell(GetParam());
  for (const pid_t pid : cell.members) {
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"})
      EXPECT_EQ(status_of(pid, set), "0000000000000000") << pid << " " << set;
    EXPECT_EQ(status_of(pid, "NoNewPrivs"), "1");
    EXPECT_EQ(status_of(pid, "Seccomp"), "2");
  }
}

TEST_P(Identities, NoWayLeadsBackToPrivileges) {
  EXPECT_TRUE(attack_worked(probe_outside({"could-gain-capability"})));
  EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"could-gain-capability"})));
}

// A program that gives its user privileges, in a directory that a cell is shown.
class PrivilegedProgram {
 public:
  explicit PrivilegedProgram(As as) : directory_(as) {
    std::filesystem::copy_file(probe_path(), path());
    EXPECT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
  }
  [[nodiscard]] std::string path() const { return directory_ / "program"; }
  [[nodiscard]] Ran in_cell(As as, const std::string& attack) const {
    return run_cell(as,
                    {"--read", directory_.path() + ":/granted", "--", "/granted/program", attack});
  }

 private:
  TempDir directory_;
};

TEST_P(Identities, SetUidProgramsDoNotMakeRoot) {
  const PrivilegedProgram program(GetParam());
  ASSERT_EQ(::chmod(program.path().c_str(), 06755), 0);
  EXPECT_TRUE(attack_worked(run({program.path(), "be-root"}, RunOptions{.as = As::user})));
  EXPECT_TRUE(attack_refused(program.in_cell(GetParam(), "be-root")));
}

TEST_P(Identities, ProgramsWithCapabilitiesGiveNone) {
  const PrivilegedProgram program(GetParam());
  ASSERT_EQ(::chmod(program.path().c_str(), 0755), 0);
  vfs_cap_data capabilities{};
  capabilities.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE;
  capabilities.data[0].permitted = 1U << CAP_NET_RAW;
  ASSERT_EQ(
      ::setxattr(program.path().c_str(), "security.capability", &capabilities, XATTR_CAPS_SZ_2, 0),
      0);
  const Ran outside = run({program.path(), "hold-capability"}, RunOptions{.as = As::user});
  EXPECT_NE(outside.out.find("CapEff:\t0000000000002000"), std::string::npos) << outside.out;
  const Ran inside = program.in_cell(GetParam(), "hold-capability");
  EXPECT_TRUE(attack_refused(inside));
  EXPECT_NE(inside.out.find("CapEff:\t0000000000000000"), std::string::npos) << inside.out;
}

// The host's own.
TEST_P(Identities, SuDoesNotMakeRoot) {
  EXPECT_EQ(run({"su", "root", "-c", "id -u"}).out, "0\n");
  const Ran inside = run_cell(GetParam(), {"--", "su", "root", "-c", "id -u"});
  EXPECT_NE(inside.exit_code, 0);
  EXPECT_EQ(inside.out, "");
}

// ---- Groups

constexpr gid_t kOtherGroup = 43333;

TEST(RootsIdentities, RootDropsItsGroups) {
  const Words with_group = {"setpriv", "--groups", std::to_string(kOtherGroup)};
  const WaitingCell cell(As::root, with_group);
  const std::string inherited = std::to_string(kOtherGroup) + " ";
  EXPECT_EQ(status_of(cell.process.pid(), "Groups"), inherited);
  for (const pid_t pid : cell.members)
    EXPECT_EQ(status_of(pid, "Groups"), " ");
  const Ran inside = run(
      with_group + Words{sallyport_path(), "run", "--json", "--require", "groups", "--", "true"});
  EXPECT_EQ(inside.json().at("isolation").at("layers").at("groups"), "dropped");
}

// What cannot be dropped is said, and counts.
TEST(UsersIdentities, GroupsOfAnOrdinaryUserAreNamedAsInherited) {
  const TempDir directory;
  ASSERT_EQ(::chmod(directory.path().c_str(), 0755), 0);
  write_file(directory / "for-the-group", "seen", As::root, 0040);
  ASSERT_EQ(::chown((directory / "for-the-group").c_str(), 0, kOtherGroup), 0);
  const Words command = {"--read", directory.path() + ":/shared", "--", "cat",
                         "/shared/for-the-group"};
  const RunOptions member{.as = As::user, .groups = {kOtherGroup}};
  const RunOptions other{.as = As::user};

  const auto with = run_cell(Words{"--json"} + command, member).json();
  EXPECT_EQ(with.at("isolation").at("layers").at("groups"), "inherited");
  EXPECT_EQ(with.at("output"), "seen");
  const auto without = run_cell(Words{"--json"} + command, other).json();
  EXPECT_EQ(without.at("isolation").at("layers").at("groups"), "none");
  EXPECT_EQ(without.at("output"), "");
}

TEST(UsersIdentities, InheritedGroupsAreRefusedWhereNoneAreRequired) {
  const Words command = {"--json", "--require", "groups", "--", "echo", "ran"};
  const Ran refused = run_cell(command, RunOptions{.as = As::user, .groups = {kOtherGroup}});
  EXPECT_EQ(refused.exit_code, 125);
  const auto result = refused.json();
  EXPECT_EQ(result.at("status"), "blocked");
  EXPECT_EQ(result.at("reason"), "cannot_enforce");
  EXPECT_EQ(result.at("output"), "");
  EXPECT_EQ(run_cell(command, RunOptions{.as = As::user}).exit_code, 0);
}

// ---- Namespaces and sessions

TEST_P(Identities, EveryNamespaceIsTheCellsOwn) {
  for (const std::string name : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    SCOPED_TRACE(name);
    const std::string ours = run({"readlink", "/proc/self/ns/" + name}).out;
    EXPECT_EQ(run({"readlink", "/proc/self/ns/" + name}, RunOptions{.as = GetParam()}).out, ours);
    const Ran inside = run_cell(GetParam(), {"--", "readlink", "/proc/self/ns/" + name});
    EXPECT_TRUE(inside.out.starts_with(name + ":[")) << inside.out;
    EXPECT_NE(inside.out, ours);
  }
}

// A namespace belongs to the user namespace in which it was made. The tool's own is a later one, so
// even a capability in it would count for nothing in the others.
TEST_P(Identities, TheToolsUserNamespaceOwnsNoneOfTheOthers) {
  const WaitingCell cell(GetParam());
  const std::string tool = "/proc/" + std::to_string(cell.members.back()) + "/ns/";
  const auto user = std::filesystem::read_symlink(tool + "user");
  for (const std::string name : {"mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    SCOPED_TRACE(name);
    const Fd space(::open((tool + name).c_str(), O_RDONLY | O_CLOEXEC));
    const Fd owner(::ioctl(space.get(), _IO(0xb7, 0x1)));  // NS_GET_USERNS
    ASSERT_TRUE(owner);
    EXPECT_NE(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(owner.get())), user);
  }
}

TEST_P(Identities, TheToolHasASessionOfItsOwn) {
  const WaitingCell cell(GetParam());
  const pid_t tool = cell.members.back();
  EXPECT_EQ(::getsid(tool), tool);
  EXPECT_EQ(::getsid(cell.process.pid()), cell.process.pid());
}

// When memory runs out, the tool goes first and not its supervisor.
TEST_P(Identities, TheToolIsKilledBeforeSallyportWhenMemoryRunsOut) {
  const WaitingCell cell(GetParam());
  const auto score = [](pid_t pid) {
    return std::stoi(read_file("/proc/" + std::to_string(pid) + "/oom_score_adj"));
  };
  EXPECT_GT(score(cell.members.back()), score(cell.process.pid()));
}

TEST_P(Identities, CoreDumpsAreOff) {
  EXPECT_TRUE(attack_worked(probe_outside({"core-limit"}, GetParam())));
  EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"core-limit"})));
  EXPECT_EQ(run_cell(GetParam(), {"--", "sh", "-c", "ulimit -c; ulimit -Hc"}).out, "0\n0\n");
}

// ---- Looking into Sallyport's own processes

constexpr const char* kPrivate[] = {"exe",       "fd",    "environ", "maps",    "mem",
                                    "root",      "cwd",   "io",      "auxv",    "ns/net",
                                    "map_files", "smaps", "stack",   "syscall", "personality"};

TEST_P(Identities, InitShowsNothingOfTheLauncher) {
  LiveProcess victim({"sh", "-c", "echo ready; exec sleep 1000"}, GetParam());
  ASSERT_TRUE(victim.says("ready"));
  for (const std::string file : kPrivate) {
    SCOPED_TRACE(file);
    const std::string outside = std::to_string(victim.pid());
    // Even its owner may not read the kernel stack of a process.
    EXPECT_TRUE(attack_worked(
        probe_outside({"look-into", outside, file}, file == "stack" ? As::root : GetParam())));
    EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"look-into", "1", file})));
  }
  // The launcher's arguments and environment were on its stack.
  const Ran inside = run_cell({"--", "sh", "-c", "tr -d '\\0' < /proc/1/cmdline; cat /proc/1/comm"},
                              RunOptions{.as = GetParam(), .environment = {"SECRET=hunter2"}});
  EXPECT_EQ(inside.out, "sallyport-initsallyport-init\n");
}

// "/proc/1/environ of the in-sandbox init keeps the launcher's environment even with --clearenv"
TEST_P(Identities, NoProcessOfACellHoldsTheCallersEnvironment) {
  const auto environment_of = [](pid_t pid) {
    return read_file("/proc/" + std::to_string(pid) + "/environ");
  };
  ASSERT_EQ(::setenv("SALLYPORT_TEST_SECRET", "hunter2", 1), 0);
  const WaitingCell cell(GetParam());
  ::unsetenv("SALLYPORT_TEST_SECRET");
  EXPECT_NE(environment_of(cell.process.pid()).find("hunter2"), std::string::npos);
  for (const pid_t pid : cell.members)
    EXPECT_EQ(environment_of(pid).find("hunter2"), std::string::npos) << environment_of(pid);
}

// CVE-2019-5736. Outside, the program of a process is opened for writing by its owner.
TEST_P(Identities, TheProgramOfInitCannotBeOpenedForWriting) {
  const TempDir directory(GetParam());
  std::filesystem::copy_file("/usr/bin/sleep", directory / "sleep");
  if (GetParam() == As::user)
    ASSERT_EQ(::chown((directory / "sleep").c_str(), kUserUid, kUserGid), 0);
  LiveProcess victim({"sh", "-c", "echo ready; exec " + directory / "sleep" + " 1000"}, GetParam());
  ASSERT_TRUE(victim.says("ready"));
  const std::string pid = std::to_string(victim.pid());
  EXPECT_TRUE(
      eventually([&] { return probe_outside({"write-exe", pid}, GetParam()).exit_code == 0; }));
  EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"write-exe", "1"})));
}

// Another program of the same user could otherwise read what passes through it.
TEST(UsersIdentities, SallyportIsClosedToOtherProcessesOfItsUser) {
  LiveProcess victim({"sh", "-c", "echo ready; exec sleep 1000"}, As::user);
  ASSERT_TRUE(victim.says("ready"));
  const WaitingCell cell(As::user);
  const std::string open = std::to_string(victim.pid());
  const Words closed = {std::to_string(cell.process.pid()), std::to_string(cell.members.front())};
  for (const Words& attack :
       {Words{"look-into", "environ"}, Words{"look-into", "mem"}, Words{"look-into", "exe"},
        Words{"call:ptrace_seize"}, Words{"call:process_vm_readv"}, Words{"call:pidfd_getfd"}}) {
    const auto on = [&](const std::string& pid) {
      Words words = attack;
      words.insert(words.begin() + 1, pid);
      return probe_outside(words, As::user);
    };
    SCOPED_TRACE(attack[0] + " " + attack.back());
    EXPECT_TRUE(attack_worked(on(open)));
    for (const std::string& pid : closed)
      EXPECT_TRUE(attack_refused(on(pid))) << pid;
  }
}

}  // namespace
}  // namespace sallyport::test
