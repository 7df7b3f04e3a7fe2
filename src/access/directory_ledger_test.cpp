#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "access/ledger.h"
#include "access/ledger_fixture.h"
#include "base/fd.h"

namespace sallyport {
namespace {

using namespace ledger_test;
using testing::HasSubstr;

namespace fs = std::filesystem;

class DirectoryLedger : public testing::Test {
 protected:
  DirectoryLedger() {
    std::string name = fs::temp_directory_path() / "sallyport-ledger-XXXXXX";
    path_ = ::mkdtemp(name.data());
    directory_ = Fd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    set_clock(Moment{std::chrono::days{20'000} + 12h});
  }
  ~DirectoryLedger() override { fs::remove_all(path_); }

  std::unique_ptr<Ledger> open(LedgerOptions options = {}, Clock clock = test_clock) {
    auto ledger = directory_ledger(directory_.get(), options, clock);
    EXPECT_TRUE(ledger) << (ledger ? "" : ledger.error().message);
    return ledger ? std::move(*ledger) : nullptr;
  }
  std::string read(const char* name) {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const char* name, const std::string& bytes) {
    std::ofstream(path_ / name, std::ios::binary | std::ios::trunc) << bytes;
    fs::permissions(path_ / name, fs::perms{0600});
  }

  fs::path path_;
  Fd directory_;
};

// Runs `body` in a child process, which ends with what it returns.
template <class Body>
pid_t in_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  return child;
}

int exit_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(DirectoryLedger, LetsExactlyTheRateThroughWhenProcessesRace) {
  // One opened before the fork is as safe as one of each process's own.
  const auto shared = open({}, nullptr);
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i)
    children.push_back(in_child([&] {
      const auto own = i % 2 == 0 ? nullptr : open({}, nullptr);
      Ledger& ledger = own ? *own : *shared;
      int admitted = 0;
      for (int call = 0; call < 50; ++call) {
        const auto ticket = Ask{.rates = {per("caller/a", 20, 1min)}}(ledger);
        if (!ticket && ticket.error().error.reason != Reason::rate_limit) return 255;
        if (!ticket) continue;
        ++admitted;
        ledger.settle(*ticket, {.cpu = 1ms});
      }
      return admitted;
    }));
  int all = 0;
  for (const pid_t child : children)
    all += exit_of(child);
  EXPECT_EQ(all, 20);
}

TEST_F(DirectoryLedger, RemembersBetweenProcesses) {
  const LedgerOptions options{.lockout = Lockout{.after = 2, .within = 1min, .lasts = 5min}};
  EXPECT_EQ(exit_of(in_child([&] {
              const auto ledger = open(options);
              const auto ticket = Ask{.rates = {per("caller/a", 1, 1min)}}(*ledger);
              if (!ticket) return 1;
              ledger->settle(*ticket, {.cpu = 1ms});
              ledger->denied("bob", "");
              ledger->denied("bob", "");
              return 0;
            })),
            0);
  const auto ledger = open(options);
  EXPECT_FALSE((Ask{.rates = {per("caller/a", 1, 1min)}}(*ledger)));
  EXPECT_FALSE(Ask{.caller = "bob"}(*ledger));
  ASSERT_EQ(ledger->locked_out()->size(), 1U);
  // Whoever lifts it needs no policy.
  EXPECT_TRUE(*open()->lift("caller/bob"));
  EXPECT_TRUE(Ask{.caller = "bob"}(*ledger));
  EXPECT_FALSE((Ask{.rates = {per("caller/a", 1, 1min)}}(*ledger)));
}

TEST_F(DirectoryLedger, DoesNotCountACallOfADeadProcessAsInFlight) {
  const Ask ask{
      .rates = {per("caller/a", 10, 1h)},
      .concurrency = {{.key = "tenant/t", .rule = "r", .most = 1}},
      .budget =
          BudgetRule{.key = "t", .rule = "b", .budget = {.cpu = 10s, .egress = {}, .calls = {}}},
      .cpu = 4s};
  // Opened before the fork: the child must not share our locks, nor we its.
  const auto ledger = open();
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = in_child([&] {
    const auto ticket = ask(*ledger);
    const char answer = ticket ? 'y' : 'n';
    (void)!::write(ready[1], &answer, 1);
    ::pause();
    return 0;
  });
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  const auto refused = ask(*ledger);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.reason, Reason::concurrency);

