#include "audit/merkle.h"

#include <gtest/gtest.h>

#include <bit>

namespace sallyport {
namespace {

// The tree as RFC 6962 defines it, by recursion.
Hash root_of(std::span<const Hash> leaves) {
  if (leaves.empty()) return sha256("");
  if (leaves.size() == 1) return leaves[0];
  const std::size_t left = std::bit_floor(leaves.size() - 1);
  return node_hash(root_of(leaves.first(left)), root_of(leaves.subspan(left)));
}

std::vector<Hash> path_of(std::size_t leaf, std::span<const Hash> leaves) {
  if (leaves.size() == 1) return {};
  const std::size_t left = std::bit_floor(leaves.size() - 1);
  std::vector<Hash> path =
      leaf < left ? path_of(leaf, leaves.first(left)) : path_of(leaf - left, leaves.subspan(left));
  path.push_back(leaf < left ? root_of(leaves.subspan(left)) : root_of(leaves.first(left)));
  return path;
}

std::vector<Hash> some_leaves(std::size_t count) {
  std::vector<Hash> leaves;
  leaves.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    leaves.push_back(leaf_hash("line " + std::to_string(i)));
  return leaves;
}

TEST(Merkle, HasTheHashesOfTheTestVectorsOfCertificateTransparency) {
  // From the reference implementation of RFC 6962.
  const std::string inputs[] = {"",
                                std::string(1, '\0'),
                                "\x10",
                                "\x20\x21",
                                "\x30\x31",
                                "\x40\x41\x42\x43",
                                "\x50\x51\x52\x53\x54\x55\x56\x57",
                                "\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f"};
  const char* roots[] = {"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                         "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
                         "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
                         "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
                         "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
                         "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
                         "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
                         "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};
  MerkleTree tree;
  EXPECT_EQ(to_hex(tree.root()),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  for (std::size_t i = 0; i < std::size(inputs); ++i) {
    tree.append(leaf_hash(inputs[i]));
    EXPECT_EQ(to_hex(tree.root()), roots[i]);
  }
}

TEST(Merkle, GrowsAsTheDefinitionSaysAndGoesOnFromItsSubtrees) {
  const std::vector<Hash> leaves = some_leaves(70);
  MerkleTree tree;
  for (std::size_t size = 0; size <= leaves.size(); ++size) {
    EXPECT_EQ(tree.root(), root_of(std::span(leaves).first(size)));
    const auto again = MerkleTree::from(tree.size(), tree.subtrees());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->root(), tree.root());
    EXPECT_FALSE(MerkleTree::from(tree.size() + (tree.size() % 2 == 0 ? 1 : 2) + 64, {}));
    if (size < leaves.size()) tree.append(leaves[size]);
  }
}

TEST(Merkle, ProvesEveryLeafOfEverySizeAndNothingElse) {
  const std::vector<Hash> leaves = some_leaves(34);
  for (std::size_t size = 1; size <= leaves.size(); ++size) {
    const auto part = std::span(leaves).first(size);
    const Hash root = root_of(part);
    for (std::size_t leaf = 0; leaf < size; ++leaf) {
      InclusionProver prover(leaf, size);
      for (const Hash& each : leaves)
        prover.append(each);
      std::vector<Hash> path = prover.path();
      EXPECT_EQ(path, path_of(leaf, part));
      EXPECT_TRUE(proves_inclusion(leaves[leaf], leaf, size, path, root));
      EXPECT_FALSE(proves_inclusion(leaves[(leaf + 1) % 34], leaf, size, path, root));
      EXPECT_FALSE(proves_inclusion(leaves[leaf], leaf, leaf, path, root));
      if (size > 1) EXPECT_FALSE(proves_inclusion(leaves[leaf], leaf ^ 1, size, path, root));
      path.push_back(root);
      EXPECT_FALSE(proves_inclusion(leaves[leaf], leaf, size, path, root));
      path.resize(path.size() - 1);
      if (path.empty()) continue;
      path.pop_back();
      EXPECT_FALSE(proves_inclusion(leaves[leaf], leaf, size, path, root));
    }
  }
}

TEST(Merkle, ReadsHashesBackAndNothingThatIsNone) {
  const Hash hash = sha256("x");
  EXPECT_EQ(hash_from_hex(to_hex(hash)), hash);
  std::string text = to_hex(hash);
  EXPECT_FALSE(hash_from_hex(text.substr(1)));
  EXPECT_FALSE(hash_from_hex(text + "0"));
  text[3] = 'A';
  EXPECT_FALSE(hash_from_hex(text)) << "one text for one hash";
}

}  // namespace
}  // namespace sallyport
