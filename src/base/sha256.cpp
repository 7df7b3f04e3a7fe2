#include "base/sha256.h"

#include <bit>
#include <cstring>

#include "base/sha256_ni.h"

namespace sallyport {
namespace {

constexpr std::size_t kBlock = 64;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

using State = std::array<std::uint32_t, 8>;

// The first 32 bits of the fractional parts of the square roots of the first 8 primes.
constexpr State kStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

void add_block(State& state, const unsigned char* block) {
  std::uint32_t w[64];
  for (std::size_t i = 0; i < 16; ++i)
    w[i] = std::uint32_t{block[4 * i]} << 24 | std::uint32_t{block[4 * i + 1]} << 16 |
           std::uint32_t{block[4 * i + 2]} << 8 | std::uint32_t{block[4 * i + 3]};
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }

  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                             ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const std::uint32_t t2 =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const State sum = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i)
    state[i] += sum[i];
}

void add_blocks(State& state, const unsigned char* bytes, std::size_t blocks) {
  for (std::size_t i = 0; i < blocks; ++i)
    add_block(state, bytes + i * kBlock);
}

// Of a text whose first block, if any, may have been added to the state before.
template <void Add(State&, const unsigned char*, std::size_t)>
Sha256 digest_of(std::string_view bytes, State state = kStart, std::size_t before = 0) {
  const std::uint64_t bits = (std::uint64_t{bytes.size()} + before) * 8;
  const std::size_t whole = bytes.size() / kBlock;
  Add(state, reinterpret_cast<const unsigned char*>(bytes.data()), whole);
  bytes.remove_prefix(whole * kBlock);

  // What is left, a 1 bit, zeros, and the length: one block, or two.
  unsigned char tail[2 * kBlock] = {};
  if (!bytes.empty()) std::memcpy(tail, bytes.data(), bytes.size());
  tail[bytes.size()] = 0x80;
  const std::size_t end = bytes.size() + 1 + 8 <= kBlock ? kBlock : 2 * kBlock;
  for (std::size_t i = 0; i < 8; ++i)
    tail[end - 1 - i] = static_cast<unsigned char>(bits >> 8 * i);
  Add(state, tail, end / kBlock);

  Sha256 digest{};
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

template <void Add(State&, const unsigned char*, std::size_t)>
Sha256 hmac_of(std::string_view key, std::string_view bytes) {
  unsigned char block[kBlock] = {};
  if (key.size() > kBlock) {
    const Sha256 shorter = digest_of<Add>(key);
    std::memcpy(block, shorter.data(), shorter.size());
  } else if (!key.empty()) {
    std::memcpy(block, key.data(), key.size());
  }
  unsigned char inner[kBlock], outer[kBlock];
  for (std::size_t i = 0; i < kBlock; ++i) {
    inner[i] = block[i] ^ 0x36;
    outer[i] = block[i] ^ 0x5c;
  }
  State state = kStart;
  Add(state, inner, 1);
  const Sha256 digest = digest_of<Add>(bytes, state, kBlock);
  state = kStart;
  Add(state, outer, 1);
  return digest_of<Add>({reinterpret_cast<const char*>(digest.data()), digest.size()}, state,
                        kBlock);
}

constexpr auto kDigitPairs = [] {
  std::array<std::array<char, 2>, 256> pairs{};
  for (std::size_t byte = 0; byte < pairs.size(); ++byte)
    pairs[byte] = {"0123456789abcdef"[byte / 16], "0123456789abcdef"[byte % 16]};
  return pairs;
}();

}  // namespace

Sha256Text::Sha256Text(const Sha256& digest) {
  for (std::size_t i = 0; i < digest.size(); ++i)
    std::memcpy(&digits_[2 * i], kDigitPairs[digest[i]].data(), 2);
}

Sha256 sha256(std::string_view bytes) {
  return has_sha_instructions() ? digest_of<add_blocks_ni>(bytes) : digest_of<add_blocks>(bytes);
}

Sha256 sha256_portable(std::string_view bytes) {
  return digest_of<add_blocks>(bytes);
}

std::string sha256_hex(std::string_view bytes) {
  return std::string(Sha256Text(sha256(bytes)).view());
}

Sha256 hmac_sha256(std::string_view key, std::string_view bytes) {
  return has_sha_instructions() ? hmac_of<add_blocks_ni>(key, bytes)
                                : hmac_of<add_blocks>(key, bytes);
}

std::string hmac_sha256_hex(std::string_view key, std::string_view bytes) {
  return std::string(Sha256Text(hmac_sha256(key, bytes)).view());
}

}  // namespace sallyport
