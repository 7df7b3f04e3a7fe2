// The loop of tree-sitter's parser for a text that is parsed once and as a whole: nothing is reused
// of an earlier tree, nobody watches with a logger, there is one range of text, and a stack with
// one version, as it is most of the time, is not treated as one of many.
#pragma once

#include "quick_lexer.h"
#include "quick_reduce.h"

static void quick_advance(TSLexer* lexer, bool skip) {
  if (!quick_step(lexer, skip)) ts_lexer__advance(lexer, skip);
}

// ts_lexer_reset()
static inline void quick_reset(Lexer* lexer, Length position) {
  if (position.bytes == lexer->current_position.bytes) return;
  const uint32_t in_chunk = position.bytes - lexer->chunk_start;
  if (position.bytes < lexer->chunk_start || in_chunk >= lexer->chunk_size) {
    ts_lexer_goto(lexer, position);
    return;
  }
  lexer->column_data = (ColumnData){.value = 0, .valid = false};
  lexer->current_position = position;
  lexer->current_included_range_index = 0;
  const unsigned char character = (unsigned char)lexer->chunk[in_chunk];
  lexer->lookahead_size = character < 0x80;  // 0: is looked for when a token begins
  lexer->data.lookahead = character < 0x80 ? character : 0;
}

// ts_lexer_start()
static inline void quick_start(Lexer* lexer) {
  if (lexer->lookahead_size == 0 || lexer->chunk_size == 0 || lexer->current_position.bytes == 0) {
    ts_lexer_start(lexer);
    return;
  }
  lexer->token_start_position = lexer->current_position;
  lexer->token_end_position = LENGTH_UNDEFINED;
  lexer->data.result_symbol = 0;
  lexer->did_get_column = false;
}

// ts_lexer_finish()
static inline void quick_finish(Lexer* lexer, uint32_t* looked_at) {
  if (length_is_undefined(lexer->token_end_position))
    lexer->token_end_position = lexer->current_position;
  if (lexer->token_end_position.bytes < lexer->token_start_position.bytes)
    lexer->token_start_position = lexer->token_end_position;
  uint32_t end = lexer->current_position.bytes + 1;
  if (lexer->data.lookahead == TS_DECODE_ERROR) end += 4;
  if (end > *looked_at) *looked_at = end;
}

// ts_parser__lex() where the next token is not one that the state does not know: else that does it.
static Subtree quick_lex(TSParser* self, StackVersion version, TSStateId state) {
  const TSLanguage* const language = self->language;
  const TSLexerMode mode = ts_language_lex_mode_for_state(language, state);
  if (mode.lex_state == (uint16_t)-1 || state == ERROR_STATE)
    return ts_parser__lex(self, version, state);
  Lexer* const lexer = &self->lexer;
  const StackHead* const head = &self->stack->heads.contents[version];
  const Length start = head->node->position;
  const Subtree external_token = head->last_external_token;
  uint32_t looked_at = 0, length = 0;
  bool external = false, changed = false, column = false, keyword = false;
  quick_reset(lexer, start);
  const Length begin = lexer->current_position;
  if (mode.external_lex_state != 0) {
    const ColumnData columns = lexer->column_data;
    quick_start(lexer);
    ts_parser__external_scanner_deserialize(self, external_token);
    external = ts_parser__external_scanner_scan(self, mode.external_lex_state);
    quick_finish(lexer, &looked_at);
    if (external) {
      length = ts_parser__external_scanner_serialize(self);
      changed = !ts_external_scanner_state_eq(ts_subtree_external_scanner_state(external_token),
                                              lexer->debug_buffer, length);
      // Tokens without a letter that change nothing could come for ever.
      if (lexer->token_end_position.bytes <= begin.bytes && !changed) {
        const TSSymbol symbol = language->external_scanner.symbol_map[lexer->data.result_symbol];
        if (ts_language_next_state(language, state, symbol) == state ||
            !ts_stack_has_advanced_since_error(self->stack, version))
          external = false;
      }
    }
    if (external) {
      column = lexer->did_get_column;
    } else {
      quick_reset(lexer, begin);
      lexer->column_data = columns;
    }
  }
  if (!external) {
    quick_start(lexer);
    const bool found = language->lex_fn(&lexer->data, mode.lex_state);
    quick_finish(lexer, &looked_at);
    if (!found) return ts_parser__lex(self, version, state);
  }

  TSSymbol symbol = lexer->data.result_symbol;
  const Length padding = length_sub(lexer->token_start_position, start);
  const Length size = length_sub(lexer->token_end_position, lexer->token_start_position);
  const uint32_t end = lexer->token_end_position.bytes;
  if (external) {
    symbol = language->external_scanner.symbol_map[symbol];
  } else if (symbol == language->keyword_capture_token && symbol != 0) {
    quick_reset(lexer, lexer->token_start_position);
    quick_start(lexer);
    keyword = language->keyword_lex_fn(&lexer->data, 0);
    const TSSymbol word = lexer->data.result_symbol;
    if (keyword && lexer->token_end_position.bytes == end &&
        (ts_language_has_actions(language, state, word) ||
         ts_language_is_reserved_word(language, state, word)))
      symbol = word;
  }
  const Subtree leaf = ts_subtree_new_leaf(&self->tree_pool, symbol, padding, size, looked_at - end,
                                           state, external, column, keyword, language);
  if (external) {
    SubtreeHeapData* const data = (SubtreeHeapData*)leaf.ptr;
    ts_external_scanner_state_init(&data->external_scanner_state, lexer->debug_buffer, length);
    data->has_external_scanner_state_change = changed;
  }
  return leaf;
}

