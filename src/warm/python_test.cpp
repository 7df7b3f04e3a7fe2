// python.py as a template, with modules that are not what they should be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "warm/child_fixture.h"
#include "warm/take_image.h"

namespace sallyport {
namespace {

using test::Child;
using testing::HasSubstr;
using testing::StartsWith;

class PythonTemplates : public testing::Test {
 protected:
  PythonTemplates() {
    char name[] = "/tmp/sallyport-test.XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
  }
  ~PythonTemplates() override { std::filesystem::remove_all(directory_); }

  // A module `m` of this text.
  Child with_module(const std::string& text, const std::string& module = "m") {
    std::ofstream(directory_ + "/m.py") << text;
    return Child({"/lib64/ld-linux-x86-64.so.2", "--argv0", "python3", "/usr/bin/python3", "-B",
                  "-c", std::string(python_program()), module},
                 {.environment = {"PYTHONPATH=" + directory_, "PATH=/usr/bin"}});
  }

  std::string directory_;
};

TEST_F(PythonTemplates, SayThatTheyWait) {
  EXPECT_EQ(with_module("x = 1").hear(), "T") << "the twin of all below";
  EXPECT_EQ(with_module("", "json").hear(), "T");
  EXPECT_EQ(with_module("", "xml.dom").hear(), "T");
}

TEST_F(PythonTemplates, NameTheModuleThatCannotBeImported) {
  EXPECT_EQ(with_module("1/0").hear(),
            "Ethe module m cannot be imported: ZeroDivisionError: division by zero");
  EXPECT_THAT(with_module("", "no_such_module").hear(),
              StartsWith("Ethe module no_such_module cannot be imported: ModuleNotFoundError"));
  EXPECT_THAT(with_module("x = (").hear(), StartsWith("Ethe module m cannot be imported: Syntax"));
  EXPECT_THAT(with_module("raise SystemExit(0)").hear(), HasSubstr("SystemExit"));
  EXPECT_THAT(with_module("raise KeyboardInterrupt").hear(), HasSubstr("KeyboardInterrupt"));
  EXPECT_LE(with_module("raise ValueError('\\udc80' * 100000)").hear().size(), 401U);
}

TEST_F(PythonTemplates, NameTheModuleThatStartsThreadsOrKeepsFilesOpen) {
  EXPECT_EQ(with_module("import threading\nthreading.Thread(target=threading.Event().wait, "
                        "daemon=True).start()\n")
                .hear(),
            "Ethe module m starts threads");
  EXPECT_EQ(with_module("f = open('/dev/null')").hear(), "Ethe module m keeps a file open");
  EXPECT_EQ(with_module("import socket\ns = socket.socket()").hear(),
            "Ethe module m keeps a file open");
  EXPECT_EQ(with_module("import threading\nt = threading.Thread(target=print)\nt.start(); t.join()")
                .hear(),
            "T")
      << "one that has ended is no harm";
}

TEST_F(PythonTemplates, EndWithoutAWordWhenAModuleEndsThem) {
  EXPECT_EQ(with_module("import os\nos._exit(0)").hear(), "");
  EXPECT_EQ(with_module("import os\nos.kill(os.getpid(), 9)").hear(), "");
}

// Of a module that answers in the place of the template.
TEST_F(PythonTemplates, HaveNoImageWhenAModuleOnlySaysThatItWaits) {
  Child liar = with_module("import os\nos.write(3, b'T')\nwhile True: pass\n");
  EXPECT_EQ(liar.hear(), "T");
  EXPECT_FALSE(take_image(liar.pid(), "copy", ByteSize{256 << 20}));
}

}  // namespace
}  // namespace sallyport
