// What a process has in memory that its copy, the cell's init, is not to keep: the arguments and
// environment that it was started with, and its heap, in which there is a bit of everything it has
// done. Init needs none of it once the cell is made, and has none of it when the tool begins.
//
// The heap is given up where the program is a static one, as ours is. A program that embeds the
// library may have its loader's own lists there.
#pragma once

#include <cstddef>

#include "base/error.h"

namespace sallyport {

struct ProcessMemory {
  char* text = nullptr;  // arguments and environment lie together
  std::size_t text_size = 0;
  bool is_static = false;
  char* heap = nullptr;
  char* stack = nullptr;  // its first byte: of the first thread
};

// Of this process and of all that it forks: the places do not change. An error: they are not known.
[[nodiscard]] Sys<ProcessMemory> own_process_memory();

// Allocates nothing. What the kernel shows of the process in place of its arguments is `name`.
void hide_text(const ProcessMemory& memory, const char* name, std::size_t name_size);

// Takes away the heap, but for two pages behind the thread's own block, and the part of the stack
// that is not in use. Afterwards nothing may touch what was allocated, where `memory` itself may
// lie.
[[nodiscard]] Sys<void> drop_heap(ProcessMemory memory);

}  // namespace sallyport
