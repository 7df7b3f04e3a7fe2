// What a parser does most, a rule's children taken from the stack and their parent put on it, in
// place: tree-sitter's own way makes a second version of the stack and gives up the first, as there
// may be several ways through it. Where there is one way only, the outcome is the same.
#pragma once

// Behind lib.c: these are its types and its own functions.

static inline void quick_release(SubtreePool* pool, Subtree tree) {
  if (!tree.data.is_inline) ts_subtree_release(pool, tree);
}

static inline void quick_retain(Subtree tree) {
  if (!tree.data.is_inline) ++((SubtreeHeapData*)tree.ptr)->ref_count;
}

// ts_subtree_summarize_children() of a node that is all zeros but for its symbol and rule, and is
// no error: with the sums in registers, and what a small leaf cannot be not asked about it.
static inline void quick_summarize(SubtreeHeapData* node, const Subtree* children, uint32_t count,
                                   const TSLanguage* language) {
  const TSSymbol* const aliases = ts_language_alias_sequence(language, node->production_id);
  Length padding = length_zero(), size = length_zero();
  uint32_t looked_at = 0, cost = 0, visible = 0, named = 0, descendants = 0, structural = 0;
  int32_t precedence = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const Subtree child = children[i];
    bool is_extra, is_visible, is_named;
    TSSymbol symbol;
    uint32_t ahead, below = 0, named_below = 0;
    Length child_padding, child_size;
    if (child.data.is_inline) {
      const SubtreeInlineData leaf = child.data;
      child_padding = (Length){leaf.padding_bytes, {leaf.padding_rows, leaf.padding_columns}};
      child_size = (Length){leaf.size_bytes, {0, leaf.size_bytes}};
      ahead = leaf.lookahead_bytes;
      symbol = leaf.symbol;
      is_extra = leaf.extra;
      is_visible = leaf.visible;
      is_named = leaf.named;
      if (leaf.is_missing) cost += ts_subtree_error_cost(child);
    } else {
      const SubtreeHeapData* const inner = child.ptr;
      child_padding = inner->padding;
      child_size = inner->size;
      ahead = inner->lookahead_bytes;
      symbol = inner->symbol;
      is_extra = inner->extra;
      is_visible = inner->visible;
      is_named = inner->named;
      if (inner->depends_on_column && size.extent.row == 0) node->depends_on_column = true;
      if (inner->has_external_scanner_state_change) node->has_external_scanner_state_change = true;
      if (inner->has_external_tokens) node->has_external_tokens = true;
      if (symbol != ts_builtin_sym_error_repeat) cost += ts_subtree_error_cost(child);
      if (inner->child_count > 0) {
        precedence += inner->dynamic_precedence;
        descendants += inner->visible_descendant_count;
        below = inner->visible_child_count;
        named_below = inner->named_child_count;
      }
      if (symbol == ts_builtin_sym_error) node->fragile_left = node->fragile_right = true;
    }
    if (i == 0) {
      padding = child_padding;
      size = child_size;
    } else {
      size = length_add(size, length_add(child_padding, child_size));
    }
    const uint32_t end = padding.bytes + size.bytes + ahead;
    if (end > looked_at) looked_at = end;
    if (!is_extra && symbol != 0 && aliases && aliases[structural] != 0) {
      ++descendants;
      ++visible;
      if (ts_language_symbol_metadata(language, aliases[structural]).named) ++named;
    } else if (is_visible) {
      ++descendants;
      ++visible;
      if (is_named) ++named;
    } else {
      visible += below;
      named += named_below;
    }
    if (!is_extra) ++structural;
  }
  node->padding = padding;
  node->size = size;
  node->lookahead_bytes = looked_at - size.bytes - padding.bytes;
  node->error_cost = cost;
  node->dynamic_precedence = precedence;
  node->visible_child_count = visible;
  node->named_child_count = named;
  node->visible_descendant_count = descendants;
  if (count == 0) return;
  const Subtree first = children[0], last = children[count - 1];
  node->first_leaf.symbol = ts_subtree_leaf_symbol(first);
  node->first_leaf.parse_state = ts_subtree_leaf_parse_state(first);
  if (ts_subtree_fragile_left(first)) node->fragile_left = true;
  if (ts_subtree_fragile_right(last)) node->fragile_right = true;
  if (count >= 2 && !node->visible && !node->named && ts_subtree_symbol(first) == node->symbol) {
    const uint32_t left = ts_subtree_repeat_depth(first), right = ts_subtree_repeat_depth(last);
    node->repeat_depth = (uint16_t)((left > right ? left : right) + 1);
  }
}

