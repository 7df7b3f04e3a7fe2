// A checkpoint: the size and the root hash of a log at one moment, signed. Whoever keeps a copy
// elsewhere can tell later whether anything before it was changed or is gone.
//
//   sallyport-audit/TENANT          whose log
//   SIZE                            how many records
//   ROOT                            of their Merkle tree, base64
//   time 2026-10-04T12:00:00.000000Z
//   open N                          calls that had begun and not ended
//   previous HEX                    SHA-256 of the checkpoint before it in the file; zeros: none
//
//   — sallyport-audit SIGNATURE
//
// The form is that of c2sp.org/tlog-checkpoint with three extension lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "audit/merkle.h"
#include "audit/signing_key.h"

namespace sallyport {

struct Checkpoint {
  std::string stream;
  std::uint64_t size = 0;
  Hash root{};
  std::string time;
  std::uint64_t open = 0;
  Hash previous{};

  // The part that is signed.
  [[nodiscard]] std::string text() const;
  // The whole note, with its blank line and its signature.
  [[nodiscard]] Result<std::string> sign(const SigningKey& key) const;

  // Only what text() writes, byte for byte; the error is `argument`.
  [[nodiscard]] static Result<Checkpoint> parse(std::string_view text);
  // A whole note. Without a key the signature is not looked at.
  [[nodiscard]] static Result<Checkpoint> open_note(std::string_view note, const VerifyingKey* key);
};

constexpr std::size_t kLongestNote = 1024;

// Takes the first note off `rest`: a file of checkpoints is notes with a blank line behind each.
// Empty: it does not begin with a whole one.
[[nodiscard]] std::string_view take_note(std::string_view& rest);

// Where the last whole note in the end of a file begins and ends (behind its blank line); both 0:
// there is none.
struct NotePlace {
  std::size_t begin = 0, end = 0;
};
[[nodiscard]] NotePlace last_note(std::string_view tail);

// What the next note calls `previous`.
[[nodiscard]] Hash note_hash(std::string_view note);

}  // namespace sallyport
