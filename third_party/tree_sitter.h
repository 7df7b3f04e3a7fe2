// tree-sitter's parse as src/screen needs it: each text once, as a whole, on one thread.
#pragma once

#include <tree_sitter/api.h>

#ifdef __cplusplus
extern "C" {
#endif

// The tree of a text, in the memory between parse_memory_begin() and parse_memory_end(). Null: the
// options stopped it, or the grammar was made for another version of the library.
const TSTree* parse_text(const TSLanguage* language, TSInput input, TSParseOptions options);

#ifdef __cplusplus
}
#endif
