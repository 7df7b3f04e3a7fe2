// What a process has mapped, as /proc/PID/smaps tells it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sallyport {

struct MemoryArea {
  std::uint64_t start = 0, size = 0;
  int protection = 0;  // of mmap
  bool shared = false;
  std::uint64_t offset = 0;  // in the file
  std::uint64_t inode = 0;   // 0: no file is behind it
  std::string name;          // the file's path, or a word in brackets
  bool changed = false;      // some of its pages are the process's own
  bool operator==(const MemoryArea&) const = default;
};

// Nothing: the text is not of that form.
[[nodiscard]] std::optional<std::vector<MemoryArea>> parse_smaps(std::string_view text);

}  // namespace sallyport
