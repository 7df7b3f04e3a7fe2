#include "warm/hot_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/file.h"
#include "base/parse.h"
#include "warm/child_fixture.h"
#include "warm/take_image.h"

namespace sallyport {
namespace {

using test::Child;
using test::program_file;

constexpr std::uint64_t kTouched = 1 << 20;

// The first copy writes to a mebibyte of what the image has; others do not.
constexpr const char* kScript = R"(
import os
memory = bytearray(b'x') * (1 << 20)
os.write(3, b'waits')
if os.read(3, 1) == b'f':
    for at in range(0, len(memory), 4096):
        memory[at] = ord('y')
os.write(3, b'R')
os.read(3, 1)
os.write(3, bytes(memory[:2]) + b' %d' % memory.count(b'y'))
)";

Result<Fd> image_of(const std::string& script) {
  Child original(
      {"/lib64/ld-linux-x86-64.so.2", "--argv0", "python3", "/usr/bin/python3", "-c", script});
  EXPECT_EQ(original.hear(), "waits");
  return take_image(original.pid(), "copy", ByteSize{256 << 20});
}

// Memory that is its own alone, in bytes.
std::uint64_t own_memory(const Child& child) {
  const std::string text =
      read_file(("/proc/" + std::to_string(child.pid()) + "/smaps_rollup").c_str()).value_or("");
  std::string_view rest = text;
  rest.remove_prefix(std::min(rest.find("\nAnonymous:") + 11, rest.size()));
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return whole_number<std::uint64_t>(take(rest, ' ')).value_or(0) * 1024;
}

class HotPages : public testing::Test {
 protected:
  HotPages() : image_(image_of(kScript)), program_(program_file()) {}

  std::unique_ptr<Child> copy_of(int image, const char* word) {
    auto copy =
        std::make_unique<Child>(std::vector<std::string>{"restore"},
                                test::ChildOptions{.image = image, .program = program_.get()});
    copy->say(word);
    EXPECT_EQ(copy->hear(), "R");
    return copy;
  }

  Result<Fd> image_;
  Fd program_;
};

TEST_F(HotPages, AreThereFromTheStartInLaterCopies) {
  ASSERT_TRUE(image_) << image_.error().message;
  const auto first = copy_of(image_->get(), "f");
  const auto noted = note_hot_pages(image_->get(), first->pid());
  ASSERT_TRUE(noted) << noted.error().message;
  EXPECT_FALSE(has_hot_pages(image_->get()));
  EXPECT_TRUE(has_hot_pages(noted->get()));
  const auto without = copy_of(image_->get(), "c"), with = copy_of(noted->get(), "c");
  EXPECT_GT(own_memory(*with), kTouched);
  EXPECT_GT(own_memory(*with), own_memory(*without) + kTouched / 2);
}

TEST_F(HotPages, HaveTheirContentOfTheImageAndNothingOfTheFirstCopy) {
  ASSERT_TRUE(image_) << image_.error().message;
  const auto first = copy_of(image_->get(), "f");
  const auto noted = note_hot_pages(image_->get(), first->pid());
  ASSERT_TRUE(noted) << noted.error().message;
  first->say("go");
  EXPECT_EQ(first->hear(), "yx 256");
  for (int copies = 0; copies < 3; ++copies) {
    const auto copy = copy_of(noted->get(), "c");
    copy->say("go");
    EXPECT_EQ(copy->hear(), "xx 0");
  }
}

TEST_F(HotPages, AreNotedAnewInAnImageThatHasSome) {
  ASSERT_TRUE(image_) << image_.error().message;
  const auto noted = note_hot_pages(image_->get(), copy_of(image_->get(), "f")->pid());
  ASSERT_TRUE(noted) << noted.error().message;
  const auto again = note_hot_pages(noted->get(), copy_of(noted->get(), "c")->pid());
  ASSERT_TRUE(again) << again.error().message;
  const auto copy = copy_of(again->get(), "c");
  EXPECT_GT(own_memory(*copy), kTouched);
  copy->say("go");
  EXPECT_EQ(copy->hear(), "xx 0");
}

TEST_F(HotPages, AreInASealedImage) {
  ASSERT_TRUE(image_) << image_.error().message;
  const auto noted = note_hot_pages(image_->get(), copy_of(image_->get(), "f")->pid());
  ASSERT_TRUE(noted) << noted.error().message;
  EXPECT_LT(::write(noted->get(), "x", 1), 0);
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, noted->get(), 0), MAP_FAILED);
  EXPECT_NE(::ftruncate(noted->get(), 0), 0);
}

TEST_F(HotPages, CannotBeNotedOfAProcessThatIsGone) {
  ASSERT_TRUE(image_) << image_.error().message;
  const auto copy = copy_of(image_->get(), "f");
  const pid_t pid = copy->pid();
  copy->end();
  EXPECT_FALSE(note_hot_pages(image_->get(), pid));
}

}  // namespace
}  // namespace sallyport
