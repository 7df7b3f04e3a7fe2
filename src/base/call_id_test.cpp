#include "base/call_id.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

namespace sallyport {
namespace {

void expect_names(ssize_t (*get_random)(void*, std::size_t, unsigned)) {
  std::set<std::string> names;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = make_call_id(get_random);
    EXPECT_EQ(name.size(), 32u);
    EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), std::string::npos) << name;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

TEST(CallId, IsMadeWithoutGetrandomToo) {
  expect_names([](void*, std::size_t, unsigned) -> ssize_t {
    errno = ENOSYS;
    return -1;
  });
  expect_names([](void*, std::size_t, unsigned) -> ssize_t { return 3; });
}

TEST(CallId, WaitsForASignalToPass) {
  static int calls = 0;
  const std::string name = make_call_id([](void* bytes, std::size_t size, unsigned) -> ssize_t {
    if (++calls == 1) {
      errno = EINTR;
      return -1;
    }
    for (std::size_t i = 0; i < size; ++i)
      static_cast<unsigned char*>(bytes)[i] = static_cast<unsigned char>(0xf0 + i);
    return static_cast<ssize_t>(size);
  });
  EXPECT_EQ(name, "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
}

}  // namespace
}  // namespace sallyport