// stack_node_new() with a tree, which writes one of the node's eight links instead of all.
static inline void quick_set_node(StackNode* node, StackNode* below, Subtree tree,
                                  TSStateId state) {
  uint32_t nodes = below->node_count;
  if (tree.data.is_inline) {
    nodes += tree.data.visible;
  } else {
    nodes += stack__subtree_node_count(tree);
  }
  node->state = state;
  node->position = length_add(below->position, ts_subtree_total_size(tree));
  node->links[0] = (StackLink){.node = below, .subtree = tree, .is_pending = false};
  node->link_count = 1;
  node->ref_count = 1;
  node->error_cost = below->error_cost + ts_subtree_error_cost(tree);
  node->node_count = nodes;
  node->dynamic_precedence = below->dynamic_precedence + ts_subtree_dynamic_precedence(tree);
}

static inline StackNode* quick_new_node(Stack* stack) {
  return stack->node_pool.size > 0 ? array_pop(&stack->node_pool) : ts_malloc(sizeof(StackNode));
}

static inline void quick_push(Stack* stack, StackVersion version, Subtree tree, TSStateId state) {
  StackHead* const head = &stack->heads.contents[version];
  StackNode* const node = quick_new_node(stack);
  quick_set_node(node, head->node, tree, state);
  head->node = node;
}

// Whether the version would become the same as another one: then they are merged.
static inline bool may_merge(const Stack* stack, StackVersion version, TSStateId state) {
  const uint32_t position = stack->heads.contents[version].node->position.bytes;
  for (StackVersion i = 0; i < stack->heads.size; ++i) {
    const StackNode* const other = stack->heads.contents[i].node;
    if (i != version && other->state == state && other->position.bytes == position) return true;
  }
  return false;
}

// The only action of a state for a token. False: nothing was done, there may be several ways.
static inline bool quick_reduce(TSParser* self, StackVersion version, TSParseAction action) {
  Stack* const stack = self->stack;
  if (stack->heads.size > MAX_VERSION_COUNT) return false;
  StackHead* const head = &stack->heads.contents[version];
  // Down to what is below the children. Nodes that others hold too stay as they are for them.
  StackNode* bottom = head->node;
  uint32_t count = 0;
  bool shared = false;
  for (uint32_t left = action.reduce.child_count; left > 0; ++count) {
    const Subtree tree = bottom->links[0].subtree;
    if (bottom->link_count != 1 || tree.ptr == NULL) return false;
    if (!ts_subtree_extra(tree))
      --left;
    else if (count == 0)
      return false;  // comes back onto the stack, behind the parent
    if (bottom->ref_count != 1) shared = true;
    bottom = bottom->links[0].node;
  }
  const TSSymbol symbol = action.reduce.symbol;
  const TSStateId state = bottom->state;
  const TSStateId next_state = ts_language_next_state(self->language, state, symbol);
  const bool alone = stack->heads.size == 1;
  if (!alone && may_merge(stack, version, next_state)) return false;

  Subtree* const children = ts_malloc(ts_subtree_alloc_size(count));
  StackNode *node = head->node, *spare = NULL;
  for (uint32_t i = count; i-- > 0;) {
    children[i] = node->links[0].subtree;
    StackNode* const next = node->links[0].node;
    if (shared) {
      quick_retain(children[i]);
    } else {
      if (spare != NULL) {
        if (stack->node_pool.size < MAX_NODE_POOL_SIZE)
          array_push(&stack->node_pool, spare);
        else
          ts_free(spare);
      }
      spare = node;
    }
    node = next;
  }

  const TSSymbolMetadata metadata = ts_language_symbol_metadata(self->language, symbol);
  SubtreeHeapData* const parent = (SubtreeHeapData*)(children + count);
  *parent = (SubtreeHeapData){.ref_count = 1,
                              .symbol = symbol,
                              .child_count = count,
                              .visible = metadata.visible,
                              .named = metadata.named};
  parent->production_id = action.reduce.production_id;
  quick_summarize(parent, children, count, self->language);
  if (!alone) parent->fragile_left = parent->fragile_right = true;
  parent->parse_state = alone ? state : TS_TREE_STATE_NONE;
  parent->dynamic_precedence += action.reduce.dynamic_precedence;

  if (shared || count == 0) {
    if (shared) {
      stack_node_retain(bottom);
      stack_node_release(head->node, &stack->node_pool, stack->subtree_pool);
    }
    spare = quick_new_node(stack);
  }
  quick_set_node(spare, bottom, (Subtree){.ptr = parent}, next_state);
  head->node = spare;
  return true;
}
