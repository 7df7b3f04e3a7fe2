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

TEST(MemoryFile, IsReadBackWholeOrNotAtAll) {
  const auto file = make_memory_file(std::string("a\0b", 3));
  ASSERT_TRUE(file);
  EXPECT_EQ(read_memory_file(file->get(), 3), std::string("a\0b", 3));
  EXPECT_EQ(read_memory_file(file->get(), 2).error().err, EFBIG);
  EXPECT_EQ(read_memory_file(make_memory_file("")->get(), 0), "");
}

TEST(MemoryFile, IsNotReadWhileItsSenderCanChangeIt) {
  const Fd file(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(read_memory_file(file.get(), 100).error().err, EPERM);
  ASSERT_EQ(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW), 0);
  EXPECT_EQ(read_memory_file(file.get(), 100).error().err, EPERM);
  ASSERT_EQ(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_TRUE(read_memory_file(file.get(), 100));
  const Fd zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(read_memory_file(zero.get(), 100).error().err, EPERM);
}

}  // namespace
}  // namespace sallyport
