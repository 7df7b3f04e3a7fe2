// `sallyport call` as a user drives it: real policies, real cells, a state directory of its own for
// each test.
#pragma once

#include <fstream>
#include <sstream>

#include "support/cell_runner.h"

namespace sallyport::test {

class PolicyCalls : public CellTest {
 protected:
  PolicyCalls() : directory_(GetParam()) {}

  void policy(const std::string& yaml) {
    write_file(directory_ / "policy.yaml", yaml, GetParam());
    policy_ = directory_ / "policy.yaml";
  }
  void policy_of_the_repository(const std::string& name) {
    std::ifstream file(std::string(SALLYPORT_SOURCE_DIR "/") + name);
    policy({std::istreambuf_iterator<char>(file), {}});
  }

  Ran call(const std::string& tool, const std::string& caller, std::vector<std::string> more = {},
           const std::string& input = "") {
    std::vector<std::string> argv = {
        sallyport_path(), "call", tool,      "--policy",           policy_,
        "--as",           caller, "--state", directory_ / "state", "--json"};
    argv.insert(argv.end(), more.begin(), more.end());
    return run(argv, {.as = GetParam(), .input = input, .cwd = directory_.path()});
  }
  boost::json::object result(const std::string& tool, const std::string& caller,
                             std::vector<std::string> more = {}, const std::string& input = "") {
    return call(tool, caller, std::move(more), input).json();
  }
  Ran lockout(std::vector<std::string> words) {
    words.insert(words.begin(), {sallyport_path(), "lockout"});
    words.insert(words.end(), {"--state", directory_ / "state"});
    return run(words, {.as = GetParam()});
  }
  std::vector<boost::json::object> records() {
    // In the order in which they were written; not those of the log about itself.
    const Ran exported = run({sallyport_path(), "audit", "export", "--state", directory_ / "state"},
                             {.as = GetParam()});
    std::vector<boost::json::object> all;
    std::istringstream lines(exported.out);
    for (std::string line; std::getline(lines, line);) {
      auto record = boost::json::parse(line).as_object();
      if (record.contains("call_id")) all.push_back(std::move(record));
    }
    return all;
  }

  TempDir directory_;
  std::string policy_;
};

inline std::string text(const boost::json::object& object, const char* key) {
  const auto* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
}

}  // namespace sallyport::test
