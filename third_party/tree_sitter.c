// tree-sitter's library as one file, with what is in the way of its speed replaced: src/screen
// reads each text on one thread, once, and as a whole.
#include "tree_sitter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parse_memory.h"

// atomic.h: a tree stays with its thread, so that its counts need no lock on the bus.
#define TREE_SITTER_ATOMIC_H_
static inline size_t atomic_load(const volatile size_t* number) {
  return *number;
}
static inline uint32_t atomic_inc(volatile uint32_t* number) {
  return *(uint32_t*)number += 1;
}
static inline uint32_t atomic_dec(volatile uint32_t* number) {
  return *(uint32_t*)number -= 1;
}

// length.h: the same sums, written so that the compiler keeps them in registers. It put the points
// of the original together in memory, and every load there waited for stores of another width.
#define TREE_SITTER_LENGTH_H_
#include "point.h"

typedef struct {
  uint32_t bytes;
  TSPoint extent;
} Length;

static const Length LENGTH_UNDEFINED = {0, {0, 1}};
static const Length LENGTH_MAX = {UINT32_MAX, {UINT32_MAX, UINT32_MAX}};

static inline bool length_is_undefined(Length length) {
  return length.bytes == 0 && length.extent.column != 0;
}
static inline Length length_min(Length a, Length b) {
  return a.bytes < b.bytes ? a : b;
}
static inline Length length_zero(void) {
  return (Length){0, {0, 0}};
}
static inline Length length_add(Length a, Length b) {
  const uint32_t column = b.extent.row > 0 ? b.extent.column : a.extent.column + b.extent.column;
  return (Length){a.bytes + b.bytes, {a.extent.row + b.extent.row, column}};
}
static inline Length length_sub(Length a, Length b) {
  const bool rows = a.extent.row > b.extent.row;
  const uint32_t less = a.extent.column >= b.extent.column ? a.extent.column - b.extent.column : 0;
  return (Length){a.bytes >= b.bytes ? a.bytes - b.bytes : 0,
                  {rows ? a.extent.row - b.extent.row : 0, rows ? a.extent.column : less}};
}
static inline Length length_saturating_sub(Length a, Length b) {
  return a.bytes > b.bytes ? length_sub(a, b) : length_zero();
}

// language.h: what most states do is looked for in lists. What was found is kept, and asked for
// again and again.
#define ts_language_lookup ts_language_lookup_in_lists
#include "language.h"
#undef ts_language_lookup

enum { kRecalled = 4096 };
typedef struct {
  uint32_t key;  // the state and the symbol; 0: nothing
  uint16_t value;
} Recalled;
static _Thread_local Recalled* g_recalled;  // of the parse_text() that goes on

static inline uint16_t ts_language_lookup(const TSLanguage* self, TSStateId state,
                                          TSSymbol symbol) {
  if (state < self->large_state_count)
    return self->parse_table[state * self->symbol_count + symbol];
  if (g_recalled == NULL) return ts_language_lookup_in_lists(self, state, symbol);
  const uint32_t key = (uint32_t)state << 16 | symbol;
  Recalled* const recalled = &g_recalled[(key * 2654435769u) >> 20];
  if (recalled->key != key) {
    recalled->key = key;
    recalled->value = ts_language_lookup_in_lists(self, state, symbol);
  }
  return recalled->value;
}

#include "lib.c"
#include "quick_parse.h"

static TSParser* new_parser(const TSLanguage* language) {
  TSParser* const parser = ts_parser_new();
  parser->lexer.data.advance = quick_advance;  // for the scanners, which are written by hand
  if (ts_parser_set_language(parser, language)) return parser;
  ts_parser_delete(parser);
  return NULL;
}

const TSTree* parse_text(const TSLanguage* language, TSInput input, TSParseOptions options) {
  TSParser* const parser = new_parser(language);
  if (parser == NULL) return NULL;
  g_recalled = ts_calloc(kRecalled, sizeof(Recalled));
  parser->parse_options = options;
  parser->parse_state.payload = options.payload;
  ts_lexer_set_input(&parser->lexer, input);
  ts_parser__external_scanner_create(parser);
  const Subtree root = quick_parse(parser);
  const TSTree* tree = NULL;
  if (root.ptr) {
    ts_subtree_retain(root);
    tree = ts_tree_new(root, language, parser->lexer.included_ranges, 1);
  }
  ts_parser_delete(parser);
  ts_free(g_recalled);
  g_recalled = NULL;
  return tree;
}
