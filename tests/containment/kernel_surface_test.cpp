// What a cell may not ask of the kernel. Each call is made for real, in a cell and outside, where
// the same call goes through; the result of the cell names what was refused.
#include <sys/ioctl.h>
#include <termios.h>

#include <cstdlib>
#include <set>

#include "kernel/seccomp_names.h"
#include "kernel/seccomp_sets.h"
#include "support/live_process.h"

namespace sallyport::test {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kNotPermitted = "Operation not permitted";
constexpr const char* kNotImplemented = "Function not implemented";

// The names in limits_hit that stand for refused calls.
std::set<std::string> refused_calls(const boost::json::object& result) {
  std::set<std::string> names;
  for (const auto& hit : result.at("limits_hit").as_array())
    if (const std::string name(hit.as_string()); name.starts_with("syscall:"))
      names.insert(name.substr(8));
  return names;
}

class KernelSurface : public CellTest {
 protected:
  // Outside, root makes the call in namespaces of his own, where the mounts, names and interfaces
  // that some of the calls change are not the host's. What an ordinary user may do, he does.
  static Ran outside(const Words& attack, As as) {
    Words argv;
    if (as == As::root) argv = {"unshare", "--mount", "--uts", "--ipc", "--net"};
    argv.push_back(probe_path());
    argv.insert(argv.end(), attack.begin(), attack.end());
    const TempDir directory(as);
    return run(argv, RunOptions{.as = as, .cwd = directory.path()});
  }

  // In a cell the attack fails with `answer`, and `reported` is all that the result names.
  static void expect_refused_inside(const Words& attack, const std::set<std::string>& reported,
                                    const std::string& answer = kNotPermitted) {
    const Ran inside = probe_in_cell(GetParam(), attack, {"--json"});
    EXPECT_TRUE(attack_refused(inside));
    const auto result = inside.json();
    EXPECT_NE(result.at("output").as_string().find(answer), std::string::npos) << inside.out;
    EXPECT_EQ(refused_calls(result), reported);
  }

  struct Refusal {
    const char* call;
    As twin = As::root;
  };

