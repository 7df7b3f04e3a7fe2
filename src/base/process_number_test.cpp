#include "base/process_number.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sallyport {
namespace {

TEST(ProcessNumber, StaysTheSameInAProcessAndDiffersInItsChildren) {
  const std::uint64_t own = process_number();
  EXPECT_EQ(process_number(), own);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::uint64_t childs = process_number();
    const pid_t grandchild = ::fork();
    if (grandchild == 0) ::_exit(process_number() != childs && process_number() != own ? 0 : 1);
    int status = 0;
    ::waitpid(grandchild, &status, 0);
    ::_exit(childs != own && status == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(process_number(), own);
}

}  // namespace
}  // namespace sallyport
