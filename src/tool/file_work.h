// The file tools at work: run by our own program inside the cell, where nothing but the tool's
// places is mounted.
//
// A path is confined by descriptors to one place (input/path.h) and never follows a link; the globs
// of the policy are held against the real path. What a file that is not plain hides (a symlink, a
// FIFO, a device, a second name) is neither read nor written.
#pragma once

#include "base/json.h"
#include "tool/file_order.h"

namespace sallyport {

// Does what the order says and answers with one object, never longer than max_answer as JSON:
//
//   read   path, size, offset, content or base64, truncated, and next_offset if there is more
//   write  path, size, created
//   edit   path, size, replaced, and line: where the first replacement begins
//   list   path, entries [{name, type, size}] in the order of their names, truncated, left_out:
//          how many entries are neither plain files nor directories
//   search path, matches [{path, line, column, text, before, after}], files: how many were looked
//          through, truncated, left_out: how much was not looked at, by the reason
//
// An error is a sentence for a model.
[[nodiscard]] Result<json::object> do_file_work(FileAction action, const FileOrder& order);

}  // namespace sallyport
