// Somebody exchanges a directory and a symlink as fast as he can while cells are being built from
// paths below them (CVE-2021-30465, CVE-2018-15664, CVE-2025-52565). A start may be refused; it may
// never show or change what the symlink points to.
#include <algorithm>
#include <atomic>
#include <thread>

#include "containment/host_files.h"

namespace sallyport::test {
namespace {

class Races : public CellTest {
 protected:
  Races() {
    make_directory(host / "path", self());
    make_directory(host / "path/sub", self());
    write_file(host / "path/sub/file", "granted", GetParam());
    // The same names in the other place, so that the swapped path would resolve.
    make_directory(host / "secret", self());
    make_directory(host / "secret/sub", self());
    write_file(host / "secret/sub/file", kCanary, GetParam());
    EXPECT_EQ(::symlink("secret", (host / "link").c_str()), 0);
  }

  const OpenDir host{GetParam()};
  [[nodiscard]] FileOwner self() const { return identity_of(GetParam()); }

  // Starts cells from below `path` while it alternates with a symlink to `secret`.
  [[nodiscard]] std::vector<Ran> race(int starts, const Words& argv) const {
    std::atomic<bool> stop = false;
    std::thread swapper([&] {
      // Without a pause: a check and a use that lie microseconds apart must fall on both sides.
      while (!stop)
        exchange();
    });
    std::vector<Ran> all;
    for (int i = 0; i < starts; ++i)
      all.push_back(run_cell(GetParam(), argv));
    stop = true;
    swapper.join();
    if (std::filesystem::is_symlink(host / "path")) exchange();

    // The race took place: neither side of it won every time.
    const auto refused = std::ranges::count(all, 125, &Ran::exit_code);
    EXPECT_GT(refused, 0);
    EXPECT_LT(refused, starts);
    return all;
  }

 private:
  void exchange() const {
    ::renameat2(AT_FDCWD, (host / "path").c_str(), AT_FDCWD, (host / "link").c_str(),
                RENAME_EXCHANGE);
  }
};

// Each start printed what was granted, or was refused before anything ran.
void expect_no_canary(const std::vector<Ran>& all) {
  for (const Ran& ran : all)
    EXPECT_EQ(ran.out, ran.exit_code == 125 ? "" : "granted") << ran.err;
}

constexpr int kStarts = 200;

TEST_P(Races, AReadGrantShowsWhatWasCheckedOrNothing) {
  expect_no_canary(
      race(kStarts, {"--read", (host / "path/sub") + ":/data", "--", "cat", "/data/file"}));
}

TEST_P(Races, AWriteGrantChangesWhatWasCheckedOrNothing) {
  expect_no_canary(race(kStarts, {"--write", (host / "path/sub") + ":/data", "--", "sh", "-c",
                                  "cat /data/file; echo x >/data/new"}));
  EXPECT_EQ(names_in(host / "secret/sub"), Words{"file"});
  EXPECT_EQ(names_in(host / "path/sub"), (Words{"file", "new"}));
}

TEST_P(Races, AnInputIsWhatWasCheckedOrNothing) {
  expect_no_canary(
      race(kStarts, {"--in", (host / "path/sub/file") + ":input", "--", "cat", "input"}));
}

TEST_P(Races, ARootIsWhatWasCheckedOrNothing) {
  for (const char* side : {"path/sub/bin", "secret/sub/bin"}) {
    make_directory(host / side, self());
    std::filesystem::copy_file(probe_path(), (host / side) + "/probe");
  }
  for (const Ran& ran : race(kStarts, {"--root", host / "path/sub", "--", "/bin/probe", "read-file",
                                       "/file", kCanary}))
    EXPECT_TRUE(ran.exit_code == 1 || ran.exit_code == 125) << ran.out << ran.err;
}

TEST_P(Races, ChangesAreCopiedBackToWhatWasCheckedOrNowhere) {
  expect_no_canary(race(kStarts, {"--write-mode", "copy", "--write", (host / "path/sub") + ":/data",
                                  "--", "sh", "-c", "cat /data/file; echo x >/data/new"}));
  EXPECT_EQ(names_in(host / "secret/sub"), Words{"file"});
  EXPECT_EQ(names_in(host / "path/sub"), (Words{"file", "new"}));
}

// Outside, the same walk ends in the wrong place soon enough.
TEST(RacesOutside, APathThatIsCheckedAndThenUsedLeadsAstray) {
  const OpenDir host;
  make_directory(host / "path", {0, 0});
  write_file(host / "path/file", "granted");
  make_directory(host / "secret", {0, 0});
  write_file(host / "secret/file", kCanary);
  ASSERT_EQ(::symlink("secret", (host / "link").c_str()), 0);
  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    while (!stop)
      ::renameat2(AT_FDCWD, (host / "path").c_str(), AT_FDCWD, (host / "link").c_str(),
                  RENAME_EXCHANGE);
  });
  bool astray = false;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!astray && std::chrono::steady_clock::now() < deadline)
    if (!std::filesystem::is_symlink(host / "path"))
      astray = read_file(host / "path/file") == kCanary;
  stop = true;
  swapper.join();
  EXPECT_TRUE(astray);
}

SALLYPORT_FOR_ROOT_AND_USER(Races);

}  // namespace
}  // namespace sallyport::test
