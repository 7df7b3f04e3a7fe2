#include "warm/take_image.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <fstream>

#include "warm/child_fixture.h"

namespace sallyport {
namespace {

using test::Child;
using test::program_file;

constexpr const char* kScript = R"(
import os, json, time
seen = [1]
os.write(3, b'waits')
word = os.read(3, 100).decode()
seen.append(word)
lines = '\n'.join('x%d = %d' % (i, i) for i in range(1000))
exec(compile(lines, '<test>', 'exec'))
big = bytearray(50_000_000)
def deep(n): return 0 if n == 0 else 1 + deep(n - 1)
import threading
done = []
thread = threading.Thread(target=lambda: done.append(deep(500)))
thread.start()
thread.join()
import subprocess
child = subprocess.run(['/bin/echo', 'child'], capture_output=True).stdout.decode()
os.write(3, json.dumps([seen, len(big), deep(900), done, x999, child, time.time() > 1e9]).encode())
)";

constexpr const char* kWaits = "\nimport os\nos.write(3, b'waits')\nos.read(3, 1)\n";

Result<Fd> image_of(const std::string& script, ByteSize most = 256_MiB) {
  Child original(
      {"/lib64/ld-linux-x86-64.so.2", "--argv0", "python3", "/usr/bin/python3", "-c", script});
  EXPECT_EQ(original.hear(), "waits");
  return take_image(original.pid(), "copy", most);
}

// Why there is no image of such a process.
std::string refusal_of(const std::string& script, ByteSize most = 256_MiB) {
  const auto image = image_of(script, most);
  if (image) return "there is one";
  EXPECT_EQ(image.error().reason, Reason::unavailable);
  return image.error().message;
}

TEST(Images, GoOnFromWhereTheyWereTaken) {
  const auto image = image_of(kScript);
  ASSERT_TRUE(image) << image.error().message;
  const Fd program = program_file();
  for (const char* word : {"one", "two", "three"}) {
    Child copy({"restore"}, {.image = image->get(), .program = program.get()});
    copy.say(word);
    EXPECT_EQ(copy.hear(), "[[1, \"" + std::string(word) +
                               "\"], 50000000, 900, [500], 999, \"child\\n\", true]");
  }
}

std::uint64_t resident_pages(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::uint64_t mapped = 0, resident = 0;
  file >> mapped >> resident;
  return resident;
}

TEST(Images, HaveCopiesThatDozeUntilTheyAreSpokenTo) {
  const auto image = image_of(kScript);
  ASSERT_TRUE(image) << image.error().message;
  const Fd program = program_file();
  Child copy({"restore", "doze"}, {.image = image->get(), .program = program.get()});
  EXPECT_EQ(copy.hear(), SALLYPORT_DOZES);
  const std::uint64_t dozing = resident_pages(copy.pid());
  EXPECT_GT(dozing, 0U);
  EXPECT_LT(dozing, 100U) << "it has taken memory that it does not need yet";
  copy.say("one");
  EXPECT_EQ(copy.hear(), "[[1, \"one\"], 50000000, 900, [500], 999, \"child\\n\", true]");
}

TEST(Images, AreSealed) {
  const auto image = image_of(kWaits);
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_LT(::write(image->get(), "x", 1), 0);
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, image->get(), 0), MAP_FAILED);
  EXPECT_NE(::ftruncate(image->get(), 0), 0);
}

TEST(Images, AreNotTakenOfWhatTheyCannotHold) {
  EXPECT_EQ(refusal_of(kWaits), "there is one") << "the twin of all below";
  const std::string thread =
      "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()";
  EXPECT_EQ(refusal_of(thread + kWaits), "the interpreter has no image: it has threads");
  EXPECT_EQ(
      refusal_of(std::string("f = open('/dev/null')\nimport os\nos.dup2(f.fileno(), 9)") + kWaits),
      "the interpreter has no image: it keeps a descriptor open (9)");
  EXPECT_EQ(refusal_of(std::string("import mmap\nm = mmap.mmap(-1, 65536)\nm[0] = 1") + kWaits),
            "the interpreter has no image: it shares memory (/dev/zero (deleted))");
  EXPECT_EQ(refusal_of(std::string("b = bytearray(b'x') * 60_000_000") + kWaits, 32_MiB),
            "the interpreter has no image: it has more than 32MiB of memory");
}

