// For tests that give something up for good: a process that may be ruined.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// In a child: goes on if `condition` holds, otherwise ends `act` with the sentence that says so.
#define CHILD_EXPECT(condition)                                                          \
  if (errno = 0; condition) {                                                            \
  } else                                                                                 \
    return std::string(__FILE__ ":") + std::to_string(__LINE__) + ": " #condition ": " + \
           std::strerror(errno)

// Runs `act` in a child and returns what it returned: what went wrong, or nothing.
template <class Act>
std::string in_child(Act act) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string wrong = act();
    const bool told = ::write(theirs.get(), wrong.data(), wrong.size()) >= 0;
    ::_exit(told ? 0 : 1);
  }
  theirs.reset();
  std::string wrong;
  char buffer[4096];
  for (ssize_t size; (size = ::read(ours.get(), buffer, sizeof(buffer))) > 0;)
    wrong.append(buffer, static_cast<std::size_t>(size));
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  if (status != 0) wrong += " (the child died: status " + std::to_string(status) + ")";
  return wrong;
}

// A failed call, with its errno where CHILD_EXPECT finds it.
template <class T>
bool ok(const Sys<T>& result) {
  if (!result) errno = result.error().err;
  return result.has_value();
}

template <class T>
bool fails_with(const Sys<T>& result, int err) {
  errno = result ? 0 : result.error().err;
  return errno == err;
}

// A system call that is refused with this errno.
inline bool refused_with(int err, long result) {
  return result < 0 && errno == err;
}

// A directory that everybody may use and that is gone after the test.
class SharedDirectory {
 public:
  SharedDirectory() {
    char name[] = "/var/tmp/sallyport-unit.XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    path_ = name;
    std::filesystem::permissions(path_, std::filesystem::perms(0755));
  }
  ~SharedDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  SharedDirectory(const SharedDirectory&) = delete;
  SharedDirectory& operator=(const SharedDirectory&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const { return path_; }
  std::string directory(const std::string& name) const {
    std::filesystem::create_directory(*this / name);
    return *this / name;
  }
  std::string file(const std::string& name, const std::string& content = "content") const {
    std::ofstream(*this / name) << content;
    return *this / name;
  }

 private:
  std::string path_;
};

// What can be done with a path, as open() says. The errno stays.
inline bool can_open(const std::string& path, int flags) {
  const Fd file(::open(path.c_str(), flags | O_CLOEXEC, 0644));
  return file.valid();
}

}  // namespace sallyport
