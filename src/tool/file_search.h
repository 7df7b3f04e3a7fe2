// search_files: the lines that hold a text, in all files that the tool may read.
#pragma once

#include "base/json.h"
#include "tool/file_order.h"

namespace sallyport {

// How far a search may go. What it does not get to is counted in its answer.
struct SearchLimits {
  std::size_t entries = 100'000;                       // of directories
  std::uint64_t file_bytes = std::uint64_t{16} << 20;  // larger files are left out
  std::uint64_t bytes = std::uint64_t{256} << 20;      // of all files together
  std::size_t matches = 1000;
  std::size_t depth = 64;
};

// The search that file_work.h describes: below the order's path, or in all places without one. A
// match is a line; of a long one, the part around the first match. The time that it takes is
// linear in what it reads, whatever the pattern.
[[nodiscard]] Result<json::object> search_files(const FileOrder& order,
                                                const SearchLimits& limits = {});

}  // namespace sallyport
