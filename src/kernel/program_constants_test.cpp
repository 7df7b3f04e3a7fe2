#include "kernel/program_constants.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "kernel/child_fixture.h"

namespace sallyport {
namespace {

// The line of /proc/self/smaps that begins with `name`, in KiB, of the pages at `place`.
long smaps_kib(const char* place, const std::string& name) {
  std::ifstream smaps("/proc/self/smaps");
  std::string line;
  bool here = false;
  while (std::getline(smaps, line)) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2 && line.find(':') > 16) {
      const auto at = reinterpret_cast<std::uintptr_t>(place);
      here = begin <= at && at < end;
    } else if (here && line.starts_with(name)) {
      return std::stol(line.substr(name.size()));
    }
  }
  return -1;
}

TEST(ProgramConstants, AreTheSameWhenTheyAreShared) {
  EXPECT_EQ(in_child([]() -> std::string {
              const auto constants = program_constants();
              CHILD_EXPECT(!constants.empty());
              const std::string before(constants.data(), constants.size());
              CHILD_EXPECT(smaps_kib(constants.data(), "Anonymous:") > 0);
              CHILD_EXPECT(ok(share_program_constants()));
              CHILD_EXPECT(before == std::string(constants.data(), constants.size()));
              CHILD_EXPECT(smaps_kib(constants.data(), "Anonymous:") == 0);
              // They are still there, and read-only.
              CHILD_EXPECT(program_constants().data() == constants.data());
              CHILD_EXPECT(program_constants().size() == constants.size());
              return {};
            }),
            "");
}

}  // namespace
}  // namespace sallyport
