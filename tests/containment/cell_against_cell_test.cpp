// Two cells of one launcher, at the same time or one after the other, know nothing of each other.
#include "support/live_process.h"

namespace sallyport::test {
namespace {

using Words = std::vector<std::string>;

// What one process leaves and another finds by a name that both know.
constexpr const char* kThings[] = {"shm", "sem", "msg", "abstract", "tcp", "dev-shm", "tmp"};

// Also a port that nobody else uses: below the range from which the kernel takes them.
std::string unique_number() {
  static int count = 0;
  return std::to_string(20000 + ::getpid() % 1000 * 10 + ++count % 10);
}

// Unix sockets are allowed only where no tree of the host is shown, so the probe comes as a copy.
Words with_probe_copy(const std::string& line) {
  return {"--timeout", "100s", "--in", probe_path() + ":probe",
          "--",        "sh",   "-c",   "chmod +x probe && ./probe " + line};
}

class CellAgainstCell : public CellTest {
 protected:
  // System V IPC is memory that only a cgroup counts; without one a cell has none of it.
  static bool may_make(const std::string& thing) {
    const auto result = run_cell(GetParam(), {"--json", "--", "true"}).json();
    const bool counted = result.at("isolation").at("layers").at("cgroup") != "none";
    return counted || (thing != "shm" && thing != "sem" && thing != "msg");
  }
  static Ran in_cell(const std::string& line) {
    return run_cell(GetParam(), with_probe_copy(line));
  }
};
SALLYPORT_FOR_ROOT_AND_USER(CellAgainstCell);

// "Cross-call / cross-tenant leftovers: /tmp, /dev/shm, loopback ports, abstract sockets"
TEST_P(CellAgainstCell, WhatALiveCellHoldsIsNotInAnother) {
  for (const std::string thing : kThings) {
    SCOPED_TRACE(thing);
    const std::string number = unique_number();
    const std::string hold = "hold " + thing + " " + number, find = "find " + thing + " " + number;
    {
      LiveProcess holder({probe_path(), "hold", thing, number}, GetParam());
      ASSERT_TRUE(holder.says("ready"));
      EXPECT_TRUE(attack_worked(probe_outside({"find", thing, number}, GetParam())));
      // Nor does a cell find what the host has.
      EXPECT_TRUE(attack_refused(in_cell(find)));
      holder.signal(SIGTERM);
      EXPECT_EQ(holder.wait(), 0);
    }
    if (!may_make(thing)) {
      EXPECT_TRUE(attack_refused(in_cell(hold)));
      continue;
    }
    LiveProcess holder = start_cell(GetParam(), with_probe_copy(hold));
    ASSERT_TRUE(holder.says("ready"));
    EXPECT_TRUE(attack_refused(in_cell(find)));
    EXPECT_TRUE(attack_refused(probe_outside({"find", thing, number})));
    EXPECT_TRUE(holder.alive());
  }
}

// Segments, queues and files outlive whoever made them; a cell's do not outlive the cell.
TEST_P(CellAgainstCell, WhatACellLeavesIsNotInTheNext) {
  for (const std::string thing : {"shm", "sem", "msg", "dev-shm", "tmp"}) {
    SCOPED_TRACE(thing);
    const std::string number = unique_number();
    const std::string leave = "leave " + thing + " " + number;
    const std::string find = "find " + thing + " " + number;
    if (!may_make(thing)) {
      EXPECT_TRUE(attack_refused(in_cell(leave)));
      continue;
    }
    // One cell for both is the twin.
    EXPECT_TRUE(attack_worked(in_cell(leave + " && ./probe " + find)));
    EXPECT_TRUE(attack_worked(in_cell(leave)));
    EXPECT_TRUE(attack_refused(in_cell(find)));
    EXPECT_TRUE(attack_refused(probe_outside({"find", thing, number})));
  }
}

// No path of a cell leads to its message queues, so Landlock may keep it from opening even its own;
// whether one is there shows in the errno.
TEST_P(CellAgainstCell, MessageQueuesOfOthersAreNotThere) {
  constexpr const char* kAbsent = "mq: No such file or directory\n";
  const std::string number = unique_number();
  LiveProcess outside({probe_path(), "hold", "mq", number}, GetParam());
  ASSERT_TRUE(outside.says("ready"));
  EXPECT_TRUE(attack_worked(probe_outside({"find", "mq", number}, GetParam())));
  EXPECT_EQ(probe_in_cell(GetParam(), {"find", "mq", number}).out, kAbsent);
  outside.signal(SIGTERM);
  EXPECT_EQ(outside.wait(), 0);

  const std::string probe = probe_inside();
  Words args = probe_grant();
  args.insert(args.end(), {"--timeout", "100s", "--", "sh", "-c"});
  args.push_back(probe + " leave mq " + number + "; " + probe + " find mq " + number +
                 "; echo ready; exec sleep 1000");
  LiveProcess holder = start_cell(GetParam(), args);
  ASSERT_TRUE(holder.says("ready"));
  EXPECT_EQ(holder.said().find(kAbsent), std::string::npos) << holder.said();
  EXPECT_EQ(probe_in_cell(GetParam(), {"find", "mq", number}).out, kAbsent);
  EXPECT_EQ(probe_outside({"find", "mq", number}).out, kAbsent);
}

// A cell that waits and can be hurt.
class Victim {
 public:
  explicit Victim(As as)
      : cell_(start_cell(as,
                         {"--timeout", "100s", "--", "sh", "-c", "echo ready; exec sleep 1000"})) {
    EXPECT_TRUE(cell_.says("ready"));
    members_ = descendants_of(cell_.pid());
    EXPECT_EQ(members_.size(), 2u);
  }
  [[nodiscard]] const std::vector<pid_t>& members() const { return members_; }
  [[nodiscard]] bool unharmed() const {
    return cell_.alive() && descendants_of(cell_.pid()) == members_;
  }

