// A step of tree-sitter's lexer over an ASCII character, for texts without included ranges and
// parsers without a logger: ours. Most of what is read are such steps.
#pragma once

// Behind the parser.h of a grammar or of the library: they say the same about lexers.
#include "lexer.h"

// False: nothing was done, as the next character is not ASCII, or in another chunk of the text.
__attribute__((always_inline)) static inline bool quick_step(TSLexer* lexer, bool skip) {
  Lexer* const self = (Lexer*)lexer;
  const uint32_t next = self->current_position.bytes + 1 - self->chunk_start;
  if (self->lookahead_size != 1 || next >= self->chunk_size) return false;
  const unsigned char character = (unsigned char)self->chunk[next];
  if (character >= 0x80) return false;
  ++self->current_position.bytes;
  if (self->data.lookahead == '\n') {
    ++self->current_position.extent.row;
    self->current_position.extent.column = 0;
    self->column_data.valid = true;
    self->column_data.value = 0;
  } else {
    ++self->current_position.extent.column;
    if (self->column_data.valid) ++self->column_data.value;
  }
  if (skip) self->token_start_position = self->current_position;
  self->data.lookahead = character;
  return true;
}
