// What a cell could leave behind on the machine, as lines of text, and the search for what does not
// go away.
#pragma once

#include <fstream>
#include <set>
#include <string>

#include "support/live_process.h"

namespace sallyport::test {

// The cgroups of cells that the process `pid` made, in every hierarchy; of all cells with 0.
inline std::set<std::string> cell_cgroups(pid_t pid = 0) {
  const std::string prefix = "sallyport-" + (pid == 0 ? "" : std::to_string(pid) + "-");
  std::set<std::string> found;
  std::error_code error;
  namespace fs = std::filesystem;
  for (auto entry = fs::recursive_directory_iterator("/sys/fs/cgroup", error);
       entry != fs::recursive_directory_iterator(); entry.increment(error))
    if (entry->path().filename().string().starts_with(prefix) && entry->is_directory(error))
      found.insert(entry->path());
  return found;
}

// Namespaces that a process lives in.
inline std::set<std::string> live_namespaces() {
  std::set<std::string> found;
  std::error_code error;
  for (const auto& process : std::filesystem::directory_iterator("/proc", error))
    for (const char* kind : {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"}) {
      const auto name = std::filesystem::read_symlink(process.path() / "ns" / kind, error);
      if (!error) found.insert("namespace " + name.string());
    }
  return found;
}

// Files of Sallyport's own, and files with `word` in their name or beginning, where programs put
// what they mean to remove. Those of everybody else come and go.
inline std::set<std::string> files_left(const std::string& word) {
  std::set<std::string> found;
  std::error_code error;
  for (const char* directory : {"/run/sallyport", "/tmp", "/dev/shm", "/var/tmp"})
    for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
      const std::string path = entry.path(), name = entry.path().filename();
      // The tests' own, and the lock that cells' uids are taken under, which stays.
      if (name.starts_with("sallyport-test") || path == "/run/sallyport/uids") continue;
      char beginning[64] = {};
      if (entry.is_regular_file(error)) std::ifstream(path).read(beginning, sizeof(beginning) - 1);
      if (path.find("sallyport") != std::string::npos || name.find(word) != std::string::npos ||
          std::string_view(beginning).find(word) != std::string_view::npos)
        found.insert("file " + path);
    }
  return found;
}

// Everything of that kind that is there now: cgroups, namespaces, mounts, files, and processes with
// `word` on their command line.
inline std::set<std::string> traces(const std::string& word) {
  std::set<std::string> found = live_namespaces();
  found.merge(cell_cgroups());
  found.merge(files_left(word));
  std::istringstream mounts(read_file("/proc/self/mountinfo"));
  for (std::string mount; std::getline(mounts, mount);)
    found.insert("mount " + mount);
  for (const pid_t pid : processes_with(word))
    found.insert("process " + std::to_string(pid));
  return found;
}

// What came since `before` and does not go away. The kernel takes its time with namespaces, and
// other programs on the machine come and go, so only what stays for long counts.
inline std::set<std::string> left_since(const std::set<std::string>& before,
                                        const std::string& word,
                                        std::chrono::seconds patience = kPatience) {
  std::set<std::string> left = traces(word);
  std::erase_if(left, [&](const std::string& line) { return before.contains(line); });
  eventually(
      [&] {
        const std::set<std::string> now = traces(word);
        std::erase_if(left, [&](const std::string& line) { return !now.contains(line); });
        return left.empty();
      },
      patience);
  return left;
}

}  // namespace sallyport::test
