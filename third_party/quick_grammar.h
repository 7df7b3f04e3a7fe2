// Included in front of the parser.c of each grammar: the lexers made from grammars, with what they
// do for every character in place instead of behind pointers.
#pragma once

// clang-format off: in this order
#include "tree_sitter/parser.h"
#include "quick_lexer.h"
// clang-format on

// The ranges are in order, and those of ASCII letters are the first few of several hundred.
static inline bool quick_set_contains(TSCharacterRange* ranges, uint32_t count, int32_t character) {
  if (character >= 0x80) return set_contains(ranges, count, character);
  for (uint32_t i = 0; i < count && ranges[i].start <= character; ++i)
    if (character <= ranges[i].end) return true;
  return false;
}
#define set_contains quick_set_contains

#undef START_LEXER
#define START_LEXER()                                        \
  bool result = false;                                       \
  bool skip = false;                                         \
  UNUSED bool eof = false;                                   \
  int32_t lookahead;                                         \
  goto start;                                                \
  next_state:                                                \
  if (!quick_step(lexer, skip)) lexer->advance(lexer, skip); \
  start:                                                     \
  skip = false;                                              \
  lookahead = lexer->lookahead;

#undef ACCEPT_TOKEN
#define ACCEPT_TOKEN(symbol_value)     \
  result = true;                       \
  lexer->result_symbol = symbol_value; \
  ((Lexer*)lexer)->token_end_position = ((Lexer*)lexer)->current_position;
