// edit_file: one piece of text in a file replaced by another.
#pragma once

#include "base/json.h"
#include "tool/file_order.h"

namespace sallyport {

// The largest file that can be edited, before and after.
inline constexpr std::uint64_t kLargestEdit = std::uint64_t{16} << 20;

// The edit that file_work.h describes. The text must be there exactly once, unless the order says
// all; where it is not, the error says how often it is there, and which lines come near.
[[nodiscard]] Result<json::object> edit_a_file(const FileOrder& order);

}  // namespace sallyport
