#include "reader/reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>

#include "reader/reader_fixture.h"

namespace sallyport {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(Readers, TellWhatAFileHoldsWithoutItsLastLineBreak) {
  put_file(directory_ + "/token", "hunter2 \n");
  source("github", "file:" + directory_ + "/token");
  start();
  const SecretNews news = next();
  EXPECT_EQ(news.name, "github");
  EXPECT_EQ(news.value, "hunter2 ");
}

TEST_F(Readers, SeeANewFileAtOnceAndOnlyThen) {
  put_file(directory_ + "/token", "first");
  source("github", "file:" + directory_ + "/token");
  start();
  EXPECT_EQ(next_value(), "first");
  put_file(directory_ + "/token", "second");
  EXPECT_EQ(next_value(), "second");
  // The same again, and a change beside it, are no news.
  put_file(directory_ + "/token", "second");
  put_file(directory_ + "/other", "x");
  put_file(directory_ + "/token", "third");
  EXPECT_EQ(next_value(), "third");
}

TEST_F(Readers, SeeAFileThatIsWrittenInPlace) {
  put_file(directory_ + "/token", "first");
  source("github", "file:" + directory_ + "/token");
  start();
  EXPECT_EQ(next_value(), "first");
  std::ofstream(directory_ + "/token") << "second";
  std::string value = next_value();
  if (value == "(its file is empty)") value = next_value();  // it was, for a moment
  EXPECT_EQ(value, "second");
}

// What swaps a whole directory of secrets is a link beside the file.
TEST_F(Readers, SeeASwappedLink) {
  for (const char* version : {"1", "2"}) {
    std::filesystem::create_directory(directory_ + "/" + version);
    put_file(directory_ + "/" + version + "/token", std::string("value ") + version);
  }
  std::filesystem::create_directory_symlink("1", directory_ + "/..data");
  std::filesystem::create_symlink("..data/token", directory_ + "/token");
  source("github", "file:" + directory_ + "/token");
  start();
  EXPECT_EQ(next_value(), "value 1");
  std::filesystem::create_directory_symlink("2", directory_ + "/..next");
  std::filesystem::rename(directory_ + "/..next", directory_ + "/..data");
  EXPECT_EQ(next_value(), "value 2");
}

TEST_F(Readers, TakeADeletedFileForARevocation) {
  put_file(directory_ + "/token", "first");
  source("github", "file:" + directory_ + "/token");
  start();
  EXPECT_EQ(next_value(), "first");
  std::filesystem::remove(directory_ + "/token");
  EXPECT_EQ(next_value(), "(its file cannot be read: No such file or directory)");
  put_file(directory_ + "/token", "again");
  EXPECT_EQ(next_value(), "again");
  // Opened to everybody, it is not one any more.
  EXPECT_EQ(::chmod((directory_ + "/token").c_str(), 0644), 0);
  EXPECT_THAT(next_value(), HasSubstr("open to everybody"));
}

// The kernel tells nothing about a directory that is not there; `refresh` is what is left.
TEST_F(Readers, FindAFileWhoseDirectoryComesLater) {
  source("github", "file:" + directory_ + "/later/token", std::chrono::milliseconds(100));
  start();
  EXPECT_THAT(next_value(), HasSubstr("No such file"));
  std::filesystem::create_directory(directory_ + "/later");
  put_file(directory_ + "/later/token", "late");
  EXPECT_EQ(next_value(), "late");
}

TEST_F(Readers, ReadVariablesOnceAndKeepThemFromCommands) {
  ::setenv("READER_TEST_SECRET", "of the environment", 1);
  source("a", "env:READER_TEST_SECRET");
  source("b", "env:READER_TEST_NOTHING");
  source("c", "command:/usr/bin/env");
  start();
  ::unsetenv("READER_TEST_SECRET");
  std::map<std::string, SecretNews> news;
  for (int i = 0; i < 3; ++i) {
    SecretNews one = next();
    news[one.name] = one;
  }
  EXPECT_EQ(news["a"].value, "of the environment");
  EXPECT_EQ(news["b"].why, "the variable READER_TEST_NOTHING is not set");
  EXPECT_THAT(news["c"].why + news["c"].value, Not(HasSubstr("of the environment")));
  revoke("a");
  EXPECT_EQ(next_value(), "(it is revoked)");
  restore("a");
  EXPECT_EQ(next_value(), "of the environment");
}

TEST_F(Readers, HaveNothingOpenForCommands) {
  const Fd secret(::open("/etc/passwd", O_RDONLY));  // without O_CLOEXEC
  put_file(directory_ + "/script", "#!/bin/sh\nls /proc/self/fd | tr '\\n' ' '\n", 0700);
  source("c", "command:" + directory_ + "/script");
  start();
  EXPECT_EQ(next_value(), "0 1 2 3 ");  // the last is that of ls itself
}

TEST_F(Readers, RunACommandAgainAndKeepItsValueWhileItFails) {
  put_file(directory_ + "/value", "one\n");
  source("c", "command:/bin/cat " + directory_ + "/value", std::chrono::milliseconds(100));
  source("mark", "file:" + directory_ + "/mark");
  start();
  std::map<std::string, std::string> told;
  for (int i = 0; i < 2; ++i) {
    SecretNews one = next();
    told[one.name] = one.value;
  }
  EXPECT_EQ(told["c"], "one");
  put_file(directory_ + "/value", "two\n");
  EXPECT_EQ(next_value(), "two");
  // It fails now: the value stays for ten refreshes, and what is told first is the mark.
  std::filesystem::remove(directory_ + "/value");
  put_file(directory_ + "/mark", "x");
  EXPECT_EQ(next().name, "mark");
  const SecretNews gone = next();
  EXPECT_EQ(gone.name, "c");
  EXPECT_THAT(gone.why, HasSubstr("failed with exit code 1: /bin/cat: "));
}

TEST_F(Readers, ARevocationIsToldAtOnceWhateverTheSourceDoes) {
  source("slow", "command:/bin/sleep 9");
  source("quick", "command:/bin/echo value");
  start();
  EXPECT_EQ(next_value(), "value");
  revoke("slow");  // the directory is made with it
  const SecretNews news = next();
  EXPECT_EQ(news.name, "slow");
  EXPECT_EQ(news.why, "it is revoked");
  revoke("quick");
  EXPECT_EQ(next().name, "quick");
  restore("quick");
  EXPECT_EQ(next_value(), "value");
}

TEST_F(Readers, BeginWithWhatIsRevokedAlready) {
  put_file(directory_ + "/token", "first");
  source("github", "file:" + directory_ + "/token");
  revoke("github");
  start();
  EXPECT_EQ(next_value(), "(it is revoked)");
}

// Fail closed: whoever cannot see the list does not know that a credential is good.
TEST_F(Readers, TakeARevocationForGrantedWhereTheListCannotBeSeen) {
  put_file(directory_ + "/token", "first");
  source("github", "file:" + directory_ + "/token");
  std::ofstream(settings_.revoked) << "not a directory";
  start();
  EXPECT_THAT(next_value(),
              StartsWith("(it cannot be seen whether it is revoked: Not a directory"));
  std::filesystem::remove(settings_.revoked);
  EXPECT_EQ(next_value(), "first");
}

TEST_F(Readers, EndTheCommandsThatTheyRun) {
  put_file(directory_ + "/script", "#!/bin/sh\necho $$ > " + directory_ + "/pid\nexec sleep 1000\n",
           0700);
  source("c", "command:" + directory_ + "/script");
  start();
  ASSERT_TRUE(comes_true([&] { return text_in(directory_ + "/pid").ends_with("\n"); }));
  const int command = std::atoi(text_in(directory_ + "/pid").c_str());
  EXPECT_EQ(::kill(command, 0), 0);
  end();
  EXPECT_TRUE(comes_true([&] { return ::kill(command, 0) != 0; }));
}

TEST_F(Readers, EndWithTheirSocket) {
  put_file(directory_ + "/token", "first");
  source("github", "file:" + directory_ + "/token");
  start();
  EXPECT_EQ(next_value(), "first");
  end();  // waits for the process
}

}  // namespace
}  // namespace sallyport
