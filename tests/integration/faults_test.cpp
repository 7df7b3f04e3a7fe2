// Fail closed: every step of the launch is made to fail in turn. The command must never start, the
// answer names the step, and nothing is left behind.
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cell/run.h"
#include "cell/steps.h"
#include "support/leftovers.h"

namespace sallyport::test {
namespace {

// What a launch with a fault came to, told by the child that tried it.
struct Attempt {
  Status status;
  Reason reason;
  char message[512];
};

// In a child, because a launch changes the process (it is no longer dumpable) and the ordinary user
// must be one.
Attempt launch_with_fault(As as, const CellSpec& spec, const std::string& step) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (as == As::user &&
        (::setgroups(0, nullptr) != 0 || ::setresgid(kUserGid, kUserGid, kUserGid) != 0 ||
         ::setresuid(kUserUid, kUserUid, kUserUid) != 0))
      ::_exit(99);
    const LaunchFault fault{step};
    const Outcome outcome =
        sallyport::run_cell(spec, CellStreams{}, step.empty() ? nullptr : &fault);
    Attempt attempt{outcome.status, outcome.reason, {}};
    outcome.message.copy(attempt.message, sizeof(attempt.message) - 1);
    static_cast<void>(!::write(ends[1], &attempt, sizeof(attempt)));
    ::_exit(0);
  }
  ::close(ends[1]);
  Attempt attempt{};
  EXPECT_EQ(::read(ends[0], &attempt, sizeof(attempt)), static_cast<ssize_t>(sizeof(attempt)));
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return attempt;
}

class Faults : public CellTest {
 protected:
  Faults() {
    spec.command = {"sh", "-c", "echo ran >/work/canary"};
    spec.grants = {Grant{.host = work.path(), .inside = "/work", .write = true}};
  }
  [[nodiscard]] bool ran() const { return std::filesystem::exists(work / "canary"); }

  TempDir work{GetParam()};
  CellSpec spec;
};

TEST_P(Faults, WithoutOneTheCommandRuns) {
  const Attempt attempt = launch_with_fault(GetParam(), spec, "");
  EXPECT_EQ(attempt.status, Status::success) << attempt.message;
  EXPECT_TRUE(ran()) << "the twin: the canary shows that a command ran";
}

TEST_P(Faults, InAnyStepOfTheLaunchMeanThatNothingRuns) {
  const std::string word = unique_word();
  const auto before = traces(word);
  for (const Step& step : launch_steps()) {
    const Attempt attempt = launch_with_fault(GetParam(), spec, step.name);
    EXPECT_EQ(attempt.status, Status::blocked) << step.name;
    EXPECT_NE(attempt.reason, Reason::none) << step.name;
    EXPECT_NE(std::string(attempt.message).find(step.name), std::string::npos) << attempt.message;
    EXPECT_FALSE(ran()) << step.name;
  }
  EXPECT_EQ(left_since(before, word), std::set<std::string>{});
}

SALLYPORT_FOR_ROOT_AND_USER(Faults);

}  // namespace
}  // namespace sallyport::test
