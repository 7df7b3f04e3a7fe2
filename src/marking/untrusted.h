// Output between marks that it cannot forge: a model that is told about them once can tell what a
// tool wrote from what it was told.
#pragma once

#include <string>
#include <string_view>

namespace sallyport {

// The text between two lines that both carry the nonce, which is random and made for one call: the
// tool has ended before it is drawn.
[[nodiscard]] std::string mark_untrusted(std::string_view text, std::string_view nonce);

}  // namespace sallyport
