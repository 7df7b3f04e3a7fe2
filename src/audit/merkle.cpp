#include "audit/merkle.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sallyport {
namespace {

constexpr char kLeaf = 0, kNode = 1;

// The largest power of two below `size`, which is at least 2.
std::uint64_t split(std::uint64_t size) {
  return std::bit_floor(size - 1);
}

}  // namespace

Hash leaf_hash(std::string_view line) {
  char small[2048];
  if (line.size() < sizeof(small)) {
    small[0] = kLeaf;
    if (!line.empty()) std::memcpy(small + 1, line.data(), line.size());
    return sha256({small, line.size() + 1});
  }
  std::string bytes;
  bytes.reserve(line.size() + 1);
  bytes.push_back(kLeaf);
  return sha256(bytes.append(line));
}

Hash node_hash(const Hash& left, const Hash& right) {
  char bytes[1 + 2 * sizeof(Hash)];
  bytes[0] = kNode;
  std::memcpy(bytes + 1, left.data(), left.size());
  std::memcpy(bytes + 1 + sizeof(Hash), right.data(), right.size());
  return sha256({bytes, sizeof(bytes)});
}

std::string to_hex(const Hash& hash) {
  std::string text;
  append_hex(text, hash);
  return text;
}

void append_hex(std::string& out, const Hash& hash) {
  out.append(Sha256Text(hash).view());
}

std::optional<Hash> hash_from_hex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  Hash hash{};
  if (text.size() != 2 * hash.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kDigits.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    hash[i / 2] = static_cast<std::uint8_t>(hash[i / 2] << 4 | digit);
  }
  return hash;
}

std::optional<MerkleTree> MerkleTree::from(std::uint64_t size, std::vector<Hash> subtrees) {
  if (static_cast<std::size_t>(std::popcount(size)) != subtrees.size()) return std::nullopt;
  MerkleTree tree;
  tree.size_ = size;
  tree.subtrees_ = std::move(subtrees);
  return tree;
}

void MerkleTree::append(const Hash& leaf) {
  Hash whole = leaf;
  for (std::uint64_t left = size_; (left & 1) != 0; left >>= 1) {
    whole = node_hash(subtrees_.back(), whole);
    subtrees_.pop_back();
  }
  subtrees_.push_back(whole);
  ++size_;
}

Hash MerkleTree::root() const {
  if (subtrees_.empty()) return sha256("");
  Hash whole = subtrees_.back();
  for (std::size_t i = subtrees_.size() - 1; i-- > 0;)
    whole = node_hash(subtrees_[i], whole);
  return whole;
}

InclusionProver::InclusionProver(std::uint64_t leaf, std::uint64_t size) {
  std::uint64_t begin = 0, end = size;
  while (end - begin > 1) {
    const std::uint64_t middle = begin + split(end - begin);
    if (leaf < middle) {
      parts_.push_back({middle, end, {}});
      end = middle;
    } else {
      parts_.push_back({begin, middle, {}});
      begin = middle;
    }
  }
  std::ranges::reverse(parts_);
  for (std::size_t i = 0; i < parts_.size(); ++i)
    in_order_.push_back(i);
  std::ranges::sort(in_order_, {}, [this](std::size_t i) { return parts_[i].begin; });
}

void InclusionProver::append(const Hash& leaf) {
  const std::uint64_t number = seen_++;
  while (current_ < in_order_.size() && parts_[in_order_[current_]].end <= number)
    ++current_;
  if (current_ == in_order_.size()) return;
  Part& part = parts_[in_order_[current_]];
  if (number >= part.begin) part.tree.append(leaf);
}

std::vector<Hash> InclusionProver::path() const {
  std::vector<Hash> hashes;
  hashes.reserve(parts_.size());
  for (const Part& part : parts_)
    hashes.push_back(part.tree.root());
  return hashes;
}

bool proves_inclusion(const Hash& leaf, std::uint64_t index, std::uint64_t size,
                      std::span<const Hash> path, const Hash& root) {
  // RFC 9162, 2.1.3.2.
  if (index >= size) return false;
  std::uint64_t place = index, last = size - 1;
  Hash whole = leaf;
  for (const Hash& sibling : path) {
    if (last == 0) return false;
    if ((place & 1) != 0 || place == last) {
      whole = node_hash(sibling, whole);
      while ((place & 1) == 0 && place != 0) {
        place >>= 1;
        last >>= 1;
      }
    } else {
      whole = node_hash(whole, sibling);
    }
    place >>= 1;
    last >>= 1;
  }
  return last == 0 && whole == root;
}

}  // namespace sallyport
