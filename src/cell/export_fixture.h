// Trees for the tests of everything that moves files between a cell and the host.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "cell/remove_tree.h"
#include "sallyport/finding.h"

namespace sallyport {

namespace fs = std::filesystem;

// A directory that is gone after the test.
class TempTree {
 public:
  TempTree() {
    std::string name = (fs::temp_directory_path() / "sallyport-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << name << ": " << std::strerror(errno);
    path_ = name;
  }
  TempTree(const TempTree&) = delete;
  TempTree& operator=(const TempTree&) = delete;
  ~TempTree() {
    std::uint64_t removed = 0;
    const Fd parent(::open(path_.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!remove_tree(parent.get(), path_.filename().c_str(), removed))
      ADD_FAILURE() << path_ << " is left over";
  }
  fs::path operator/(const fs::path& name) const { return path_ / name; }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Writes a file, with the directories that lead to it.
inline void put(const fs::path& path, std::string_view content, mode_t mode = 0644) {
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
  if (::chmod(path.c_str(), mode) != 0) ADD_FAILURE() << path << ": " << std::strerror(errno);
}

inline std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline Fd open_dir(const fs::path& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) ADD_FAILURE() << path << ": " << std::strerror(errno);
  return fd;
}

inline struct stat stat_of(const fs::path& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) ADD_FAILURE() << path << ": " << std::strerror(errno);
  return info;
}

inline mode_t mode_of(const fs::path& path) {
  return stat_of(path).st_mode & 07777;
}

// A directory "d" in "d" in "d" ..., with the file `leaf` at the bottom. No path can name that
// file.
inline void make_deep(const fs::path& top, int levels, const char* leaf) {
  fs::create_directories(top);
  Fd here = open_dir(top);
  for (int level = 0; level < levels; ++level) {
    ASSERT_EQ(::mkdirat(here.get(), "d", 0755), 0) << std::strerror(errno);
    here.reset(::openat(here.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  const Fd file(::openat(here.get(), leaf, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  ASSERT_TRUE(file);
}

// Few enough that code with a descriptor per level gives up early.
inline void allow_few_descriptors() {
  const rlimit few{.rlim_cur = 100, .rlim_max = 100};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
}

// Everything below `top`: type, permissions and content of each path.
inline std::map<std::string, std::string> snapshot(const fs::path& top) {
  std::map<std::string, std::string> tree;
  for (const auto& entry : fs::recursive_directory_iterator(top)) {
    const struct stat info = stat_of(entry.path());
    const std::string mode = std::to_string(info.st_mode & 0777) + " ";
    std::string& text = tree[entry.path().lexically_relative(top).string()];
    if (S_ISDIR(info.st_mode)) {
      text = "directory " + mode;
    } else if (S_ISLNK(info.st_mode)) {
      text = "symlink to " + fs::read_symlink(entry.path()).string();
    } else if (S_ISREG(info.st_mode)) {
      text = "file " + mode + content_of(entry.path());
    } else {
      text = "something else";
    }
  }
  return tree;
}

inline const Finding* finding_about(const std::vector<Finding>& findings, std::string_view path) {
  const auto found = std::ranges::find(findings, path, &Finding::path);
  return found == findings.end() ? nullptr : &*found;
}

// Runs `body` in a process of its own; what fails there fails the test.
inline void in_child(const std::function<void()>& body) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try {
      body();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    ::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child failed; see above";
}

// Runs `body` in a process with a mount namespace of its own.
inline void in_private_mounts(const std::function<void()>& body) {
  ASSERT_EQ(::geteuid(), 0u) << "this test mounts file systems and needs root";
  in_child([&] {
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0) << std::strerror(errno);
    ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0)
        << std::strerror(errno);
    body();
  });
}

inline void mount_tmpfs(const fs::path& where, const char* options = "mode=755") {
  fs::create_directories(where);
  ASSERT_EQ(::mount("tmpfs", where.c_str(), "tmpfs", 0, options), 0) << std::strerror(errno);
}

}  // namespace sallyport
