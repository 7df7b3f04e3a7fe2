// `sallyport in-cell`: the program of the file tools, of sql and of fetch. Cells run it, people do
// not.
#pragma once

#include <span>

namespace sallyport {

// `words` is read, write, edit, list, search or sql; the order comes from standard input
// (tool/file_order.h, sql/order.h). Prints the answer as JSON and returns 0, or says on standard
// error what was refused and returns 1.
[[nodiscard]] int in_cell_command(std::span<const char* const> words);

}  // namespace sallyport
