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

std::string listed(const std::vector<std::string>& words) {
  const auto number = [](std::size_t value) {
    const auto bytes = static_cast<std::uint32_t>(value);
    return std::string(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
  };
  std::string text = number(words.size());
  for (const std::string& word : words)
    text += number(word.size()) + word;
  return text;
}

// What a script finds in os.environ, and a program that it becomes in its environment.
std::string environment_after(const std::vector<std::string>& order) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const std::string content =
      listed({"-c",
              "import os\nfor i in os.environ.items(): print('%s=%s' % i, flush=True)\n"
              "os.execv('/usr/bin/env', ['env'])"}) +
      listed(order);
  const auto size = static_cast<std::uint32_t>(content.size());
  Child python({"/lib64/ld-linux-x86-64.so.2", "--argv0", "python3", "/usr/bin/python3", "-B", "-c",
                std::string(python_program())},
               {.environment = {"LANG=C.UTF-8", "OMP_NUM_THREADS=1", "PATH=/usr/bin", "HOME=/here"},
                .output = write_end.get()});
  write_end.reset();
  EXPECT_EQ(python.hear(), "T");
  python.say("c");
  EXPECT_EQ(python.hear(), "R");
  python.say(std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + content);
  std::string found;
  char text[4096];
  for (ssize_t got; (got = ::read(read_end.get(), text, sizeof(text))) > 0;)
    found.append(text, static_cast<std::size_t>(got));
  return found;
}

std::string twice(const std::vector<std::string>& variables) {
  std::string text;
  for (int times = 0; times < 2; ++times)
    for (const std::string& variable : variables)
      text += variable + "\n";
  return text;
}

TEST(PythonOrders, BringTheWholeEnvironmentWhateverTheTemplateHad) {
  for (const std::vector<std::string>& order : std::vector<std::vector<std::string>>{
           {"PATH=/usr/bin", "HOME=/here", "LANG=C.UTF-8"},
           {"PATH=/usr/bin", "HOME=/here", "LANG=C.UTF-8", "MORE=1", "EMPTY="},
           {"PATH=/usr/bin", "HOME=/there", "LANG=C.UTF-8", "MORE=1"},
           {"LANG=C.UTF-8", "HOME=/here", "PATH=/usr/bin"},
           {"PATH=/usr/bin", "HOME=/here"},
           {"LONG=" + std::string(20'000, 'x')},
           {}})
    EXPECT_EQ(environment_after(order), twice(order));
}

}  // namespace
}  // namespace sallyport
