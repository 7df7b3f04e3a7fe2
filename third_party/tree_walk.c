#include "tree_walk.h"

#include <stdlib.h>

#include "language.h"
#include "subtree.h"
#include "tree.h"

// The children of a node that are still to be visited.
typedef struct {
  Subtree parent;
  const TSSymbol* aliases;  // by structural index; may be null
  uint32_t child;
  uint32_t structural;  // counts the children without comments and the like
  uint32_t begin;       // of the child
  uint32_t depth;       // of the child, if it is visible
  TSFieldId field;      // of the parent, if that is hidden: its children have it as well
} Level;

typedef struct {
  Level* all;
  uint32_t count, room;
} Levels;

static bool push(Levels* levels, Level level) {
  if (levels->count == levels->room) {
    const uint32_t room = levels->room == 0 ? 64 : 2 * levels->room;
    Level* const all = realloc(levels->all, room * sizeof(Level));
    if (all == NULL) return false;
    levels->all = all;
    levels->room = room;
  }
  levels->all[levels->count++] = level;
  return true;
}

static TSFieldId field_at(const TSLanguage* language, const Level* level) {
  const TSFieldMapEntry *entry, *end;
  ts_language_field_map(language, level->parent.ptr->production_id, &entry, &end);
  for (; entry < end; ++entry)
    if (!entry->inherited && entry->child_index == level->structural) return entry->field_id;
  return level->field;
}

static WalkedNode walked(const TSLanguage* language, Subtree tree, TSSymbol alias) {
  const WalkedNode node = {
      .symbol = ts_language_public_symbol(language, alias ? alias : ts_subtree_symbol(tree)),
      .named = alias ? ts_language_symbol_metadata(language, alias).named : ts_subtree_named(tree),
      .has_error = ts_subtree_error_cost(tree) > 0,
      .missing = ts_subtree_missing(tree),
  };
  return node;
}

static bool enter(Levels* levels, const TSLanguage* language, Subtree tree, Level level) {
  const uint32_t count = ts_subtree_child_count(tree);
  if (count == 0) return true;
  // The nodes lie apart in memory, and what the children are is asked soon; theirs stand in front
  // of them.
  for (uint32_t i = 0; i < count; ++i) {
    const Subtree child = ts_subtree_children(tree)[i];
    if (child.data.is_inline) continue;
    __builtin_prefetch(child.ptr);
    __builtin_prefetch((const char*)(child.ptr + 1) - 1);
    __builtin_prefetch((const char*)child.ptr - 1);
  }
  level.parent = tree;
  level.aliases = ts_language_alias_sequence(language, tree.ptr->production_id);
  return push(levels, level);
}

bool walk_tree(const TSTree* tree, bool (*visit)(void* payload, const WalkedNode* node),
               void* payload) {
  const TSLanguage* const language = tree->language;
  Levels levels = {0};
  WalkedNode root = walked(language, tree->root, 0);
  root.begin = ts_subtree_padding(tree->root).bytes;
  root.end = root.begin + ts_subtree_size(tree->root).bytes;
  if (!visit(payload, &root)) return true;
  bool memory = enter(&levels, language, tree->root, (Level){.begin = root.begin, .depth = 1});
  while (memory && levels.count > 0) {
    Level* const level = &levels.all[levels.count - 1];
    const uint32_t count = level->parent.ptr->child_count;
    if (level->child == count) {
      --levels.count;
      continue;
    }
    const Subtree* const child = &ts_subtree_children(level->parent)[level->child];
    const uint32_t begin = level->begin, end = begin + ts_subtree_size(*child).bytes;
    TSSymbol alias = 0;
    TSFieldId field = 0;
    if (!ts_subtree_extra(*child)) {
      if (level->aliases != NULL) alias = level->aliases[level->structural];
      field = field_at(language, level);
      ++level->structural;
    }
    if (++level->child < count) level->begin = end + ts_subtree_padding(child[1]).bytes;
    const bool visible = alias || ts_subtree_visible(*child);
    const uint32_t depth = level->depth;
    if (visible) {
      WalkedNode node = walked(language, *child, alias);
      node.field = field;
      node.begin = begin;
      node.end = end;
      node.depth = depth;
      if (!visit(payload, &node)) break;
    }
    memory = enter(&levels, language, *child,
                   (Level){.begin = begin,
                           .depth = depth + (visible ? 1 : 0),
                           .field = visible ? 0 : field});
  }
  free(levels.all);
  return memory;
}
