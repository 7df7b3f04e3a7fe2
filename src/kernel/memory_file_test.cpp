#include "kernel/memory_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>

namespace sallyport {
namespace {

TEST(MemoryFile, HoldsItsContentFromTheBeginning) {
  const std::string content = std::string("a\0b", 3) + std::string(1 << 20, 'x');
  const auto file = make_memory_file(content);
  ASSERT_TRUE(file);
  std::string read(content.size() + 1, '\0');
  const ssize_t size = ::read(file->get(), read.data(), read.size());
  ASSERT_EQ(size, static_cast<ssize_t>(content.size()));
  read.resize(content.size());
  EXPECT_TRUE(read == content);
  EXPECT_TRUE(make_memory_file(""));
}

TEST(MemoryFile, CannotBeChangedByWhoeverGetsIt) {
  const auto file = make_memory_file("content");
  ASSERT_TRUE(file);
  EXPECT_EQ(::pwrite(file->get(), "x", 1, 0), -1);
  EXPECT_EQ(::ftruncate(file->get(), 0), -1);
  EXPECT_EQ(::ftruncate(file->get(), 100), -1);
  EXPECT_EQ(::mmap(nullptr, 7, PROT_READ | PROT_WRITE, MAP_SHARED, file->get(), 0), MAP_FAILED);
  EXPECT_EQ(::fcntl(file->get(), F_ADD_SEALS, 0), -1);
}

}  // namespace
}  // namespace sallyport
