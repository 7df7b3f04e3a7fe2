#include "reader/secret_file.h"

#include <gmock/gmock.h>

#include "credential/source.h"
#include "reader/reader_fixture.h"

namespace sallyport {
namespace {

using testing::HasSubstr;

class SecretFiles : public Readers {
 protected:
  Reading written(const std::string& text, mode_t mode = 0600) {
    put_file(directory_ + "/secret", text, mode);
    return read_secret_file(directory_ + "/secret");
  }
};

TEST_F(SecretFiles, LoseOneLineBreakAndNoMore) {
  EXPECT_EQ(written("abc\n").value, "abc");
  EXPECT_EQ(written("abc\r\n").value, "abc");
  EXPECT_EQ(written("abc").value, "abc");
  EXPECT_EQ(written(" abc ").value, " abc ");
  EXPECT_EQ(written("abc\n\n").why, "its file has line breaks or other control characters in it");
}

TEST_F(SecretFiles, MustHoldOneValueThatCanBeSent) {
  EXPECT_EQ(written("").why, "its file is empty");
  EXPECT_EQ(written("\n").why, "its file is empty");
  for (const char c : {'\0', '\r', '\n', '\t', '\x1b', '\x7f'}) {
    const Reading reading = written("hunter" + std::string(1, c) + "two");
    EXPECT_EQ(reading.value, "");
    EXPECT_EQ(reading.why, "its file has line breaks or other control characters in it");
  }
  EXPECT_EQ(written(std::string(kLargestSecret, 'x') + "\r\n").value.size(), kLargestSecret);
  const Reading large = written(std::string(kLargestSecret + 1, 'x'));
  EXPECT_EQ(large.value, "");
  EXPECT_EQ(large.why, "its file has more than 16KiB");
  EXPECT_EQ(written("pässwörd").value, "pässwörd");
}

TEST_F(SecretFiles, AreNotOpenToOthers) {
  for (const mode_t mode : {0604, 0602, 0601, 0644})
    EXPECT_THAT(written("abc", mode).why, HasSubstr("open to everybody")) << mode;
  EXPECT_THAT(written("abc", 0620).why, HasSubstr("written by its group"));
  for (const mode_t mode : {0400, 0600, 0440, 0640})
    EXPECT_EQ(written("abc", mode).value, "abc") << mode;
}

TEST_F(SecretFiles, AreRegularFilesThatAreThere) {
  ASSERT_EQ(::mkfifo((directory_ + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_secret_file(directory_ + "/pipe").why, "its file is not a regular file");
  EXPECT_EQ(read_secret_file(directory_).why, "its file is not a regular file");
  EXPECT_EQ(read_secret_file("/dev/zero").why, "its file is not a regular file");
  EXPECT_EQ(read_secret_file(directory_ + "/none").why,
            "its file cannot be read: No such file or directory");
  EXPECT_TRUE(read_secret_file(directory_ + "/none").gone);
}

}  // namespace
}  // namespace sallyport
