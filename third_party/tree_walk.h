// A walk over all nodes of a syntax tree, in the order of the text. tree-sitter's own cursor can go
// anywhere, and takes several times as long: it finds its place among the siblings at every step.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <tree_sitter/api.h>

#ifdef __cplusplus
extern "C" {
#endif

// What the functions ts_node_* and ts_tree_cursor_current_field_id would say.
typedef struct {
  TSSymbol symbol;
  TSFieldId field;
  bool named, has_error, missing;
  uint32_t begin, end;  // bytes
  uint32_t depth;       // of the root: 0
} WalkedNode;

// Ends when `visit` returns false. False: there was no memory.
bool walk_tree(const TSTree* tree, bool (*visit)(void* payload, const WalkedNode* node),
               void* payload);

#ifdef __cplusplus
}
#endif
