#include "warm/hot_files.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "warm/child_fixture.h"
#include "warm/hot_pages.h"
#include "warm/take_image.h"

namespace sallyport {
namespace {

using test::Child;
using test::program_file;

// A file of two pages that the template has mapped, and its copies read from.
class HotFiles : public testing::Test {
 protected:
  HotFiles() : program_(program_file()) {
    char name[] = "/tmp/sallyport-test.XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
    file_ = directory_ + "/mapped";
    write(file_);
  }
  ~HotFiles() override {
    ::unlink(file_.c_str());
    ::rmdir(directory_.c_str());
  }

  static void write(const std::string& path) {
    const Fd made(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    EXPECT_EQ(::write(made.get(), std::string(8192, 'a').data(), 8192), 8192);
  }

  // With a note of what a first copy has touched.
  Result<Fd> image() {
    Child original(
        {"/lib64/ld-linux-x86-64.so.2", "--argv0", "python3", "/usr/bin/python3", "-c",
         "import ctypes, os\nlibc = ctypes.CDLL(None)\n"
         "libc.mmap.restype = ctypes.c_void_p\nf = os.open('" +
             file_ +
             "', os.O_RDONLY)\n"
             "place = libc.mmap(None, ctypes.c_size_t(8192), 1, 2, f, ctypes.c_long(0))\n"
             "os.close(f)\nos.write(3, b'waits')\nos.read(3, 1)\n"
             "os.write(3, ctypes.string_at(place + 8000, 1))\nos.read(3, 1)\n"});
    EXPECT_EQ(original.hear(), "waits");
    auto plain = take_image(original.pid(), "copy", ByteSize{256 << 20});
    if (!plain) return plain;
    Child first({"restore"}, {.image = plain->get(), .program = program_.get()});
    first.say("x");
    EXPECT_EQ(first.hear(), "a");
    EXPECT_NE(maps(first).find(file_), std::string::npos) << "the twin: it maps the file";
    return note_hot_pages(plain->get(), first.pid());
  }

  static std::string maps(const Child& child) {
    return read_file(("/proc/" + std::to_string(child.pid()) + "/maps").c_str()).value_or("");
  }

  Fd program_;
  std::string directory_, file_;
};

TEST_F(HotFiles, AreInTheImage) {
  const auto noted = image();
  ASSERT_TRUE(noted) << noted.error().message;
  Child copy({"restore"}, {.image = noted->get(), .program = program_.get()});
  copy.say("x");
  EXPECT_EQ(copy.hear(), "a") << "with the same content";
  const std::string areas = maps(copy);
  EXPECT_EQ(areas.find(file_), std::string::npos) << areas;
  EXPECT_NE(areas.find("/libexpat"), std::string::npos)
      << "what nobody has read is mapped as before";
}

TEST_F(HotFiles, MakeTheImageWorthlessWhenTheyWereReplaced) {
  const auto noted = image();
  ASSERT_TRUE(noted) << noted.error().message;
  write(directory_ + "/new");
  ASSERT_EQ(::rename((directory_ + "/new").c_str(), file_.c_str()), 0);
  Child copy({"restore"}, {.image = noted->get(), .program = program_.get()});
  copy.offer("x");
  EXPECT_EQ(copy.hear(), "") << "it has ended";
}

}  // namespace
}  // namespace sallyport
