// The forms in which a value that Sallyport knows (a credential, a key) may come back.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sallyport {

// A shorter value would be found everywhere, and so says little when it is taken out.
inline constexpr std::size_t kShortestValue = 6;

struct KnownForm {
  std::string text;
  bool base64 = false;  // a letter on either side may carry some bits of it
};

// As it is, within JSON, in a URL (hexadecimal digits of both cases), in hexadecimal of both cases,
// in base64 and base64url wherever in the encoded bytes it stands. No form twice.
[[nodiscard]] std::vector<KnownForm> forms_of(std::string_view value);

}  // namespace sallyport
