// The name of one call: 32 hexadecimal digits, random, so that it can neither be guessed nor
// repeat.
#pragma once

#include <string>

namespace sallyport {

[[nodiscard]] std::string make_call_id();

}  // namespace sallyport
