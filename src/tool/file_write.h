// write_file: a whole file, or what is added to its end.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

#include "base/json.h"
#include "input/path.h"
#include "tool/file_order.h"

namespace sallyport {

// The writing that file_work.h describes.
[[nodiscard]] Result<json::object> write_a_file(const FileOrder& order);

// What a new file has to do with the one whose place it takes.
enum class Change {
  regardless,   // nothing: the last writer wins
  based_on_it,  // it was made from what the other one held
};

// Gives the name of `path` to a new file that holds `content`. It is complete and on the disk
// before it has the name; on an error there is nothing new, and what was there is as it was.
// `before`: the file that it takes the place of, whose mode it gets; nullptr: there is none. A
// change that is based on it is refused if that file has changed since. `shown` is for messages.
[[nodiscard]] Result<void> replace_file(const SafePath& path, const struct stat* before,
                                        Change change, std::string_view content,
                                        const std::string& shown);

}  // namespace sallyport
