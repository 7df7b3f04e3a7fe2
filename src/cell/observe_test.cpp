#include "cell/observe.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "cell/observe_names.h"

namespace sallyport {
namespace {

// Two pages, the second of which is not there.
class PageEnd {
 public:
  PageEnd()
      : pages_(static_cast<char*>(::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    ::munmap(pages_ + kPage, kPage);
  }
  ~PageEnd() { ::munmap(pages_, kPage); }
  PageEnd(const PageEnd&) = delete;
  PageEnd& operator=(const PageEnd&) = delete;

  // The bytes, with the last of them at the very end.
  std::uint64_t hold(std::string_view bytes) const {
    std::memcpy(pages_ + kPage - bytes.size(), bytes.data(), bytes.size());
    return reinterpret_cast<std::uint64_t>(pages_ + kPage - bytes.size());
  }

 private:
  static constexpr std::size_t kPage = 4096;
  char* pages_;
};

TEST(ReadPath, EndsAtTheNulAlsoWhereMemoryEnds) {
  const PageEnd memory;
  EXPECT_EQ(read_path(::getpid(), memory.hold(std::string_view("/etc/passwd\0", 12))),
            "/etc/passwd");
  EXPECT_EQ(read_path(::getpid(), memory.hold(std::string_view("\0", 1))), "");
}

TEST(ReadPath, IsNothingForMemoryThatIsNotThere) {
  const PageEnd memory;
  EXPECT_FALSE(read_path(::getpid(), memory.hold("/etc/passwd")));  // runs into nothing
  EXPECT_FALSE(read_path(::getpid(), 0));
  EXPECT_FALSE(read_path(::getpid(), 1));
  EXPECT_FALSE(read_path(::getpid(), ~std::uint64_t{0}));
  EXPECT_FALSE(read_path(::getpid(), std::uint64_t{1} << 63));
  EXPECT_FALSE(read_path(-1, memory.hold(std::string_view("x\0", 2))));
}

TEST(ReadPath, IsNothingForMoreThanAPathCanBe) {
  std::string text(std::size_t{1} << 20, 'a');
  EXPECT_FALSE(read_path(::getpid(), reinterpret_cast<std::uint64_t>(text.data())));
  text[4095] = '\0';
  const auto longest = read_path(::getpid(), reinterpret_cast<std::uint64_t>(text.data()));
  ASSERT_TRUE(longest);
  EXPECT_EQ(longest->size(), 4095U);
}

TEST(PlainPath, TakesOutWhatDoesNotName) {
  EXPECT_EQ(plain_path("/a//b/./c/../d/"), "/a/b/d");
  EXPECT_EQ(plain_path("/../../x"), "/x");
  EXPECT_EQ(plain_path("/"), "/");
  EXPECT_EQ(plain_path("/.."), "/");
  EXPECT_EQ(plain_path("a/b"), "");
  EXPECT_EQ(plain_path(""), "");
}

TEST(LiesIn, GoesByWholeNames) {
  EXPECT_TRUE(lies_in("/usr/bin", "/usr"));
  EXPECT_TRUE(lies_in("/usr", "/usr"));
  EXPECT_FALSE(lies_in("/usrlocal", "/usr"));
  EXPECT_FALSE(lies_in("/us", "/usr"));
  EXPECT_TRUE(lies_in("/x", "/"));
}

TEST(Observation, AddsUpWhatWasAskedOfOnePath) {
  Observation notes;
  notes.note_file("/srv/x", {.read = true});
  notes.note_file("/srv/x", {.written = true});
  notes.note_file("", {.read = true});
  ASSERT_EQ(notes.files.size(), 1U);
  EXPECT_TRUE(notes.files["/srv/x"].read);
  EXPECT_TRUE(notes.files["/srv/x"].written);
  EXPECT_FALSE(notes.files["/srv/x"].executed);
}

TEST(Observation, LeavesOutWhatIsOnlyReadOfTheSystem) {
  Observation notes;
  notes.note_file("/usr/lib/libc.so", {.read = true});
  notes.note_file("/proc/self/maps", {.read = true});
  notes.note_file("/usr/bin/env", {.executed = true});
  notes.note_file("/dev/shm/x", {.written = true});
  EXPECT_EQ(notes.files.size(), 2U);
}

TEST(Observation, IsBoundedInNumber) {
  Observation notes;
  for (std::size_t i = 0; i < Observation::kMostPaths + 50; ++i)
    notes.note_file("/srv/" + std::to_string(i), {.read = true});
  EXPECT_EQ(notes.files.size(), Observation::kMostPaths);
  EXPECT_EQ(notes.left_out, 50U);
  notes.note_file("/srv/7", {.written = true});  // one that is known already
  EXPECT_TRUE(notes.files["/srv/7"].written);
  EXPECT_EQ(notes.left_out, 50U);
  for (std::size_t i = 0; i < Observation::kMostDestinations + 50; ++i)
    notes.note_destination(
        {"203.0.113." + std::to_string(i % 250), static_cast<std::uint16_t>(1 + i / 250)});
  EXPECT_EQ(notes.destinations.size(), Observation::kMostDestinations);
  EXPECT_EQ(notes.left_out, 100U);
}

TEST(Observation, IsBoundedInSize) {
  Observation notes;
  const std::string name(4'000, 'x');
  for (int i = 0; i < 5'000; ++i)
    notes.note_file("/srv/" + name + std::to_string(i), {.read = true});
  EXPECT_LT(notes.files.size(), 1'100U);
  EXPECT_GT(notes.left_out, 3'900U);
}

TEST(Observation, KnowsItsOwnNameServer) {
  Observation notes;
  notes.note_destination({kNameServerAddress, kNameServerPort});
  notes.note_destination({"203.0.113.7", 0});
  notes.note_destination({});
  EXPECT_TRUE(notes.destinations.empty());
  notes.note_destination({kNameServerAddress, 5432});
  EXPECT_EQ(notes.destinations.size(), 1U);
}

}  // namespace
}  // namespace sallyport