  ASSERT_EQ(::kill(child, SIGKILL), 0);
  EXPECT_EQ(exit_of(child), -1);
  const auto ticket = ask(*ledger);
  ASSERT_TRUE(ticket);
  EXPECT_EQ(ticket->remaining, 8U) << "it was admitted, and still counts in its rate";
  ledger->settle(*ticket, {.cpu = 1s});
  // 4 s for the dead one, of which nobody knows better, and 1 s.
  EXPECT_TRUE(ask(*ledger));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(DirectoryLedger, KeepsCallsInFlightOfLivingThreadsAndProcesses) {
  const auto a = open(), b = open();
  const Ask ask{.concurrency = {{.key = "tenant/t", .rule = "r", .most = 2}}};
  const auto first = ask(*a), second = ask(*b);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(ask(*a));
  EXPECT_FALSE(ask(*b));
  EXPECT_EQ(exit_of(in_child([&] { return ask(*a) ? 1 : 0; })), 0);
  EXPECT_FALSE(ask(*b)) << "a child that ends takes no lock of its parent with it";
  b->withdraw(*second);
  EXPECT_TRUE(ask(*a));
}

TEST_F(DirectoryLedger, RefusesADamagedFileAndLeavesItAsItIs) {
  {
    const auto ledger = open();
    ASSERT_TRUE((Ask{.rates = {per("caller/a", 1, 1min)}}(*ledger)));
  }
  const std::string good = read("ledger");
  const auto ledger = open();
  for (const std::string& bad :
       {std::string(), std::string("garbage"), good.substr(0, good.size() - 1), good + "x",
        std::string("sallyport ledger 9\n") + good.substr(19), std::string(100, '\0')}) {
    write("ledger", bad);
    const auto refused = Ask{.rates = {per("caller/b", 1, 1min)}}(*ledger);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().error.reason, Reason::unavailable);
    EXPECT_THAT(refused.error().error.message, HasSubstr("'ledger'"));
    EXPECT_THAT(refused.error().error.hint, HasSubstr("move it away"));
    EXPECT_FALSE(ledger->locked_out());
    EXPECT_FALSE(ledger->lift("caller/a"));
    ledger->denied("a", "b");
    ledger->settle({.id = 1, .remaining = {}}, {.cpu = 1s});
    EXPECT_EQ(read("ledger"), bad);
    EXPECT_FALSE(directory_ledger(directory_.get(), {}, test_clock));
  }
  write("ledger", good);
  EXPECT_FALSE((Ask{.rates = {per("caller/a", 1, 1min)}}(*ledger)));
  EXPECT_TRUE((Ask{.rates = {per("caller/b", 1, 1min)}}(*ledger)));
}

TEST_F(DirectoryLedger, IsNotLedAstrayByLinksPipesAndFilesOfOthers) {
  const Ask ask{.rates = {per("caller/a", 1, 1min)}};
  const auto refused = [&] {
    const auto ledger = directory_ledger(directory_.get(), {}, test_clock);
    return !ledger || !ask(**ledger);
  };
  write("elsewhere", "precious");
  for (const char* name : {"ledger", "ledger.new", "ledger.lock", "calls"}) {
    const fs::path trap = path_ / name;
    fs::remove(trap);
    fs::create_symlink(path_ / "elsewhere", trap);
    EXPECT_TRUE(refused()) << "link " << name;
    fs::remove(trap);
    ASSERT_EQ(::mkfifo(trap.c_str(), 0600), 0);
    EXPECT_TRUE(refused()) << "pipe " << name;
    fs::remove(trap);
    write(name, "");
    fs::permissions(trap, fs::perms{0666});
    EXPECT_TRUE(refused()) << "open to all " << name;
    fs::remove(trap);
  }
  EXPECT_EQ(read("elsewhere"), "precious");
}

TEST_F(DirectoryLedger, RefusesADirectoryThatOthersMayWriteTo) {
  fs::permissions(path_, fs::perms{0770});
  EXPECT_FALSE(directory_ledger(directory_.get(), {}, test_clock));
  fs::permissions(path_, fs::perms{0701});
  EXPECT_TRUE(directory_ledger(directory_.get(), {}, test_clock));
}

TEST_F(DirectoryLedger, GivesItsFilesToNobodyElse) {
  const auto ledger = open();
  ASSERT_TRUE((Ask{.rates = {per("caller/a", 1, 1min)}}(*ledger)));
  for (const auto& entry : fs::directory_iterator(path_))
    EXPECT_EQ(entry.status().permissions(), fs::perms{0600}) << entry.path();
}

TEST_F(DirectoryLedger, ShrugsOffAHalfWrittenFileOfADeadProcess) {
  write("ledger.new", "sallyport ledg");
  const auto ledger = open();
  EXPECT_TRUE((Ask{.rates = {per("caller/a", 1, 1min)}}(*ledger)));
  EXPECT_FALSE((Ask{.rates = {per("caller/a", 1, 1min)}}(*ledger)));
}

TEST_F(DirectoryLedger, RefusesWhatItCannotWriteDown) {
  const auto ledger = open();
  ASSERT_TRUE((Ask{.rates = {per("caller/a", 2, 1min)}}(*ledger)));
  EXPECT_EQ(exit_of(in_child([&] {
              std::signal(SIGXFSZ, SIG_IGN);
              const rlimit nothing{.rlim_cur = 10, .rlim_max = 10};
              if (::setrlimit(RLIMIT_FSIZE, &nothing) != 0) return 1;
              const auto refused = Ask{.rates = {per("caller/a", 2, 1min)}}(*ledger);
              return !refused && refused.error().error.reason == Reason::unavailable ? 0 : 2;
            })),
            0);
  EXPECT_TRUE((Ask{.rates = {per("caller/a", 2, 1min)}}(*ledger))) << "it did not count";
  EXPECT_FALSE((Ask{.rates = {per("caller/a", 2, 1min)}}(*ledger)));
}

TEST_F(DirectoryLedger, LetsNothingMoreThroughWhenTheClockIsSetBack) {
  const Ask ask{.rates = {per("caller/a", 2, 1min)}};
  {
    const auto ledger = open();
    ASSERT_TRUE(ask(*ledger));
    ASSERT_TRUE(ask(*ledger));
  }
  advance_clock(-24h);
  const auto ledger = open();
  EXPECT_FALSE(ask(*ledger));
  advance_clock(1min);
  EXPECT_FALSE(ask(*ledger));
  advance_clock(1us);
  EXPECT_TRUE(ask(*ledger)) << "it does not wait for the day to come again";
}

}  // namespace
}  // namespace sallyport
