#include "kernel/seccomp_names.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <set>

#include "kernel/seccomp_make_call.h"

namespace sallyport {
namespace {

TEST(SeccompNames, NamesCallsOfTheSystemsHeaders) {
  EXPECT_EQ(name_of_call(make_call(SYS_mount)), "mount");
  EXPECT_EQ(name_of_call(make_call(SYS_read)), "read");
}

TEST(SeccompNames, NamesCallsThatAreNewerThanTheHeaders) {
  EXPECT_EQ(name_of_call(make_call(452)), "fchmodat2");
  EXPECT_EQ(name_of_call(make_call(470)), "listns");
}

TEST(SeccompNames, GivesTheNumberOfWhatItDoesNotKnow) {
  EXPECT_EQ(name_of_call(make_call(400)), "syscall 400");
  EXPECT_EQ(name_of_call(make_call(5000)), "syscall 5000");
}

TEST(SeccompNames, SaysWhichOtherAbiANumberBelongsTo) {
  EXPECT_EQ(name_of_call(make_call(20, {}, AUDIT_ARCH_I386)), "i386 syscall 20");
  EXPECT_EQ(name_of_call(make_call(0x4000'0000 | 5)), "x32 syscall 5");
}

TEST(SeccompNames, ListsEachNameOnce) {
  std::set<std::string_view> names;
  for (const std::string_view name : call_names()) {
    if (!name.empty()) EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_GE(names.size(), 384u);
}

}  // namespace
}  // namespace sallyport
