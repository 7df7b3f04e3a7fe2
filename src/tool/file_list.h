// list_files: what there is in a directory that the tool may see.
#pragma once

#include "base/json.h"
#include "tool/file_order.h"

namespace sallyport {

// The listing that file_work.h describes. Without a path, and with several places, the places.
[[nodiscard]] Result<json::object> list_a_directory(const FileOrder& order);

}  // namespace sallyport
