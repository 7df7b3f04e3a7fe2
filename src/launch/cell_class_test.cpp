// Classes of cells, as the launcher compares them: by their bytes.
#include <gtest/gtest.h>

#include "cell/late.h"
#include "launch/wire.h"

namespace sallyport {
namespace {

CellSpec spec() {
  CellSpec made;
  made.call_id = "0123456789abcdef0123456789abcdef";
  made.command = {"python3", "-B", "main.py"};
  made.environment = {{"A", "1"}};
  made.inputs = {{.host = "", .name = "main.py", .content = "print(1)"}};
  made.grants = {{.host = "/srv/data", .inside = "/data"}};
  made.outputs = {"*.csv"};
  made.output_directory = "/out";
  made.use_stdin = true;
  made.input = "in";
  made.warm = {.interpreter = Interpreter::python, .preload = {"json"}};
  return made;
}

std::string bytes_of(const CellSpec& made) {
  return encode(Claim{.tenant = "t", .spec = class_of(made)}).value_or("?");
}

TEST(Classes, AreTheSameForCallsThatDifferInWhatIsLate) {
  using Change = void (*)(CellSpec&);
  const Change late[] = {
      [](CellSpec& s) { s.call_id = "f" + s.call_id.substr(1); },
      [](CellSpec& s) { s.command = {"true"}; },
      [](CellSpec& s) { s.environment = {{"SECRET", "x"}}; },
      [](CellSpec& s) { s.inputs.clear(); },
      [](CellSpec& s) { s.inputs.push_back({.host = "", .name = "b", .content = "2"}); },
      [](CellSpec& s) { s.outputs = {"**"}; },
      [](CellSpec& s) { s.output_directory = "/elsewhere"; },
      [](CellSpec& s) { s.input = "other"; },
      [](CellSpec& s) { s.limits.timeout = std::chrono::seconds(1); },
  };
  for (std::size_t i = 0; i < std::size(late); ++i) {
    CellSpec other = spec();
    late[i](other);
    EXPECT_EQ(bytes_of(other), bytes_of(spec())) << i;
  }
}

TEST(Classes, AreOthersForCallsThatDifferInAnythingElse) {
  using Change = void (*)(CellSpec&);
  const Change early[] = {
      [](CellSpec& s) { s.grants.clear(); },
      [](CellSpec& s) { s.grants[0].host = "/srv/other"; },
      [](CellSpec& s) { s.grants[0].inside = "/other"; },
      [](CellSpec& s) { s.grants[0].write = true; },
      [](CellSpec& s) { s.grants[0].optional = true; },
      [](CellSpec& s) { s.write_mode = WriteMode::copy; },
      [](CellSpec& s) { s.root = "/srv/root"; },
      [](CellSpec& s) { s.cwd = "/tmp"; },
      [](CellSpec& s) { s.hostname = "other"; },
      [](CellSpec& s) { s.use_stdin = false; },
      [](CellSpec& s) { s.limits.memory.bytes /= 2; },
      [](CellSpec& s) { s.limits.processes -= 1; },
      [](CellSpec& s) { s.limits.disk.bytes /= 2; },
      [](CellSpec& s) { s.limits.max_output.bytes /= 2; },
      [](CellSpec& s) { s.syscalls = "build"; },
      [](CellSpec& s) { s.network.requests = 7; },
      [](CellSpec& s) { s.requirements.push_back({}); },
      [](CellSpec& s) { s.warm.interpreter = Interpreter::none; },
      [](CellSpec& s) { s.warm.preload = {"re"}; },
  };
  for (std::size_t i = 0; i < std::size(early); ++i) {
    CellSpec other = spec();
    early[i](other);
    EXPECT_NE(bytes_of(other), bytes_of(spec())) << i;
  }
}

TEST(Classes, HoldNothingOfACall) {
  const std::string bytes = bytes_of(spec());
  for (const char* word : {"0123456789abcdef", "main.py", "print(1)", "/out", "*.csv"})
    EXPECT_EQ(bytes.find(word), std::string::npos) << word;
  EXPECT_NE(bytes.find("/srv/data"), std::string::npos) << "the twin";
}

}  // namespace
}  // namespace sallyport
