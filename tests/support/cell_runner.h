// Drives the real program from tests, as root and as an ordinary user, and reads what it says.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <string>
#include <vector>

namespace sallyport::test {

// Who starts the program. Tests run as root; the ordinary user is a uid of their own without
// groups.
enum class As { root, user };
inline constexpr uid_t kUserUid = 43210;
inline constexpr gid_t kUserGid = 43210;
std::string name_of(As as);

struct RunOptions {
  As as = As::root;
  std::string input;                     // given to stdin; otherwise stdin is /dev/null
  std::vector<std::string> environment;  // KEY=VALUE, beside PATH
  std::string cwd = "/";
  std::vector<gid_t> groups;           // supplementary groups
  std::chrono::seconds patience{120};  // then the test kills it and fails
};

struct Ran {
  int exit_code = -1;  // 128 + N when ended by signal N
  std::string out, err;
  std::chrono::milliseconds took{};

  // stdout parsed as the JSON result; fails the test when it is not one.
  [[nodiscard]] boost::json::object json() const;
};

// Runs any program to its end.
Ran run(const std::vector<std::string>& argv, const RunOptions& options = {});

// `sallyport run ARGS`
Ran run_cell(const std::vector<std::string>& args, RunOptions options = {});
inline Ran run_cell(As as, const std::vector<std::string>& args) {
  return run_cell(args, RunOptions{.as = as});
}

// Copies of the programs in a place that everyone may read: /root/... is closed to the ordinary
// user.
std::string sallyport_path();
std::string probe_path();                // outside
std::string probe_inside();              // as a cell sees it, given probe_grant()
std::vector<std::string> probe_grant();  // {"--read", "…:/probe"}

// The probe in a cell: `args` are further options of `sallyport run`.
Ran probe_in_cell(As as, const std::vector<std::string>& probe_args,
                  std::vector<std::string> args = {});
// The twin: the same probe without a cell, as root unless said otherwise.
Ran probe_outside(const std::vector<std::string>& probe_args, As as = As::root);

// The probe's verdict. It exits 0 when the attack worked, 1 when it was refused, 2 when it could
// not be tried.
testing::AssertionResult attack_refused(const Ran& ran);
testing::AssertionResult attack_worked(const Ran& ran);

// A directory that is gone after the test, owned by `as`.
class TempDir {
 public:
  explicit TempDir(As as = As::root);
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void write_file(const std::string& path, const std::string& content, As owner = As::root,
                unsigned mode = 0644);
std::string read_file(const std::string& path);

// Tests of cells run for both launchers.
class CellTest : public testing::TestWithParam<As> {};
#define SALLYPORT_FOR_ROOT_AND_USER(Suite)                                                        \
  INSTANTIATE_TEST_SUITE_P(As, Suite,                                                             \
                           testing::Values(sallyport::test::As::root, sallyport::test::As::user), \
                           [](const auto& as) { return sallyport::test::name_of(as.param); })

}  // namespace sallyport::test
