// Programs that run in cells, as texts of ours: a cell has them from us, never from a file that
// somebody could replace.
#pragma once

#include <string_view>

namespace sallyport {

[[nodiscard]] std::string_view restore_program();  // restore.c, an ELF file
[[nodiscard]] std::string_view python_program();   // python.py
[[nodiscard]] std::string_view node_program();     // node.js

}  // namespace sallyport
