#include "reader/secret_command.h"

#include <gmock/gmock.h>

#include <boost/asio/co_spawn.hpp>

#include "credential/source.h"
#include "reader/reader_fixture.h"

namespace sallyport {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class SecretCommands : public Readers {
 protected:
  static Reading ran(const std::string& command,
                     std::chrono::milliseconds patience = kCommandPatience) {
    boost::asio::io_context io;
    Reading reading;
    boost::asio::co_spawn(io, run_secret_command(io, command, patience),
                          [&](const std::exception_ptr& fault, Reading result) {
                            EXPECT_EQ(fault, nullptr);
                            reading = std::move(result);
                          });
    io.run();
    return reading;
  }
  // Of a shell script, as an operator would write one.
  Reading script(const std::string& text, std::chrono::milliseconds patience = kCommandPatience) {
    put_file(directory_ + "/script", "#!/bin/sh\n" + text + "\n", 0700);
    return ran(directory_ + "/script", patience);
  }
};

TEST_F(SecretCommands, GiveWhatTheyPrint) {
  EXPECT_EQ(ran("/bin/echo hunter2").value, "hunter2");
  EXPECT_EQ(ran("/bin/echo  two  words").value, "two words");
  // No shell has seen it.
  EXPECT_EQ(ran("/bin/echo $HOME;id|cat >x 'y").value, "$HOME;id|cat >x 'y");
}

TEST_F(SecretCommands, HaveNothingToReadAndSignalsAsUsual) {
  EXPECT_EQ(ran("/bin/cat").why, "what its command prints is empty");
  ::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(script("yes | head -n 1").value, "y");
  EXPECT_THAT(script("kill -PIPE $$; echo alive").why, HasSubstr("ended by signal 13"));
  EXPECT_EQ(script("pwd").value, "/");
}

TEST_F(SecretCommands, ThatFailSayWhyAndNotWhat) {
  const Reading failed = script("echo hunter2; printf 'no\\033[31m\\n\\tway\\000' >&2; exit 3");
  EXPECT_EQ(failed.value, "");
  EXPECT_EQ(failed.why, "its command failed with exit code 3: no [31m way");
  EXPECT_FALSE(failed.gone);
  EXPECT_EQ(script("echo hunter2; echo bad token hunter2 >&2; exit 1").why,
            "its command failed with exit code 1");
  EXPECT_EQ(ran("/nonexistent/program").why,
            "its command cannot be run: No such file or directory");
  EXPECT_EQ(ran("/etc/passwd").why, "its command cannot be run: Permission denied");
  EXPECT_EQ(script("echo fine; echo warning >&2").value, "fine");
}

TEST_F(SecretCommands, AreBoundedInWhatTheyPrint) {
  const Reading flood = ran("/usr/bin/yes hunter2");
  EXPECT_EQ(flood.value, "");
  EXPECT_THAT(flood.why, AllOf(HasSubstr("more than 16KiB"), Not(HasSubstr("hunter2"))));
  const Reading loud = script("yes complaint | head -c 10000000 >&2; exit 1");
  EXPECT_THAT(loud.why, StartsWith("its command failed with exit code 1: complaint complaint"));
  EXPECT_LT(loud.why.size(), 300U);
  EXPECT_THAT(script("printf 'a\\nb'").why, HasSubstr("control characters"));
  EXPECT_THAT(script("printf 'a\\000b'").why, HasSubstr("control characters"));
}

TEST_F(SecretCommands, AreEndedWithAllTheyStartedWhenTheirTimeIsUp) {
  const std::string pids = directory_ + "/pids";
  const Reading slow = script("sleep 1000 & echo $! > " + pids + "; trap '' TERM; wait",
                              std::chrono::milliseconds(300));
  EXPECT_EQ(slow.why, "its command did not end within 300ms");
  const int child = std::atoi(text_in(pids).c_str());
  ASSERT_GT(child, 0);
  EXPECT_TRUE(comes_true([&] { return ::kill(child, 0) != 0; }));
}

// What goes on in the background and keeps the pipe open is not waited for, and does not go on.
TEST_F(SecretCommands, EndWhenTheirProgramEnds) {
  const std::string pids = directory_ + "/pids";
  EXPECT_EQ(script("sleep 1000 & echo $! > " + pids + "; echo value").value, "value");
  const int child = std::atoi(text_in(pids).c_str());
  ASSERT_GT(child, 0);
  EXPECT_TRUE(comes_true([&] { return ::kill(child, 0) != 0; }));
}

}  // namespace
}  // namespace sallyport
