// The policy file as a tree: what was written, where, and how. Nothing is interpreted yet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sallyport {

// A place in the file, counted from 1; 0 when the tree was built in code.
struct Place {
  unsigned line = 0, column = 0;
};

struct NodeEntry;

struct Node {
  enum class Kind { scalar, list, map };
  Kind kind = Kind::scalar;
  Place place;
  std::string text;       // of a scalar
  bool quoted = false;    // a quoted scalar is a string, whatever it looks like
  bool flow_map = false;  // a map in braces: {limit} where "{limit}" was meant
  std::vector<Node> items;
  std::vector<NodeEntry> entries;  // in the order of the file; keys are unique

  [[nodiscard]] const Node* find(std::string_view key) const;
};

struct NodeEntry {
  Node key;  // a scalar
  Node value;
};

inline const Node* Node::find(std::string_view key) const {
  for (const NodeEntry& entry : entries)
    if (entry.key.text == key) return &entry.value;
  return nullptr;
}

}  // namespace sallyport
