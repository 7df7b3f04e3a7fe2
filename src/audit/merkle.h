// The Merkle tree of RFC 6962 over the lines of a log: 32 bytes that stand for all of them, proofs
// that one line is among them, and nothing kept but one hash per bit of their number.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"

namespace sallyport {

using Hash = Sha256;

// SHA-256(0x00 || line). A line is hashed without its line end.
[[nodiscard]] Hash leaf_hash(std::string_view line);

// SHA-256(0x01 || left || right).
[[nodiscard]] Hash node_hash(const Hash& left, const Hash& right);

// 64 digits in lower case, and back; nothing for any other text.
[[nodiscard]] std::string to_hex(const Hash& hash);
void append_hex(std::string& out, const Hash& hash);
[[nodiscard]] std::optional<Hash> hash_from_hex(std::string_view text);

// A tree that can only grow.
class MerkleTree {
 public:
  MerkleTree() = default;
  // A tree to go on with; nothing if it takes another number of subtrees to have that size.
  [[nodiscard]] static std::optional<MerkleTree> from(std::uint64_t size,
                                                      std::vector<Hash> subtrees);

  void append(const Hash& leaf);
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] Hash root() const;
  // The roots of the full subtrees, the largest first.
  [[nodiscard]] const std::vector<Hash>& subtrees() const { return subtrees_; }

 private:
  std::uint64_t size_ = 0;
  std::vector<Hash> subtrees_;
};

// The proof that a leaf is in a tree, made while the leaves of the tree go by in their order.
class InclusionProver {
 public:
  // `leaf` is below `size`.
  InclusionProver(std::uint64_t leaf, std::uint64_t size);
  // All `size` leaves from the first on; more are ignored.
  void append(const Hash& leaf);
  // From the leaf up to the root.
  [[nodiscard]] std::vector<Hash> path() const;

 private:
  struct Part {
    std::uint64_t begin = 0, end = 0;
    MerkleTree tree;
  };
  std::vector<Part> parts_;            // from the leaf up
  std::vector<std::size_t> in_order_;  // the same by their place in the log
  std::size_t current_ = 0;
  std::uint64_t seen_ = 0;
};

// Whether the path leads from leaf number `index` of a tree of `size` leaves to its root.
[[nodiscard]] bool proves_inclusion(const Hash& leaf, std::uint64_t index, std::uint64_t size,
                                    std::span<const Hash> path, const Hash& root);

}  // namespace sallyport
