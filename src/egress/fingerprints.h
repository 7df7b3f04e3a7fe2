// Known values, for those who have to find them and must not have them: of each form of a value,
// its length and two hashes under a key of this one call. Whoever has these recognises the value
// when it comes by, and cannot say what it is.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/wire.h"

namespace sallyport {

struct Fingerprint {
  std::uint32_t size = 0;
  std::uint64_t rolling = 0;  // fast, to look at every place
  std::string tag;            // HMAC-SHA256, to be sure
  bool operator==(const Fingerprint&) const = default;
};

struct Fingerprints {
  std::string key;
  std::vector<Fingerprint> of;
  bool operator==(const Fingerprints&) const = default;
};

// Long values are known by pieces of this size.
inline constexpr std::size_t kLargestWindow = 512;
// A value that is shorter than kShortestValue is not looked for. Nothing: there are no random
// bytes.
[[nodiscard]] std::optional<Fingerprints> fingerprints_of(std::span<const std::string> values);

// One stream of bytes, in which what has such a fingerprint is covered with as many stars.
class FingerprintCover {
 public:
  explicit FingerprintCover(const Fingerprints& fingerprints);

  // Appends to `out` what can be shown of the bytes so far: all but the last ones, which could be
  // the beginning of a value.
  void feed(std::string_view piece, std::string& out);
  // The rest.
  void finish(std::string& out);

  [[nodiscard]] std::uint64_t found() const { return found_; }

 private:
  // All fingerprints of one size, and the hash of the last so many bytes.
  struct Window {
    std::size_t size = 0;
    std::uint64_t oldest = 0;  // what the byte that leaves had become in the hash
    std::uint64_t hash = 0;
    std::vector<const Fingerprint*> of;
    std::vector<std::uint64_t> rolling;  // the same, for a quick look
  };
  [[nodiscard]] bool is_value(const Window& window) const;

  const Fingerprints& fingerprints_;
  std::uint64_t base_;
  std::vector<Window> windows_;
  std::size_t longest_ = 0;
  std::string held_;         // the last bytes as they came, for the hashes
  std::string shown_;        // the same, as they can be shown
  std::uint64_t count_ = 0;  // bytes so far
  std::uint64_t found_ = 0;
};

template <class Wire>
void visit(Wire& wire, Fingerprint& fingerprint) {
  auto& [size, rolling, tag] = fingerprint;
  visit(wire, size);
  visit(wire, rolling);
  visit_bytes(wire, tag);
}

template <class Wire>
void visit(Wire& wire, Fingerprints& fingerprints) {
  visit_bytes(wire, fingerprints.key);
  visit_list(wire, fingerprints.of, [](Wire& to, Fingerprint& one) { visit(to, one); });
}

}  // namespace sallyport