TEST(Images, AreNotTakenOfAProcessThatDoesNotWait) {
  Child busy({"/lib64/ld-linux-x86-64.so.2", "/usr/bin/python3", "-c",
              "import os\nos.write(3, b'waits')\nwhile True: pass\n"});
  EXPECT_EQ(busy.hear(), "waits");
  const auto image = take_image(busy.pid(), "copy", 256_MiB);
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().message, "the interpreter has no image: it does not wait for its order");
}

TEST(Images, AreNotTakenOfAProcessThatReadsFromElsewhere) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd read_end(ends[0]), write_end(ends[1]);
  Child other({"/lib64/ld-linux-x86-64.so.2", "/usr/bin/python3", "-c",
               "import os\nos.write(3, b'waits')\nos.dup2(3, 4)\nos.read(4, 1)\n"});
  EXPECT_EQ(other.hear(), "waits");
  const auto image = take_image(other.pid(), "copy", 256_MiB);
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().message, "the interpreter has no image: it does not wait for its order");
}

TEST(Images, AreNotTakenOfAProcessThatHasEnded) {
  Child ended({"/bin/true"});
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(ended.pid()), &info, WEXITED | WNOWAIT), 0);
  const auto image = take_image(ended.pid(), "copy", 256_MiB);
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().message.substr(0, 30), "the interpreter has no image: ");
}

TEST(Images, AreNotTakenOfAProgramWhoseHeapWouldMeetThatOfACopy) {
  Child low({"/usr/bin/python3", "-c", kWaits});
  EXPECT_EQ(low.hear(), "waits");
  const auto image = take_image(low.pid(), "copy", 256_MiB);
  ASSERT_FALSE(image) << "a program that is not started by the loader";
  EXPECT_EQ(image.error().message, "the interpreter has no image: its heap lies too low in memory");
}

// Pointers into the old file would lead anywhere in the new one.
TEST(Images, AreOfNoUseWhenAFileThatTheyMapWasReplaced) {
  char name[] = "/tmp/sallyport-test.XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  const std::string directory = name, file = directory + "/mapped";
  const auto write = [&](const std::string& path) {
    const Fd made(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    EXPECT_EQ(::write(made.get(), std::string(8192, 'a').data(), 8192), 8192);
  };
  write(file);
  const auto image = image_of(
      "import ctypes, os\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\n"
      "f = os.open('" +
      file +
      "', os.O_RDONLY)\n"
      "place = libc.mmap(None, ctypes.c_size_t(8192), 1, 2, f, ctypes.c_long(0))\nos.close(f)\n"
      "os.write(3, b'waits')\nos.read(3, 1)\nos.write(3, ctypes.string_at(place + 8000, 1))\n");
  ASSERT_TRUE(image) << image.error().message;
  const Fd program = program_file();
  const auto answer = [&] {
    Child copy({"restore"}, {.image = image->get(), .program = program.get()});
    copy.offer("x");
    return copy.hear();
  };
  EXPECT_EQ(answer(), "a") << "the twin";
  write(directory + "/new");
  ASSERT_EQ(::rename((directory + "/new").c_str(), file.c_str()), 0);
  EXPECT_EQ(answer(), "") << "it has ended";
  ASSERT_EQ(::unlink(file.c_str()), 0);
  EXPECT_EQ(answer(), "");
  ASSERT_EQ(::symlink("/etc/passwd", file.c_str()), 0);
  EXPECT_EQ(answer(), "");
  ::unlink(file.c_str());
  ::rmdir(directory.c_str());
}

}  // namespace
}  // namespace sallyport
