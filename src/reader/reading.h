// What one look at the source of a credential gave.
#pragma once

#include <string>
#include <string_view>

namespace sallyport {

struct Reading {
  std::string value;  // empty: there is none
  std::string why;    // there is none, as a sentence without any part of a secret
  // It is sure that there is none: what was known before is no longer good. Else the source may
  // only be out of order.
  bool gone = false;
};

[[nodiscard]] Reading no_secret(std::string why, bool gone);

// `text` as a source gave it. The last line break is the editor's or the printer's, not the
// secret's. What could not be sent anywhere as one value is none: nothing, more than
// kLargestSecret, control characters. `whose` is for the sentence: "its file".
[[nodiscard]] Reading check_secret(std::string text, std::string_view whose);

// Words of others in a sentence of ours: no control characters, and not many of them.
[[nodiscard]] std::string plain_words(std::string_view text);

void wipe(std::string& value);

}  // namespace sallyport
