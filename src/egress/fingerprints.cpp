#include "egress/fingerprints.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "redact/known_values.h"

namespace sallyport {
namespace {

constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
constexpr std::size_t kKeySize = 32;
constexpr std::size_t kMostFingerprints = 2000;
// The fast hash is linear, and the forms of a value depend on each other: whole hashes would be
// equations whose solution is the value. These bits are enough to look closer seldom.
constexpr std::uint64_t kToldBits = (1 << 20) - 1;

std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  const std::uint64_t sum =
      static_cast<std::uint64_t>(product & kPrime) + static_cast<std::uint64_t>(product >> 61);
  return sum >= kPrime ? sum - kPrime : sum;
}

std::uint64_t add(std::uint64_t hash, char byte) {
  // Not 0, or zeros in front would not count.
  const std::uint64_t sum = hash + static_cast<unsigned char>(byte) + 1;
  return sum >= kPrime ? sum - kPrime : sum;
}

std::uint64_t base_of(const Fingerprints& fingerprints) {
  std::uint64_t base = 0;
  std::memcpy(&base, fingerprints.key.data(), std::min(sizeof(base), fingerprints.key.size()));
  return base % (kPrime - 1000) + 500;
}

std::uint64_t rolling_hash(std::uint64_t base, std::string_view bytes) {
  std::uint64_t hash = 0;
  for (const char byte : bytes)
    hash = add(multiply(hash, base), byte);
  return hash;
}

std::string tag_of(const std::string& key, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data(), &size);
  return {reinterpret_cast<const char*>(digest.data()), size};
}

}  // namespace

std::optional<Fingerprints> fingerprints_of(std::span<const std::string> values) {
  Fingerprints all;
  all.key.resize(kKeySize);
  if (::getrandom(all.key.data(), all.key.size(), 0) != static_cast<ssize_t>(all.key.size()))
    return std::nullopt;
  const std::uint64_t base = base_of(all);
  for (const std::string& value : values) {
    if (value.size() < kShortestValue) continue;
    for (const KnownForm& form : forms_of(value))
      for (std::size_t at = 0; at < form.text.size(); at += kLargestWindow) {
        const auto piece = std::string_view(form.text).substr(at, kLargestWindow);
        if (piece.size() < kShortestValue || all.of.size() >= kMostFingerprints) continue;
        all.of.push_back({.size = static_cast<std::uint32_t>(piece.size()),
                          .rolling = rolling_hash(base, piece) & kToldBits,
                          .tag = tag_of(all.key, piece)});
      }
  }
  return all;
}

FingerprintCover::FingerprintCover(const Fingerprints& fingerprints)
    : fingerprints_(fingerprints), base_(base_of(fingerprints)) {
  for (const Fingerprint& one : fingerprints.of) {
    if (one.size == 0 || one.size > kLargestWindow) continue;
    auto window = std::ranges::find(windows_, one.size, &Window::size);
    if (window == windows_.end()) {
      windows_.push_back({.size = one.size, .oldest = 1, .of = {}, .rolling = {}});
      window = windows_.end() - 1;
      for (std::size_t i = 0; i < one.size; ++i)
        window->oldest = multiply(window->oldest, base_);
    }
    window->of.push_back(&one);
    window->rolling.push_back(one.rolling);
    longest_ = std::max<std::size_t>(longest_, one.size);
  }
}

bool FingerprintCover::is_value(const Window& window) const {
  const auto bytes = std::string_view(held_).substr(held_.size() - window.size);
  const std::string tag = tag_of(fingerprints_.key, bytes);
  return std::ranges::any_of(window.of, [&](const Fingerprint* one) { return one->tag == tag; });
}

void FingerprintCover::feed(std::string_view piece, std::string& out) {
  if (windows_.empty()) {
    out.append(piece);
    return;
  }
  for (const char byte : piece) {
    held_.push_back(byte);
    shown_.push_back(byte);
    ++count_;
    for (Window& window : windows_) {
      window.hash = add(multiply(window.hash, base_), byte);
      if (count_ > window.size) {
        const auto left = static_cast<unsigned char>(held_[held_.size() - window.size - 1]);
        const std::uint64_t gone = multiply(window.oldest, std::uint64_t{left} + 1);
        window.hash = window.hash >= gone ? window.hash - gone : window.hash + kPrime - gone;
      }
      const bool looks_so =
          std::ranges::find(window.rolling, window.hash & kToldBits) != window.rolling.end();
      if (!looks_so || count_ < window.size || !is_value(window)) continue;
      std::fill_n(shown_.end() - static_cast<std::ptrdiff_t>(window.size), window.size, '*');
      ++found_;
    }
  }
  // One byte more than the longest value: the one that leaves its hash next.
  if (held_.size() <= longest_ + 1) return;
  const std::size_t ready = held_.size() - longest_ - 1;
  out.append(shown_, 0, ready);
  shown_.erase(0, ready);
  held_.erase(0, ready);
}

void FingerprintCover::finish(std::string& out) {
  out.append(shown_);
  shown_.clear();
}

}  // namespace sallyport
