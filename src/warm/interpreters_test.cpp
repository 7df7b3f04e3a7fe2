#include "warm/interpreters.h"

#include <gtest/gtest.h>

#include "warm/programs.h"

namespace sallyport {
namespace {

TEST(Interpreters, ThatWaitAreStartedWithProgramsOfOurs) {
  const auto python =
      waiting_command({.interpreter = Interpreter::python, .preload = {"json", "xml.dom"}});
  ASSERT_EQ(python.size(), 7U);
  EXPECT_EQ(python[4], python_program());
  EXPECT_EQ(python[5], "json");
  EXPECT_EQ(python[6], "xml.dom") << "words of their own, which no shell reads";
  EXPECT_EQ(python[2].find("json"), std::string::npos);
  const auto node = waiting_command({.interpreter = Interpreter::node});
  ASSERT_EQ(node.size(), 3U);
  EXPECT_EQ(node[2], node_program());
}

TEST(Interpreters, StandForTheWordsThatToolsStartThemWith) {
  EXPECT_EQ(words_stood_for(Interpreter::python), 2U) << "python3 -B";
  EXPECT_EQ(words_stood_for(Interpreter::node), 1U);
}

TEST(Interpreters, ReadSomeVariablesOnlyWhenTheyStart) {
  for (const char* name : {"PATH", "LANG", "LC_ALL", "LD_PRELOAD", "LD_LIBRARY_PATH", "TZ",
                           "MALLOC_ARENA_MAX", "GLIBC_TUNABLES", "SSL_CERT_FILE"}) {
    EXPECT_TRUE(is_read_at_start(Interpreter::python, name)) << name;
    EXPECT_TRUE(is_read_at_start(Interpreter::node, name)) << name;
  }
  for (const char* name :
       {"PYTHONPATH", "PYTHONHASHSEED", "PYTHONOPTIMIZE", "PYTHONIOENCODING", "PYTHONUTF8"}) {
    EXPECT_TRUE(is_read_at_start(Interpreter::python, name)) << name;
    EXPECT_FALSE(is_read_at_start(Interpreter::node, name)) << name;
  }
  for (const char* name : {"NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS"}) {
    EXPECT_TRUE(is_read_at_start(Interpreter::node, name)) << name;
    EXPECT_FALSE(is_read_at_start(Interpreter::python, name)) << name;
  }
  for (const char* name : {"HOME", "API_KEY", "MODE", "TMPDIR", "A"}) {
    EXPECT_FALSE(is_read_at_start(Interpreter::python, name)) << name;
    EXPECT_FALSE(is_read_at_start(Interpreter::node, name)) << name;
  }
}

}  // namespace
}  // namespace sallyport
