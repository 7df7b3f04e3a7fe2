// The Ed25519 key that checkpoints are signed with. Both halves are written as the signed notes of
// transparency logs have them (c2sp.org/signed-note), so that other programs can check a note.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace sallyport {

// Who can read this key can check signatures.
class VerifyingKey {
 public:
  // "NAME+HASH+KEY", one line. The error is `argument`.
  [[nodiscard]] static Result<VerifyingKey> parse(std::string_view text);

  [[nodiscard]] std::string text() const;
  // The line at the end of a note: whether this key made it for the text.
  [[nodiscard]] bool verifies(std::string_view text, std::string_view signature_line) const;

 private:
  friend class SigningKey;
  std::string name_, bytes_;  // 32 bytes
};

class SigningKey {
 public:
  // A new one, from the kernel's random numbers.
  [[nodiscard]] static Result<SigningKey> make();
  [[nodiscard]] static Result<SigningKey> parse(std::string_view text);

  [[nodiscard]] std::string text() const;  // "PRIVATE+KEY+NAME+HASH+KEY": a secret
  [[nodiscard]] const VerifyingKey& verifying() const { return verifying_; }
  // "— NAME BASE64\n"; the error is `internal`.
  [[nodiscard]] Result<std::string> sign(std::string_view text) const;

 private:
  std::string seed_;  // 32 bytes
  VerifyingKey verifying_;
};

// The key of a state directory: `audit-key`, and `audit-key.pub` beside it for whoever verifies.
// Both are made at first use; the caller holds a lock for the time of it. Half a pair, or one that
// does not belong together, is refused as `unavailable`: a new key in silence would make everything
// signed so far look forged.
[[nodiscard]] Result<SigningKey> open_signing_key(int state_directory);

// `audit-key.pub`; the error is `unavailable`.
[[nodiscard]] Result<VerifyingKey> read_verifying_key(int state_directory);

}  // namespace sallyport