  // Calls that are reported by their own name.
  static void expect_refused(std::initializer_list<Refusal> refusals,
                             const char* answer = kNotPermitted) {
    for (const Refusal& refusal : refusals) {
      SCOPED_TRACE(refusal.call);
      const Words attack = {std::string("call:") + refusal.call};
      EXPECT_TRUE(attack_worked(outside(attack, refusal.twin)));
      expect_refused_inside(attack, {refusal.call}, answer);
    }
  }
};
SALLYPORT_FOR_ROOT_AND_USER(KernelSurface);

// CVE-2022-0185, CVE-2023-0386, CVE-2024-1086: a user namespace opens the kernel to whoever makes
// one.
TEST_P(KernelSurface, NoNamespaceCanBeMadeOrEntered) {
  for (const std::string name : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"}) {
    SCOPED_TRACE(name);
    const As twin = name == "user" ? As::user : As::root;
    EXPECT_TRUE(attack_worked(outside({"call:unshare", name}, twin)));
    expect_refused_inside({"call:unshare", name}, {"unshare"});
    EXPECT_TRUE(attack_worked(outside({"call:setns", name}, As::root)));
    expect_refused_inside({"call:setns", name}, {"setns"});
    if (name == "time") continue;  // clone() has no flag for it
    EXPECT_TRUE(attack_worked(outside({"call:clone", name}, twin)));
    expect_refused_inside({"call:clone", name}, {"clone"});
  }
}

// Their flags and modes lie in memory, where no filter can see them. Every libc asks for clone3
// before anything else, so that is not worth a report.
TEST_P(KernelSurface, CallsWithHiddenArgumentsDoNotExist) {
  for (const std::string name : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"}) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(attack_worked(outside({"call:clone3", name}, As::root)));
    expect_refused_inside({"call:clone3", name}, {}, kNotImplemented);
  }
  EXPECT_TRUE(attack_worked(outside({"call:openat2"}, As::user)));
  expect_refused_inside({"call:openat2"}, {}, kNotImplemented);
}

TEST_P(KernelSurface, TheMountTreeCannotBeTouched) {
  expect_refused({{"mount"},
                  {"umount2"},
                  {"pivot_root"},
                  {"chroot"},
                  {"fsopen"},
                  {"fsconfig"},
                  {"fsmount"},
                  {"fspick"},
                  {"open_tree"},
                  {"open_tree_attr"},
                  {"move_mount"},
                  {"mount_setattr"},
                  {"statmount"},
                  {"listmount", As::user}});
}

// "Shocker": open_by_handle_at names files without a path, and so without a root.
TEST_P(KernelSurface, FilesCannotBeReachedWithoutPaths) {
  expect_refused({{"name_to_handle_at", As::user},
                  {"open_by_handle_at"},
                  {"fanotify_init"},
                  {"fanotify_mark"}});
}

TEST_P(KernelSurface, KeyringsAreOutOfReach) {
  expect_refused({{"add_key", As::user}, {"request_key", As::user}, {"keyctl", As::user}});
}

// A process of the same uid that is not the attacker's own: outside the kernel agrees.
constexpr struct {
  const char* attack;
  const char* call;
} kOnProcesses[] = {{"call:ptrace_attach", "ptrace"},
                    {"call:ptrace_seize", "ptrace"},
                    {"call:process_vm_readv", "process_vm_readv"},
                    {"call:process_vm_writev", "process_vm_writev"},
                    {"call:pidfd_getfd", "pidfd_getfd"},
                    {"call:kcmp", "kcmp"},
                    {"call:move_pages", "move_pages"},
                    {"call:migrate_pages", "migrate_pages"}};

// "ptrace / process_vm of the in-sandbox init (same uid)": code would run in a process with other
// descriptors.
TEST_P(KernelSurface, TheCellsInitCannotBeTouched) {
  LiveProcess victim({"sh", "-c", "echo ready; exec sleep 1000"}, GetParam());
  ASSERT_TRUE(victim.says("ready"));
  for (const auto& [attack, call] : kOnProcesses) {
    SCOPED_TRACE(attack);
    EXPECT_TRUE(attack_worked(probe_outside({attack, std::to_string(victim.pid())}, GetParam())));
    expect_refused_inside({attack, "1"}, {call});
  }
}

TEST_P(KernelSurface, ASiblingInTheSameCellCannotBeTouched) {
  for (const auto& [attack, call] : kOnProcesses) {
    SCOPED_TRACE(attack);
    const std::string script =
        std::string("sleep 1000 & exec ") + probe_inside() + " " + attack + " $!";
    Words args = {"--json"};
    for (const std::string& word : probe_grant())
      args.push_back(word);
    args.insert(args.end(), {"--", "sh", "-c", script});
    const Ran inside = run_cell(GetParam(), args);
    EXPECT_TRUE(attack_refused(inside));
    EXPECT_EQ(refused_calls(inside.json()), std::set<std::string>{call});
  }
}

TEST_P(KernelSurface, NobodyIsTraced) {
  EXPECT_TRUE(attack_worked(probe_outside({"call:ptrace_traceme"}, As::user)));
  expect_refused_inside({"call:ptrace_traceme"}, {"ptrace"});
  expect_refused({{"process_madvise", As::user}, {"process_mrelease", As::user}});
}

TEST_P(KernelSurface, NoCodeEntersTheKernel) {
  expect_refused({{"bpf"},
                  {"perf_event_open"},
                  {"userfaultfd", As::user},
                  {"modify_ldt", As::user},
                  {"init_module"},
                  {"finit_module"},
                  {"delete_module"},
                  {"kexec_load"},
                  {"kexec_file_load"}});
}

// Rings carry out opens and connects that no filter sees.
TEST_P(KernelSurface, RequestRingsAndOddMemoryDoNotExist) {
  expect_refused({{"io_uring_setup", As::user},
                  {"io_setup", As::user},
                  {"memfd_secret", As::user},
                  {"vmsplice", As::user}},
                 kNotImplemented);
}

TEST_P(KernelSurface, TheMachineCannotBeAdministered) {
  expect_refused({{"reboot"},
                  {"swapon"},
                  {"swapoff"},
                  {"acct"},
                  {"quotactl", As::user},
                  {"quotactl_fd", As::user},
                  {"settimeofday"},
                  {"clock_settime"},
                  {"clock_adjtime", As::user},
                  {"adjtimex", As::user},
                  {"sethostname"},
                  {"setdomainname"},
                  {"iopl"},
                  {"ioperm"},
                  {"syslog"}});
}

TEST_P(KernelSurface, ProtectionsCannotBeTurnedOff) {
  expect_refused({{"seccomp", As::user}, {"personality", As::user}});
  for (const std::string attack : {"call:prctl_seccomp", "call:prctl_mm"}) {
    SCOPED_TRACE(attack);
    EXPECT_TRUE(attack_worked(outside({attack}, As::user)));
    expect_refused_inside({attack}, {"prctl"});
  }
}

// "setuid / device drop into the shared workspace": nosuid and nodev bind only the cell's own view.
TEST_P(KernelSurface, SetIdFilesAndDevicesCannotBeMade) {
  for (const std::string call : {"chmod", "fchmod", "fchmodat", "open", "openat", "creat", "mkdir",
                                 "mkdirat", "mknod", "mknodat"}) {
    SCOPED_TRACE(call);
    EXPECT_TRUE(attack_worked(outside({"call:set-id", call}, As::user)));
    expect_refused_inside({"call:set-id", call}, {call});
  }
  for (const std::string kind : {"99", "98"}) {  // 'c' and 'b'
    EXPECT_TRUE(attack_worked(outside({"call:device", kind}, As::root)));
    expect_refused_inside({"call:device", kind}, {"mknod"});
  }
}

// The calls above have twins; here is the whole list, with arguments that mean nothing.
TEST_P(KernelSurface, EveryRefusedCallIsReportedByItsName) {
  const auto sweep = [](int error, std::initializer_list<std::span<const int>> sets) {
    Words attack = {"call:numbers", std::to_string(error)};
    std::set<std::string> names;
    for (const auto set : sets)
      for (const int number : set) {
        attack.push_back(std::to_string(number));
        names.emplace(call_names()[static_cast<std::size_t>(number)]);
      }
    EXPECT_TRUE(attack_worked(outside(attack, As::user)));
    expect_refused_inside(attack, names, "");
  };
  sweep(EPERM, {sets::kMounts, sets::kNamespaces, sets::kOtherProcesses, sets::kKernelCode,
                sets::kKeyrings, sets::kFilesWithoutPaths, sets::kMachine, sets::kOwnFilters});
  sweep(ENOSYS, {sets::kRequestRings, sets::kOddMemory, sets::kNotNeededYet, sets::kObsolete});
}

// "deny-list seccomp misses new syscalls": numbers that mean nothing yet are refused already.
// Outside they are unknown to the kernel too, so the report is what shows that the filter answered.
TEST_P(KernelSurface, UnknownCallsDoNotExist) {
  for (const std::string number : {"600", "1023", "1024", "70000", "0x3fffffff"}) {
    SCOPED_TRACE(number);
    const auto name = "syscall " + std::to_string(std::strtol(number.c_str(), nullptr, 0));
    expect_refused_inside({"call:numbers", std::to_string(ENOSYS), number}, {name}, "");
  }
}

// In the same process, other numbers for the same calls: 20 is getpid, 21 mount, 310 unshare.
TEST_P(KernelSurface, ThirtyTwoBitCallsDoNotExist) {
  EXPECT_TRUE(attack_worked(outside({"call:i386", "20"}, As::user)));
  for (const std::string number : {"20", "21", "310"}) {
    SCOPED_TRACE(number);
    expect_refused_inside({"call:i386", number}, {"i386 syscall " + number}, kNotImplemented);
  }
}

// No twin where the kernel was built without x32; the report shows that ours was the first refusal.
TEST_P(KernelSurface, X32CallsDoNotExist) {
  expect_refused_inside({"call:x32"}, {"x32 syscall 39"}, kNotImplemented);
}

TEST_P(KernelSurface, AThousandRefusalsAreCountedAndOneMoreEndsTheCell) {
  EXPECT_TRUE(attack_worked(probe_outside({"refusal-flood", "100000"})));
  const Ran patient = probe_in_cell(GetParam(), {"refusal-flood", "1000"}, {"--json"});
  EXPECT_EQ(patient.exit_code, 0) << patient.err;
  EXPECT_EQ(patient.json().at("refused_syscalls").at("personality").to_number<int>(), 1000);

  for (const std::string count : {"1001", "100000"}) {
    const Ran killed = probe_in_cell(GetParam(), {"refusal-flood", count}, {"--json"});
    EXPECT_EQ(killed.exit_code, 137);
    const auto result = killed.json();
    EXPECT_EQ(result.at("status"), "killed");
    EXPECT_EQ(result.at("reason"), "syscall");
    EXPECT_EQ(refused_calls(result), std::set<std::string>{"personality"});
    // The kill takes a moment, in which it goes on.
    const int refused = result.at("refused_syscalls").at("personality").to_number<int>();
    EXPECT_GT(refused, 1000);
    EXPECT_LT(refused, 100000);
  }
}

// Mounts and the filter would refuse most of what Landlock refuses; that it is there at all shows
// in the room that is left for more of it.
TEST_P(KernelSurface, LandlockIsInForceBelowTheMounts) {
  const Ran outside = probe_outside({"landlock-layers"}, As::user);
  EXPECT_TRUE(attack_worked(outside));
  EXPECT_EQ(outside.out, "16 layers of Landlock could be added\n");
  const Ran inside = probe_in_cell(GetParam(), {"landlock-layers"});
  EXPECT_TRUE(attack_refused(inside));
  EXPECT_EQ(inside.out, "15 layers of Landlock could be added\n");
}

// ---- The caller's terminal

// Input appears in it at once, as it was typed.
class Terminal {
 public:
  Terminal() {
    master_ = Fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    EXPECT_TRUE(master_ && ::unlockpt(master_.get()) == 0);
    slave_ = Fd(::open(::ptsname(master_.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
    termios mode{};
    EXPECT_EQ(::tcgetattr(slave_.get(), &mode), 0);
    ::cfmakeraw(&mode);
    EXPECT_EQ(::tcsetattr(slave_.get(), TCSANOW, &mode), 0);
  }
  [[nodiscard]] int slave() const { return slave_.get(); }
  // How many keys wait to be read by whoever has the terminal; they are then taken away.
  [[nodiscard]] int take_typed() const {
    int count = -1;
    EXPECT_EQ(::ioctl(slave_.get(), FIONREAD, &count), 0);
    EXPECT_EQ(::tcflush(slave_.get(), TCIFLUSH), 0);
    return count;
  }

 private:
  Fd master_, slave_;
};

constexpr const char* kHighBits[] = {"0", "0x100000000"};

// CVE-2017-5226, and CVE-2019-10063 with a bit above the 32 that the kernel looks at.
TEST_P(KernelSurface, NothingCanBeTypedIntoTheCallersTerminal) {
  const Terminal terminal;
  for (const std::string high : kHighBits) {
    LiveProcess twin({probe_path(), "call:tiocsti", "0", high}, As::root, terminal.slave());
    EXPECT_EQ(twin.wait(), 0);
    EXPECT_EQ(terminal.take_typed(), 1);
    EXPECT_TRUE(attack_worked(run({probe_path(), "call:tioclinux", "0", high})));
  }

  for (const bool with_stdin : {false, true}) {
    const TempDir results(GetParam());
    Words args = probe_grant();
    if (with_stdin) args.push_back("--stdin");
    args.insert(args.end(), {"--result-file", results / "result", "--", "sh", "-c"});
    args.push_back(
        "for attack in tiocsti tioclinux; do for fd in 0 1 2; do "
        "for high in 0 0x100000000; do " +
        probe_inside() + " call:$attack $fd $high; [ $? = 1 ] || exit 9; " + "done; done; done");
    LiveProcess cell = start_cell(GetParam(), args, terminal.slave());
    EXPECT_EQ(cell.wait(), 0);
    EXPECT_EQ(terminal.take_typed(), 0);
    const auto result = boost::json::parse(read_file(results / "result")).as_object();
    EXPECT_EQ(refused_calls(result), std::set<std::string>{"ioctl"});
    EXPECT_EQ(result.at("refused_syscalls").at("ioctl").to_number<int>(), 12);
  }
}

TEST_P(KernelSurface, TheToolHasNoTerminal) {
  const Terminal terminal;
  // Field 7 of stat is the controlling terminal.
  const std::string script =
      "test -t 0 || test -t 1 || test -t 2 || true < /dev/tty || "
      "test \"$(cut -d ' ' -f 7 /proc/self/stat)\" != 0";
  for (const std::string has : {"test -t 0", "test -t 1", "test -t 2", "true < /dev/tty",
                                "test \"$(cut -d ' ' -f 7 /proc/self/stat)\" != 0"}) {
    LiveProcess twin({"sh", "-c", has}, GetParam(), terminal.slave());
    EXPECT_EQ(twin.wait(), 0) << has;
  }
  LiveProcess cell =
      start_cell(GetParam(), {"--stdin", "--", "sh", "-c", script}, terminal.slave());
  EXPECT_EQ(cell.wait(), 1);
}

}  // namespace
}  // namespace sallyport::test
