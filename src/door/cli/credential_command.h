// `sallyport credential`: which secrets tools use, and taking them back.
#pragma once

#include <span>

namespace sallyport {

[[nodiscard]] int credential_command(std::span<const char* const> words);

}  // namespace sallyport
