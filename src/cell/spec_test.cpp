#include "cell/spec.h"

#include <gtest/gtest.h>

namespace sallyport {
namespace {

TEST(CellSpec, DefaultsAreThoseOfThePolicy) {
  const Limits limits;
  EXPECT_EQ(to_text(limits.timeout), "10s");
  EXPECT_EQ(to_text(limits.cpu), "10s");
  EXPECT_EQ(limits.cpus, 1.0);
  EXPECT_EQ(to_text(limits.memory), "256MiB");
  EXPECT_EQ(limits.processes, 64u);
  EXPECT_EQ(limits.open_files, 256u);
  EXPECT_EQ(to_text(limits.disk), "100MiB");
  EXPECT_EQ(limits.inodes, 10'000u);
  EXPECT_EQ(to_text(limits.file_size), "10MB");
  EXPECT_EQ(to_text(limits.max_output), "10kB");
  EXPECT_EQ(to_text(limits.max_output_hard), "10MB");
  EXPECT_EQ(limits.refused_syscalls, 1'000u);
  EXPECT_FALSE(limits.io.has_value());
}

}  // namespace
}  // namespace sallyport
