// Small files, whole.
#pragma once

#include <fcntl.h>

#include <optional>
#include <string>

namespace sallyport {

// What a file says, `path` being relative to the directory `dir`; empty when it cannot be read.
[[nodiscard]] std::optional<std::string> read_at(int dir, const char* path);

// The same of an open file, from its beginning; of what has no beginning, as a pipe, it is empty.
[[nodiscard]] std::optional<std::string> read_again(int file);

inline std::optional<std::string> read_file(const char* path) {
  return read_at(AT_FDCWD, path);
}

}  // namespace sallyport
