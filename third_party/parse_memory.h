// The memory of one parse. A syntax tree is many thousand small nodes that live until all of them
// go: they are cut from large pieces, and the pieces given back at once, so that nothing walks the
// tree to free it. Some megabytes of pieces are kept for the next parse.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// From here on all that tree-sitter asks for on this thread comes from such memory. Not nested.
void parse_memory_begin(void);

// Gives back all of it: trees as well, which ts_tree_delete() need not have seen.
void parse_memory_end(void);

// What tree-sitter and the scanners call instead of malloc() and the like. Outside of a parse they
// are these. They end the program where there is no memory, as tree-sitter's own do.
void* parse_malloc(size_t size);
void* parse_calloc(size_t count, size_t size);
void* parse_realloc(void* block, size_t size);
void parse_free(void* block);

#define ts_malloc parse_malloc
#define ts_calloc parse_calloc
#define ts_realloc parse_realloc
#define ts_free parse_free

#ifdef __cplusplus
}
#endif
