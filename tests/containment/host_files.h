// What the tests about files share: canaries, owners, and a mount namespace in which a test can
// play host without touching the real one.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "support/cell_runner.h"

namespace sallyport::test {

using Words = std::vector<std::string>;

inline Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

inline constexpr const char* kCanary = "the canary is alive";

struct FileOwner {
  uid_t uid;
  gid_t gid;
  bool operator==(const FileOwner&) const = default;
};

inline FileOwner owner_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return {status.st_uid, status.st_gid};
}

inline FileOwner identity_of(As as) {
  return as == As::root ? FileOwner{0, 0} : FileOwner{kUserUid, kUserGid};
}

inline mode_t mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode;
}

inline void make_directory(const std::string& path, FileOwner owner, mode_t mode = 0755) {
  EXPECT_EQ(::mkdir(path.c_str(), 0700), 0) << path;
  EXPECT_EQ(::chown(path.c_str(), owner.uid, owner.gid), 0);
  EXPECT_EQ(::chmod(path.c_str(), mode), 0);
}

// The names in a directory, sorted.
inline Words names_in(const std::string& path) {
  Words names;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

inline Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

// A directory that everybody may read, so that nothing but the cell stands in the way.
class OpenDir : public TempDir {
 public:
  explicit OpenDir(As as = As::root) : TempDir(as) { EXPECT_EQ(::chmod(path().c_str(), 0755), 0); }
};

// A file of the host that no grant names, in a directory that everybody may read. `as` owns both.
class Canary {
 public:
  explicit Canary(As as) : directory_(as) { write_file(path(), kCanary, as); }
  [[nodiscard]] std::string path() const { return directory_ / "canary"; }
  [[nodiscard]] const std::string& directory() const { return directory_.path(); }
  // Nothing was added, and the content is as it was.
  [[nodiscard]] bool untouched() const {
    return read_file(path()) == kCanary && names_in(directory()) == Words{"canary"};
  }

 private:
  OpenDir directory_;
};

inline Ran shell_in_cell(As as, const Words& options, const std::string& script) {
  return run_cell(as, options + Words{"--", "sh", "-c", script});
}

inline Ran shell_outside(const std::string& script, const Words& args = {}, As as = As::root) {
  return run(Words{"sh", "-c", script, "sh"} + args, RunOptions{.as = as});
}

// Runs `argv` as `as` in a mount namespace of its own, after root has run `setup` there.
inline Ran in_mount_namespace(As as, const std::string& setup, const Words& argv) {
  const std::string become =
      as == As::root ? "" : "setpriv --reuid=43210 --regid=43210 --clear-groups -- ";
  return run(Words{"unshare", "--mount", "sh", "-ec", setup + "\nexec " + become + "\"$@\"", "sh"} +
             argv);
}

// Whether a result has a finding about `path`.
inline bool has_finding(const boost::json::object& result, std::string_view kind,
                        std::string_view path) {
  for (const auto& finding : result.at("findings").as_array())
    if (finding.at("kind").as_string() == kind && finding.at("path").as_string() == path)
      return true;
  return false;
}

}  // namespace sallyport::test
