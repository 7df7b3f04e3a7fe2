#include "warm/memory_map.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/file.h"

namespace sallyport {
namespace {

TEST(MemoryMaps, AreReadWithWhatIsTheProcessesOwn) {
  const auto areas = parse_smaps(
      "00400000-00402000 r-xp 00001000 fe:00 1055                       /usr/bin/a b\n"
      "Size:                  8 kB\nAnonymous:             0 kB\nVmFlags: rd ex \n"
      "01000000-01001000 rw-p 00000000 00:00 0                          [heap]\n"
      "Anonymous:             4 kB\n"
      "02000000-02001000 r--s 00000000 fe:00 7                          /cache\n");
  ASSERT_TRUE(areas);
  ASSERT_EQ(areas->size(), 3U);
  EXPECT_EQ((*areas)[0], (MemoryArea{.start = 0x400000,
                                     .size = 0x2000,
                                     .protection = PROT_READ | PROT_EXEC,
                                     .shared = false,
                                     .offset = 0x1000,
                                     .inode = 1055,
                                     .name = "/usr/bin/a b",
                                     .changed = false}));
  EXPECT_EQ((*areas)[1].name, "[heap]");
  EXPECT_TRUE((*areas)[1].changed);
  EXPECT_TRUE((*areas)[2].shared);
}

TEST(MemoryMaps, OfThisProcessAreUnderstood) {
  const auto areas = parse_smaps(read_file("/proc/self/smaps").value_or("none"));
  ASSERT_TRUE(areas);
  EXPECT_GT(areas->size(), 10U);
}

TEST(MemoryMaps, OfAnotherFormAreRefused) {
  for (const char* text :
       {"x\n", "00400000 r-xp 0 0:0 0\n", "2-1 r-xp 0 0:0 0 \n", "1-2 r-x 0 0:0 0 \n",
        "1-2 r-xp z 0:0 0 \n", "Anonymous: 4 kB\n", "1-2 r-xp 0 0:0 0 \nAnonymous: many\n"})
    EXPECT_FALSE(parse_smaps(text)) << text;
}

}  // namespace
}  // namespace sallyport