 private:
  LiveProcess cell_;
  std::vector<pid_t> members_;
};

TEST_P(CellAgainstCell, AProcessOfAnotherCellCannotBeSignalled) {
  const Victim victim(GetParam());
  for (const pid_t pid : victim.members()) {
    const Words attack = {"signal", std::to_string(pid), "0"};
    EXPECT_TRUE(attack_worked(probe_outside(attack, GetParam())));
    EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), attack)));
  }
  // Everybody, and every number that could be somebody in a small namespace.
  static_cast<void>(
      run_cell(GetParam(), {"--", "sh", "-c", "for pid in $(seq 3 50) -1; do kill -9 $pid; done"}));
  EXPECT_TRUE(victim.unharmed());
}

TEST_P(CellAgainstCell, AProcessOfAnotherCellCannotBeLookedInto) {
  const Victim victim(GetParam());
  const std::string tool = std::to_string(victim.members().back());
  for (const Words& attack : {Words{"look-into", tool, "cmdline"},
                              Words{"look-into", tool, "environ"}, Words{"look-into", tool, "root"},
                              Words{"call:pidfd_getfd", tool}, Words{"call:process_vm_readv", tool},
                              Words{"call:kcmp", tool}, Words{"call:ptrace_seize", tool}}) {
    SCOPED_TRACE(attack[0]);
    EXPECT_TRUE(attack_worked(probe_outside(attack)));
    EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), attack)));
  }
  EXPECT_TRUE(victim.unharmed());
}

// Keys are kept by uid, and an ordinary user's cells share that.
TEST_P(CellAgainstCell, KeysCannotBeUsedToTalk) {
  for (const std::string attack : {"call:add_key", "call:request_key", "call:keyctl"}) {
    SCOPED_TRACE(attack);
    EXPECT_TRUE(attack_worked(probe_outside({attack}, GetParam())));
    EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {attack})));
  }
}

// "RLIMIT_NPROC counts per uid in a user namespace": two cells with one uid would starve each
// other.
TEST_P(CellAgainstCell, OneCellsProcessesDoNotCountAgainstAnother) {
  const std::string line = "for i in $(seq 8); do sleep 1000 & done; echo ready; ";
  const Words limit = {"--timeout", "100s", "--processes", "12", "--", "sh", "-c"};
  Words first = limit, second = limit;
  first.push_back(line + "wait");
  second.push_back(line + "exit 3");
  LiveProcess holder = start_cell(GetParam(), first);
  ASSERT_TRUE(holder.says("ready"));
  const Ran other = run_cell(GetParam(), second);
  EXPECT_EQ(other.exit_code, 3) << other.err;
  EXPECT_EQ(other.out, "ready\n");

  // In one cell, sixteen are too many.
  Words both = limit;
  both.push_back("(" + line + ") && (" + line + ") && exit 3");
  EXPECT_NE(run_cell(GetParam(), both).exit_code, 3);
}

}  // namespace
}  // namespace sallyport::test
