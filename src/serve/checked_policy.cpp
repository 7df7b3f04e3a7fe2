#include "serve/checked_policy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"
#include "base/text.h"
#include "boundary/policy_tests.h"
#include "policy/starter.h"
#include "policy/yaml.h"

namespace sallyport {
namespace {

using Problems = std::vector<std::string>;

std::unexpected<Problems> unreadable(const std::string& path, const std::string& why) {
  return std::unexpected(Problems{quoted(path) + " cannot be read: " + why});
}

// By mode and owner: access lists and capabilities of others are the administrator's business.
bool could_write(const struct stat& status, const FrontUser& user) {
  return status.st_uid == user.uid || (status.st_mode & S_IWOTH) != 0 ||
         ((status.st_mode & S_IWGRP) != 0 && status.st_gid == user.gid);
}

// A file can be put aside for another by whoever may write to a directory above it. `path` has no
// links in it.
bool could_replace(const std::string& path, const FrontUser& user) {
  for (std::size_t slash = path.rfind('/'); slash != std::string::npos;
       slash = slash == 0 ? std::string::npos : path.rfind('/', slash - 1)) {
    struct stat status{};
    if (::stat(path.substr(0, slash + 1).c_str(), &status) != 0) return true;
    const bool sticky = (status.st_mode & S_ISVTX) != 0 && status.st_uid != user.uid;
    if (!sticky && could_write(status, user)) return true;
  }
  return false;
}

std::expected<std::string, Problems> read_text(const std::string& path, const FrontUser& user) {
  char resolved[PATH_MAX];
  if (::realpath(path.c_str(), resolved) == nullptr) return unreadable(path, std::strerror(errno));
  const Fd file(::open(resolved, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) return unreadable(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return unreadable(path, "it is not a regular file");
  if (user.changes && could_write(status, user))
    return unreadable(path, "the user that the service runs as could write to it");
  if (user.changes && could_replace(resolved, user))
    return unreadable(path, "the user that the service runs as could replace it");
  std::string text;
  char block[65536];
  while (text.size() <= kLargestPolicy) {
    const ssize_t size = ::read(file.get(), block, sizeof(block));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return unreadable(path, std::strerror(errno));
    if (size == 0) break;
    text.append(block, static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace

std::expected<CheckedPolicy, std::vector<std::string>> read_checked_policy(const std::string& path,
                                                                           const FrontUser& user) {
  auto text =
      path.empty() ? std::expected<std::string, Problems>(starter_policy()) : read_text(path, user);
  if (!text) return std::unexpected(std::move(text.error()));
  const std::string name = path.empty() ? "starter policy" : path;
  Problems problems;
  auto policy = Policy::parse(*text, name);
  if (!policy) {
    for (const PolicyProblem& problem : policy.error())
      problems.push_back(to_text(problem));
    return std::unexpected(std::move(problems));
  }
  for (const PolicyTestOutcome& test : run_policy_tests(*policy))
    if (!test.passed())
      problems.push_back(name + ":" + std::to_string(test.line) + ": test failed: " + test.name +
                         ": " + test.failure);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return CheckedPolicy{.policy = std::move(*policy), .name = name, .text = std::move(*text)};
}

}  // namespace sallyport