// ts_parser__set_cached_token()
static inline void quick_keep_token(TSParser* self, uint32_t at, Subtree external_token,
                                    Subtree token) {
  TokenCache* const cache = &self->token_cache;
  const TokenCache old = *cache;
  quick_retain(token);
  if (external_token.ptr) quick_retain(external_token);
  *cache = (TokenCache){.token = token, .last_external_token = external_token, .byte_index = at};
  if (old.token.ptr) quick_release(&self->tree_pool, old.token);
  if (old.last_external_token.ptr) quick_release(&self->tree_pool, old.last_external_token);
}

// ts_parser__advance()
static bool advance_version(TSParser* self, StackVersion version) {
  const TSLanguage* const language = self->language;
  Stack* const stack = self->stack;
  TSStateId state = ts_stack_state(stack, version);
  const uint32_t position = ts_stack_position(stack, version).bytes;
  const Subtree external_token = ts_stack_last_external_token(stack, version);
  TableEntry entry = {.action_count = 0};
  Subtree token = NULL_SUBTREE;
  if (self->token_cache.byte_index == position)
    token = ts_parser__get_cached_token(self, state, position, external_token, &entry);
  bool needs_lex = token.ptr == NULL;
  for (;;) {
    if (needs_lex) {
      needs_lex = false;
      token = quick_lex(self, version, state);
      if (token.ptr) quick_keep_token(self, position, external_token, token);
      // Without a token: a rule among the extras ends here. The action is that of the text's end.
      ts_language_table_entry(language, state,
                              token.ptr ? ts_subtree_symbol(token) : ts_builtin_sym_end, &entry);
    }
    if (++self->operation_count >= OP_COUNT_PER_PARSER_TIMEOUT_CHECK &&
        !ts_parser__check_progress(self, &token, &position, 0))
      return false;

    StackVersion reduced = STACK_VERSION_NONE;
    bool did_reduce = false;
    for (uint32_t i = 0; i < entry.action_count; ++i) {
      const TSParseAction action = entry.actions[i];
      if (action.type == TSParseActionTypeShift) {
        if (action.shift.repetition) continue;
        const TSStateId next_state = action.shift.extra ? state : action.shift.state;
        if (ts_subtree_extra(token) != action.shift.extra) {
          ts_parser__shift(self, version, next_state, token, action.shift.extra);
          return true;
        }
        quick_push(stack, version, token, next_state);
        if (ts_subtree_has_external_tokens(token))
          ts_stack_set_last_external_token(stack, version, token);
        return true;
      }
      if (action.type == TSParseActionTypeAccept) {
        ts_parser__accept(self, version, token);
        return true;
      }
      if (action.type == TSParseActionTypeRecover) {
        ts_parser__recover(self, version, token);
        return true;
      }
      did_reduce = true;
      if (entry.action_count == 1 && token.ptr && quick_reduce(self, version, action)) {
        reduced = version;
        break;
      }
      const StackVersion made =
          ts_parser__reduce(self, version, action.reduce.symbol, action.reduce.child_count,
                            action.reduce.dynamic_precedence, action.reduce.production_id,
                            entry.action_count > 1, token.ptr == NULL);
      if (made != STACK_VERSION_NONE) reduced = made;
    }

    if (reduced != STACK_VERSION_NONE) {
      ts_stack_renumber_version(stack, reduced, version);
      state = ts_stack_state(stack, version);
      if (token.ptr)
        ts_language_table_entry(language, state, ts_subtree_leaf_symbol(token), &entry);
      else
        needs_lex = true;
      continue;
    }
    // It became the same as another version, which stays.
    if (did_reduce) {
      if (token.ptr) quick_release(&self->tree_pool, token);
      ts_stack_halt(stack, version);
      return true;
    }
    // A keyword where there can be none is a name.
    if (ts_subtree_is_keyword(token) &&
        ts_subtree_symbol(token) != language->keyword_capture_token &&
        !ts_language_is_reserved_word(language, state, ts_subtree_symbol(token))) {
      ts_language_table_entry(language, state, language->keyword_capture_token, &entry);
      if (entry.action_count > 0) {
        MutableSubtree name = ts_subtree_make_mut(&self->tree_pool, token);
        ts_subtree_set_symbol(&name, language->keyword_capture_token, language);
        token = ts_subtree_from_mut(name);
        continue;
      }
    }
    ts_stack_pause(stack, version, token);
    return true;
  }
}

// ts_parser__condense_stack()
static inline unsigned condense(TSParser* self) {
  Stack* const stack = self->stack;
  if (stack->heads.size != 1 || !ts_stack_is_active(stack, 0))
    return ts_parser__condense_stack(self);
  const ErrorStatus status = ts_parser__version_status(self, 0);
  return status.is_in_error ? UINT_MAX : status.cost;
}

// ts_parser_parse(), without balancing the tree for edits, which goes over all of it.
static Subtree quick_parse(TSParser* self) {
  uint32_t last_position = 0, version_count = 0;
  do {
    for (StackVersion version = 0;
         version_count = ts_stack_version_count(self->stack), version < version_count; ++version) {
      while (ts_stack_is_active(self->stack, version)) {
        if (!advance_version(self, version)) return NULL_SUBTREE;
        const uint32_t position = ts_stack_position(self->stack, version).bytes;
        if (position > last_position || (version > 0 && position == last_position)) {
          last_position = position;
          break;
        }
      }
    }
    const unsigned least_cost = condense(self);
    if (self->finished_tree.ptr && ts_subtree_error_cost(self->finished_tree) < least_cost) break;
  } while (version_count != 0);
  return self->finished_tree;
}
