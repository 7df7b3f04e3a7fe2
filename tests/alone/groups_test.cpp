// An ordinary user's supplementary groups: dropped where newgidmap can help, named in the result
// where it cannot.
#include <cstdlib>
#include <fstream>

#include "support/cell_runner.h"

namespace sallyport::test {
namespace {

// newgidmap wants a user with a name. The user lives as long as the test.
class NamedUser {
 public:
  NamedUser() {
    remove();
    EXPECT_EQ(run({"useradd", "--uid", std::to_string(kUserUid), "--no-create-home",
                   "--no-log-init", "--shell", "/bin/sh", kName})
                  .exit_code,
              0);
  }
  ~NamedUser() { remove(); }
  NamedUser(const NamedUser&) = delete;
  NamedUser& operator=(const NamedUser&) = delete;

  // useradd gives a range of its own accord where login.defs says so; the tests want to choose.
  static void set_subordinate_gids(bool has) {
    std::ifstream before("/etc/subgid");
    std::string kept;
    for (std::string line; std::getline(before, line);)
      if (!line.starts_with(std::string(kName) + ":")) kept += line + "\n";
    if (has) kept += std::string(kName) + ":700000:10\n";
    std::ofstream("/etc/subgid") << kept;
  }

 private:
  static constexpr const char* kName = "sallyport-test";
  static void remove() { run({"userdel", kName}); }
};

constexpr gid_t kExtraGroup = 54321;

Ran in_cell_with_group(std::vector<std::string> options) {
  options.insert(options.end(), {"--", "sh", "-c", "grep ^Groups: /proc/self/status"});
  return run_cell(options, RunOptions{.as = As::user, .groups = {kExtraGroup}});
}

TEST(SupplementaryGroups, AreDroppedWithNewgidmap) {
  const NamedUser user;
  NamedUser::set_subordinate_gids(true);
  const Ran ran = in_cell_with_group({"--require", "groups"});
  NamedUser::set_subordinate_gids(false);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "Groups:\t \n");
}

TEST(SupplementaryGroups, StayAndAreNamedWithoutASubordinateGid) {
  const NamedUser user;
  NamedUser::set_subordinate_gids(false);
  const Ran seen = in_cell_with_group({});
  EXPECT_EQ(seen.out, "Groups:\t65534 \n") << "this is the twin: the group does come along";
  EXPECT_EQ(in_cell_with_group({"--json"}).json().at("isolation").at("layers").at("groups"),
            "inherited");
  EXPECT_EQ(in_cell_with_group({"--require", "groups"}).exit_code, 125);
}

TEST(SupplementaryGroups, OfRootNeverEnter) {
  const Ran ran = run_cell(
      {"--require", "groups", "--", "sh", "-c", "grep ^Groups: /proc/self/status"}, RunOptions{});
  EXPECT_EQ(ran.out, "Groups:\t \n") << ran.err;
}

}  // namespace
}  // namespace sallyport::test
